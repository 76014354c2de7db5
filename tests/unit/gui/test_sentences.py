"""Sentences with numbers and names in German: recognised by their patterns, whoever made them, and nothing else is."""

import ast
from collections.abc import Iterator

import pytest
from tests.support import forecasts

import sentences as tool
from diffusionforce.gui.model import forecast_verdict, language, words
from diffusionforce.gui.model.language import tr, unbroken
from diffusionforce.gui.model.sentences import Sentences
from diffusionforce.wire import Done

TABLES = sorted(tool.TABLES.glob("*/sentences.json"))


@pytest.fixture
def german() -> Iterator[None]:
    language.use("de")
    yield
    language.use("en")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.parent.name)
def test_every_sentence_of_the_window_is_translated(table):
    """Fails with what is missing: run `python tools/sentences.py`, and translate it in the table."""
    assert tool.missing(table) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.parent.name)
def test_a_translation_fills_in_what_its_pattern_has(table):
    for text, said in tool.read(table).items():
        places = set(tool.PLACE.findall(text))
        assert not said or {place.partition("!")[0] for place in tool.PLACE.findall(said)} <= places, text


@pytest.mark.parametrize(
    ("english", "german_words"),
    [
        ("Step 4 of 2,000", "Schritt 4 von 2.000"),
        ("2 min 5 s of work left", "noch 2 min 5 s Arbeit"),
        ("12 pictures, all captioned", "12 Bilder, alle beschrieben"),
        ("Training stopped at step 300", "Training angehalten bei Schritt 300"),
        ("GPU 0: 27 blocks, 14 of them in RAM", "GPU 0: 27 Blöcke, 14 davon im RAM"),
        ("Every phase fits. The tightest moment leaves 205 MB on GPU 0, in training.",
         "Jede Phase passt. Am engsten Punkt bleiben 205 MB auf GPU 0, im Training."),
        ("“a fox, on a hill” and 2 more", "„a fox, on a hill“ und 2 weitere"),
        ("0.0335", "0,0335"),
        ("14.6 / 16 GB", "14,6 / 16 GB"),
        ("PyTorch 2.13.0 (CUDA 13.0) works with 2 cards.", "PyTorch 2.13.0 (CUDA 13.0) arbeitet mit 2 Karten."),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("german")
def test_sentences_are_recognised(english: str, german_words: str):
    assert tr(english) == german_words


@pytest.mark.parametrize("name", ["girl of steel", "all my pictures", "1.2.3", "/home/a/3 steps left", "left", ""])
@pytest.mark.usefixtures("german")
def test_names_of_the_user_are_left_alone(name: str):
    assert tr(name) == name


@pytest.mark.usefixtures("german")
def test_a_forecast_and_an_end_are_told_without_a_word_of_english():
    from diffusionforce.gui.model import outcome  # noqa: PLC0415 - beside what it is compared with.

    told = [tr(sentence) for _, sentence in forecast_verdict.lines_of(forecasts.forecast())[:1]]
    end = outcome.of_message(Done(step=300, seconds=287, lora="x", held_out_before=0.06, held_out_after=0.03))
    told += [tr(end.title), tr(end.sentence)]
    assert not [text for text in told if {" the ", " of ", " and ", "fell", "steps"} & {f" {w} " for w in text.split()}]
    assert "Der Verlust auf zurückgehaltenen Bildern fiel um 50 %, von 0,0600 auf 0,0300." in tr(end.sentence)


def test_what_is_filled_in_stays_within_its_sentence():
    made = Sentences({"{0} fits here.": "{0} passt hier.", "No.": "Nein."}, word=str, decimal=",", thousands=".")
    assert made.told("This fits here. No. Maybe.") == "This passt hier. Nein. Maybe."
    assert made.told("One. Two fits here.") == "One. Two passt hier."


def test_patterns_are_collected_with_every_choice_of_words():
    tree = ast.parse("x = f\"{a} {'does' if a == 1 else 'do'} not fit. {b} is left\"; words.count(1, \"hen\")")
    assert set(tool.found_in(tree)) == {"{0} does not fit.", "{0} do not fit.", "{0} is left", "{0} hen", "{0} hens"}


def test_lines_do_not_end_between_a_number_and_its_unit():
    assert unbroken(f"It needs {words.size(3 << 30)} and 4 min 10 s, 42 % of 3 songs.") == (
        "It needs 3\u00a0GB and 4\u00a0min 10\u00a0s, 42\u00a0% of 3 songs."
    )


@pytest.mark.parametrize("told", ["starts about 16:00", "starts after those before", "starts next"])
@pytest.mark.usefixtures("german")
def test_a_run_that_waits_is_told_in_german_while_nothing_is_known_of_its_length(told: str):
    assert tr(told).startswith("beginnt ")
    assert tr(f"{told} · about 4 min") == f"{tr(told)} · etwa 4 min"


@pytest.mark.usefixtures("german")
def test_a_number_that_is_in_german_already_stays_as_it_is():
    # Symptom: "üblich: 0.003", as its comma was taken for one that groups thousands.
    assert tr(tr("0.003")) == "0,003"
    assert tr("1,234") == "1.234"
