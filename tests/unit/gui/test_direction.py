import pytest

from diffusionforce.gui.model.direction import in_line

MARK = "\N{LEFT-TO-RIGHT MARK}"


@pytest.mark.parametrize("text", ["cut.jpg", "Größe 3 × 4 · 12 %", "日本.png", ""])
def test_what_runs_from_left_to_right_stays_as_it_is(text: str):
    assert in_line(text) == text


@pytest.mark.parametrize("name", ["مقطوع.jpg", "שקיעה (1).png", "hills و.png"])
def test_a_name_from_right_to_left_does_not_turn_its_sentence_around(name: str):
    # Symptom: ".from where it came, or set it aside jpg. The rest of the file is missing" at the right edge.
    sentence = f"{name}. The rest of the file is missing."
    assert in_line(sentence) == f"{MARK}{sentence}"
    assert in_line(in_line(sentence)) == in_line(sentence)


def test_signs_that_turn_letters_around_are_not_shown():
    assert in_line("evil\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe") == "evilgnp.exe"
