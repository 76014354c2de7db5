"""The settings of a profile as fields of a form, made from the typed model: what kind, which values, which default.

A field reads what a person typed and writes what a profile holds. Whether a value is allowed, the model says alone.
"""

import re
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from diffusionforce.gui.model.language import current, figures, tr
from diffusionforce.gui.model.setting_words import CHOICES, UNTOLD, WORDS, SettingWords
from diffusionforce.job import Profile

Kind: TypeAlias = Literal[
    "whole", "number", "choice", "switch", "text", "lines", "names", "numbers", "pairs", "options"
]
_LONG = frozenset({"samples.prompts"})
_NARROW_SPACE = "\u202f"
_POINTED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
"""What may be a thousand as well as a one with decimals."""


class NotReadableError(ValueError):
    """A typed text that no value can be made of; its message says why."""


@dataclass(frozen=True, kw_only=True)
class SettingField:
    """One setting as a field.

    Attributes:
        name: Dotted name, as errors and the command line write it.
        kind: What its values are: `names` and `numbers` are lists in one line, `lines` a list with a line each.
        words: What people call it.
        help: What it is, a sentence.
        default: Value that it has when the file does not name it; None where the file has to.
        choices: Values that are allowed, if those are counted.
        low: Smallest number, and whether it is itself excluded.
        high: Largest number, and whether it is itself excluded.
        multiple_of: What a number must be a multiple of; 0 for nothing.
    """

    name: str
    kind: Kind
    words: SettingWords
    help: str
    default: Any
    choices: tuple[str, ...] = ()
    low: tuple[float, bool] | None = None
    high: tuple[float, bool] | None = None
    multiple_of: float = 0

    @property
    def section(self) -> str:
        """Name of the table that it stands in, empty for the top."""
        return self.name.rpartition(".")[0]

    @property
    def range_words(self) -> str:
        """Which numbers are allowed, in words; empty where nothing is counted."""
        if self.choices:
            return ""
        unit = f" {tr(self.words.unit)}" if self.words.unit else ""
        words = ""
        if self.low is not None and self.high is not None:
            words = tr("{low} to {high}").format(low=_above(self.low), high=_below(self.high)) + unit
        elif self.low is not None and self.low[1]:
            words = _above(self.low) + unit
        elif self.low is not None:
            words = tr("{low} or more").format(low=_above(self.low)) + unit
        if self.multiple_of:
            words += tr(", a multiple of {number}").format(number=f"{self.multiple_of:g}")
        return words

    def choice_words(self, value: str) -> str:
        """Return what people call a value of a choice."""
        return CHOICES.get(self.name, {}).get(value, value.replace("_", " "))

    def matches(self, wanted: str) -> bool:
        """Tell whether somebody who looks for these words means this setting."""
        text = f"{self.words.label} {self.name} {self.words.finds} {self.help} {self.words.note}".lower()
        return all(word in text for word in wanted.lower().split())


def _above(bound: tuple[float, bool]) -> str:
    return tr("more than {number}").format(number=_amount(bound[0])) if bound[1] else _amount(bound[0])


def _below(bound: tuple[float, bool]) -> str:
    return tr("less than {number}").format(number=_amount(bound[0])) if bound[1] else _amount(bound[0])


def _amount(number: float) -> str:
    return figures(f"{number:,.0f}" if number == int(number) else f"{number:g}")


def fields() -> tuple[SettingField, ...]:
    """Return a field for every setting that a form shows, in the order of the words."""
    found = {field.name: field for field in _fields_of(Profile, "") if field.name not in UNTOLD}
    return tuple(found[name] for name in WORDS if name in found)


def leaf_names() -> frozenset[str]:
    """Return the dotted names of every setting that the model has, those that no form shows among them."""
    return frozenset(name for name, _ in _leaves(Profile, ""))


