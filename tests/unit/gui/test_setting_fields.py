"""Every setting of the typed model has a field, words and a way from text to value and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffusionforce.gui.model import language, setting_fields
from diffusionforce.gui.model.profile_texts import fields_by_name, text_of, value_of
from diffusionforce.gui.model.setting_fields import NotReadableError, plain_number, read, written
from diffusionforce.gui.model.setting_words import CHOICES, SECTIONS, UNTOLD, WORDS
from diffusionforce.job import Profile, builtin_profiles, read_profile


def test_every_setting_has_words_and_no_words_are_left_over():
    assert setting_fields.leaf_names() == set(WORDS) | UNTOLD
    assert set(fields_by_name()) == set(WORDS)


def test_every_choice_has_words_for_each_of_its_values():
    for name, field in fields_by_name().items():
        if field.kind == "choice" and name != "model.family":
            assert set(CHOICES[name]) == set(field.choices), name


def test_every_field_has_a_section():
    assert {field.section if field.name not in SECTIONS else field.name for field in fields_by_name().values()} <= {
        *SECTIONS
    }


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("training.steps", "whole", "1 to 1,000,000 steps"),
        ("lora.alpha", "number", "more than 0 to 4,096"),
        ("dataset.width", "whole", "64 to 8,192 px, a multiple of 16"),
        ("training.warmup_steps", "whole", "0 or more steps"),
        ("lora.dropout", "number", "0 to less than 1"),
        ("training.gradient_checkpointing", "switch", ""),
        ("samples.prompts", "lines", ""),
        ("devices.use", "names", ""),
        ("memory.reserve_gb", "numbers", ""),
        ("advanced", "options", ""),
    ],
)
def test_kind_and_range_come_from_the_model(name: str, kind: str, words: str):
    field = fields_by_name()[name]
    assert (field.kind, field.range_words) == (kind, words)


@pytest.mark.parametrize("name", builtin_profiles())
def test_the_texts_of_every_profile_that_ships_read_back_as_the_same_profile(name: str):
    profile = read_profile(builtin_profiles()[name])
    table = profile.model_dump(mode="json")
    for dotted, field in fields_by_name().items():
        value = table
        for part in dotted.split("."):
            value = value[part]
        assert value_of(field, text_of(field, value)) == value, dotted


@given(st.floats(min_value=1e-12, max_value=1e6))
def test_a_number_is_written_so_that_it_reads_back(number: float):
    assert float(plain_number(number)) == number
    assert "e" not in plain_number(0.0001)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("training.steps", "many", "not a whole number"),
        ("training.steps", "", "write a whole number"),
        ("training.learning_rate", "1,000", "a point, or no comma"),
        ("training.learning_rate", "0,0,1", "not a number"),
        ("training.learning_rate", "1,0.5", "not a number"),
        ("model.files", "vae", "what = where"),
        ("model.files", "vae = a\nvae = b", "twice"),
        ("advanced", "x =", "a line each"),
        ("memory.reserve_gb", "1, x", "not a number"),
    ],
)
def test_a_text_that_is_no_value_is_refused_with_a_reason(name: str, text: str, said: str):
    field = fields_by_name()[name]
    with pytest.raises(NotReadableError, match=said):
        value_of(field, text)


@pytest.mark.parametrize("text", ["0.002", "0,002", " 0,002 "])
def test_a_decimal_comma_is_as_good_as_a_point(text: str):
    assert value_of(fields_by_name()["training.learning_rate"], text) == 0.002


def test_people_find_settings_by_the_words_of_other_programs():
    def found(wanted: str) -> set[str]:
        return {name for name, field in fields_by_name().items() if field.matches(wanted)}

    assert "training.learning_rate" in found("lr")
    assert "lora.rank" in found("network_dim")
    assert "samples.guidance" in found("CFG")
    assert {"training.steps", "samples.num_steps"} <= found("steps")
    assert found("no such thing") == set()


def test_thousands_may_be_grouped():
    assert read(fields_by_name()["training.steps"], " 2,000 ") == 2000
    assert Profile.model_fields["training"].annotation is not None


@pytest.mark.parametrize(
    ("value", "text"), [(0.003, "0,003"), (1.5, "1,5"), (1.125, "1.125"), (32.0, "32"), (1e-10, "1e-10")]
)
def test_a_number_is_written_as_in_the_language_and_reads_back(value: float, text: str):
    field = fields_by_name()["training.learning_rate"]
    language.use("de")
    try:
        assert written(field, value) == text
        assert read(field, text) == value
    finally:
        language.use("en")
