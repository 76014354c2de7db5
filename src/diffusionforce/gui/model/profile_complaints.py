"""What the typed model complains of, as a sentence at the field that it is about."""

from collections.abc import Iterator

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from diffusionforce.gui.model.language import figures, tr
from diffusionforce.gui.model.profile_texts import fields_by_name
from diffusionforce.gui.model.setting_fields import SettingField
from diffusionforce.gui.model.setting_words import WORDS

_TOO_SMALL = frozenset({"greater_than", "greater_than_equal"})
_TOO_LARGE = frozenset({"less_than", "less_than_equal"})


def complaints(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield the complaints of the model of a profile: the name of a field, and a sentence."""
    for problem in error.errors(include_url=False):
        name = _field_of(problem)
        yield name, _words_of(fields_by_name()[name], problem)


def as_sentence(text: str) -> str:
    """Return a text that begins as a sentence does."""
    return text[:1].upper() + text[1:]


def _field_of(problem: ErrorDetails) -> str:
    """Return the field that a complaint is about; one about a whole table goes to the setting that it names first."""
    known, location = fields_by_name(), [str(part) for part in problem["loc"]]
    for end in range(len(location), 0, -1):
        if ".".join(location[:end]) in known:
            return ".".join(location[:end])
    section = ".".join(location)
    inside = [name for name in known if name.startswith(f"{section}.") or not section]
    message = problem["msg"]
    named = [(message.find(name.removeprefix(f"{section}.")), name) for name in inside]
    return min(((at, name) for at, name in named if at >= 0), default=(0, (inside or ["title"])[0]))[1]


def _words_of(field: SettingField, problem: ErrorDetails) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    if kind in _TOO_SMALL:
        return tr("Too small: {range}").format(range=field.range_words)
    if kind in _TOO_LARGE:
        return tr("Too large: {range}").format(range=field.range_words)
    if kind == "multiple_of":
        step, value = int(context["multiple_of"]), problem["input"]
        lower = int(value) // step * step
        said = tr("Not a multiple of {step}: take {lower} or {upper}")
        return said.format(step=step, lower=figures(f"{lower:,}"), upper=figures(f"{lower + step:,}"))
    if kind == "string_too_short" or kind == "too_short":
        return tr("This cannot be empty")
    if kind == "string_too_long":
        return tr("Too long: at most {number} characters").format(number=context["max_length"])
    if kind == "too_long":
        return tr("Too many: at most {number}").format(number=context["max_length"])
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return as_sentence(_labelled(message, field))


def _labelled(message: str, field: SettingField) -> str:
    """Put the labels of settings in place of their keys."""
    for name, words in WORDS.items():
        key = name.rpartition(".")[2]
        if "_" in key and field.section == name.rpartition(".")[0]:
            message = message.replace(key, words.label)
    return message