def _leaves(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for key, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _leaves(info.annotation, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", info


def _fields_of(model: type[BaseModel], prefix: str) -> Iterator[SettingField]:
    for name, info in _leaves(model, prefix):
        if name not in WORDS:
            continue
        limits = _limits(info)
        choices = typing.get_args(info.annotation) if typing.get_origin(info.annotation) is Literal else ()
        yield SettingField(
            name=name,
            kind=_kind(name, info.annotation),
            words=WORDS[name],
            help=info.description or "",
            default=None if info.default is PydanticUndefined else info.default,
            choices=choices,
            low=limits.get("low"),
            high=limits.get("high"),
            multiple_of=limits.get("multiple_of", (0, False))[0],
        )


def _kind(name: str, annotation: object) -> Kind:
    if name in {"advanced"}:
        return "options"
    if name in _LONG:
        return "lines"
    if name == "model.family" or typing.get_origin(annotation) is Literal:
        return "choice"
    plain: dict[object, Kind] = {bool: "switch", int: "whole", float: "number", str: "text"}
    if annotation in plain:
        return plain[annotation]
    origin = typing.get_origin(annotation)
    if origin is dict:
        return "pairs"
    if origin is tuple:
        return "names" if typing.get_args(annotation)[0] is str else "numbers"
    if origin is types.UnionType:
        raise TypeError(f"{name} may be one of several types, which no field shows")
    raise TypeError(f"{name} is a {annotation}, for which there is no field")


def _limits(info: FieldInfo) -> dict[str, tuple[float, bool]]:
    """Return the limits of a number that pydantic checks, from its own records of them."""
    found: dict[str, tuple[float, bool]] = {}
    for part in info.metadata:
        for name, key, excluded in (
            ("ge", "low", False),
            ("gt", "low", True),
            ("le", "high", False),
            ("lt", "high", True),
        ):
            value = getattr(part, name, None)
            if value is not None:
                found[key] = (value, excluded)
        if getattr(part, "multiple_of", None):
            found["multiple_of"] = (part.multiple_of, False)
    return found


def written(field: SettingField, value: Any) -> str:
    """Return a value as the text of its field; it reads back as the same value."""
    match field.kind:
        case "whole":
            # Commas and points group digits here and split them there, so other languages get a space.
            gap = "," if current() == "en" else _NARROW_SPACE
            return f"{value:,}".replace(",", gap) if isinstance(value, int) else str(value)
        case "number":
            return _decimal(plain_number(value)) if isinstance(value, int | float) else str(value)
        case "names":
            return ", ".join(value)
        case "numbers":
            return ", ".join(plain_number(number) for number in value)
        case "lines":
            return "\n".join(value)
        case "pairs":
            return "\n".join(f"{key} = {path}" for key, path in value.items())
        case _:
            return "" if value is None else str(value)


def read(field: SettingField, text: str) -> Any:
    """Return the value that a person means by a text.

    Raises:
        NotReadableError: No value of this kind can be made of it.
    """
    text = text.strip() if field.kind != "lines" else text
    match field.kind:
        case "whole":
            return _whole(text)
        case "number":
            return _number(text)
        case "names":
            return [name.strip() for name in text.split(",") if name.strip()]
        case "numbers":
            return [_number(part) for part in text.replace(";", ",").split(",") if part.strip()]
        case "lines":
            return [line.strip() for line in text.splitlines() if line.strip()]
        case "pairs":
            return _pairs(text)
        case _:
            return text


def plain_number(number: float) -> str:
    """Return a number without an exponent and without digits that say nothing: 0.0001, 32, 1.5."""
    text = f"{number:.12f}".rstrip("0").rstrip(".") if abs(number) >= 1e-9 or number == 0 else f"{number:g}"
    return text if float(text) == number else repr(number)


def _decimal(plain: str) -> str:
    """Return a number with the decimal sign of the language, where nobody can take that for one between thousands."""
    told = figures(plain)
    return plain if _THOUSANDS.fullmatch(told) else told


def _whole(text: str) -> int:
    if not text:
        raise NotReadableError(tr("write a whole number"))
    try:
        plain = text.replace(",", "").replace(" ", "").replace(_NARROW_SPACE, "")
        return int(plain.replace(".", "") if _POINTED.fullmatch(plain) else plain)
    except ValueError:
        raise NotReadableError(tr("this is not a whole number")) from None


def _number(text: str) -> float:
    if not text.strip():
        raise NotReadableError(tr("write a number"))
    plain = text.strip().replace(" ", "")
    if _THOUSANDS.fullmatch(plain):
        # A thousand to some, one to others.
        raise NotReadableError(tr("write a point, or no comma"))
    try:
        return float(plain.replace(",", ".") if "." not in plain else plain)
    except ValueError:
        raise NotReadableError(tr("this is not a number")) from None


def _pairs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        key, sign, value = (part.strip() for part in line.partition("="))
        if not (sign and key and value):
            raise NotReadableError(tr("write {line} as what = where").format(line=line))
        if key in found:
            raise NotReadableError(tr("{key} stands there twice").format(key=key))
        found[key] = value
    return found
