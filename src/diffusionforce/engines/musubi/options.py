"""The engine's options: which there are for a program, and whether a value is one that it takes.

The engine checks nothing that it reads from a file. A misspelt option would be ignored for a whole night, and a number
in quotes would fail after the model has been loaded. So options are checked here, against a table that
`tools/engine_options.py` made from the engine's source.
"""

import difflib
import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from diffusionforce.errors import ProfileError

TABLE_FILE = Path(__file__).with_name("options.json")
Kind: TypeAlias = Literal["flag", "int", "float", "number", "str"]
_WORDS: Mapping[Kind, str] = {
    "flag": "true or false",
    "int": "a whole number",
    "float": "a number",
    "number": "a number",
    "str": "a text",
}
_TYPES: Mapping[Kind, tuple[type, ...]] = {
    "flag": (bool,),
    "int": (int,),
    "float": (int, float),
    "number": (int, float),
    "str": (str,),
}


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of a program.

    Attributes:
        kind: What a value of it is; `number` is a whole number, or a share between 0 and 1.
        many: Whether it takes a list.
        choices: The values that are allowed; empty allows all.
    """

    kind: Kind
    many: bool = False
    choices: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What a value of it is, for people."""
        return f"a list, each item {_WORDS[self.kind]}" if self.many else _WORDS[self.kind]

    def problem(self, value: object) -> str:
        """Return what is wrong with a value, as the end of a sentence; empty if nothing is."""
        if self.many:
            if not isinstance(value, list | tuple):
                return f"has to be a list, each item {_WORDS[self.kind]}"
            items: Iterable[object] = value
            return next(filter(None, (self._problem_of_one(item) for item in items)), "")
        return self._problem_of_one(value)

    def _problem_of_one(self, value: object) -> str:
        is_right = isinstance(value, _TYPES[self.kind]) and (self.kind == "flag" or not isinstance(value, bool))
        if not is_right:
            return f"has to be {_WORDS[self.kind]}"
        if isinstance(value, float) and value - value != 0:
            return "has to be a finite number"
        if self.choices and value not in self.choices:
            close = difflib.get_close_matches(str(value), self.choices, n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            return f"has to be one of {', '.join(self.choices)}{meant}"
        return ""


def options_of(script: str) -> Mapping[str, Option]:
    """Return the options of a training program, by name.

    Args:
        script: Its module, for example `wan_train_network`.
    """
    table = _table()
    return {**table["common"], **table[script]}


def require_option(script: str, name: str, value: object, *, origin: str) -> None:
    """Refuse an option that a training program does not have, or a value that is none for it.

    Args:
        script: The program.
        name: The option.
        value: Its value, as TOML has it.
        origin: Where the user wrote it, for example `advanced`.

    Raises:
        ProfileError: It is refused; the sentence names the option and what is allowed.
    """
    options = options_of(script)
    if name not in options:
        close = difflib.get_close_matches(name, options, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        raise ProfileError(
            f"{origin}.{name} is no option of the engine for this model.{meant}",
            hint="All of them: diffusionforce models options MODEL.",
        )
    problem = options[name].problem(value)
    if problem:
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        raise ProfileError(f"{origin}.{name} is {shown}: it {problem}{'' if problem.endswith('?') else '.'}")


@functools.cache
def _table() -> dict[str, dict[str, Option]]:
    raw: dict[str, dict[str, dict[str, Any]]] = json.loads(TABLE_FILE.read_text(encoding="utf-8"))
    return {
        script: {
            name: Option(kind=option["type"], many=option.get("many", False), choices=tuple(option.get("choices", ())))
            for name, option in options.items()
        }
        for script, options in raw.items()
    }
