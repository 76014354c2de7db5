"""TOML from files of unknown origin: whatever is wrong with it is one kind of error.

Python's reader gives up on lists in lists in lists with a `RecursionError`, and on a number of thousands of digits with
an error of its own.
"""

import tomllib
from pathlib import Path
from typing import Any

MAX_BYTES = 4 << 20
"""More than any file of ours has."""


def parsed_toml(content: bytes | str) -> dict[str, Any]:
    """Return the table in a text.

    Raises:
        ValueError: It is no TOML (`tomllib.TOMLDecodeError`), no UTF-8, or made to break readers.
    """
    text = content if isinstance(content, str) else content.decode("utf-8-sig")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def loaded_toml(path: Path) -> dict[str, Any]:
    """Return the table in a file.

    Raises:
        OSError: It cannot be read.
        ValueError: As for `parsed_toml`, or it is far too long, or no file at all but, say, a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError("it is not a file with an end")  # A pipe would be waited for, a device be read for ever.
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES >> 20} MB")
    return parsed_toml(content)
