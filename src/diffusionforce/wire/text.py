"""JSON that can always be written, whatever names the user's files have.

A file name on Linux is bytes. Those that are not UTF-8 reach us as lone surrogates, which no UTF-8 writer takes, and
they come along in sentences and paths. The record that says how a run ended must leave all the same.
"""

from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError


def to_json(model: BaseModel, *, indent: int | None = None, exclude_none: bool = False) -> bytes:
    r"""Return a model as UTF-8 JSON; a character that UTF-8 cannot hold becomes an escape like `\udcff`."""
    try:
        return model.model_dump_json(indent=indent, exclude_none=exclude_none).encode()
    except PydanticSerializationError:
        clean = type(model).model_validate(_readable(model.model_dump()))
        return clean.model_dump_json(indent=indent, exclude_none=exclude_none).encode()


def readable(text: str) -> str:
    r"""Return a text with an escape like `\udcff` for each character that UTF-8 cannot hold."""
    return text.encode(errors="backslashreplace").decode()


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in cast(list[Any], value)]
    return value
