"""Small files of the user's own choices, which nothing brings back: what waits, what is marked, what things are called.

One that cannot be made sense of (a disk lost it, somebody edited it by hand) may not keep anything from working. But
where it simply counts as empty, the next change writes over what it held, and nobody hears of it. So it is kept under
another name first, and a warning with a sentence and a hint goes to the log, from which the window takes its notices.
One that cannot be read for now is left alone.
"""

import json
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar, cast

from diffusionforce.job.held_files import move_over, patiently
from diffusionforce.job.whole_files import write_whole

log = logging.getLogger(__name__)
ASIDE = ".damaged-"
"""In the names of files that were kept aside, before the time."""

_Content = TypeVar("_Content")


class KeptFile(Generic[_Content]):
    """One such file.

    Args:
        path: Where it is; it need not be there.
        parse: Makes sense of its bytes, or raises a `ValueError`.
        empty: What it holds where it is not there, or makes no sense.
    """

    def __init__(self, path: Path, parse: Callable[[bytes], _Content], *, empty: _Content) -> None:
        self.path = path
        self._parse, self._empty = parse, empty

    def read(self) -> _Content:
        """Return what it holds; one that makes no sense is kept under another name, and a warning is logged.

        Raises:
            OSError: It cannot be read for now, or not be kept: it may not be written, either.
        """
        try:
            content = patiently(self.path.read_bytes)
        except FileNotFoundError:
            return self._empty
        try:
            return self._parse(content)
        except (ValueError, RecursionError) as error:
            self._set_aside(error)
            return self._empty

    def write(self, content: bytes) -> None:
        """Write it, whole or not at all; one that makes no sense is kept under another name.

        Raises:
            OSError: The disk refuses, or the file that is there cannot be read for now; it is as it was.
        """
        self.read()
        write_whole(self.path, content)

    def _set_aside(self, error: Exception) -> None:
        aside = self.path.with_name(f"{self.path.name}{ASIDE}{datetime.now():%Y%m%d-%H%M%S-%f}")
        move_over(self.path, aside)
        log.warning("%s\n%s", *_words(self.path, aside), exc_info=error)


def listed(content: bytes, key: str, kind: type[_Content]) -> list[_Content]:
    """Return a list that is kept under a key of a JSON file.

    Args:
        content: The file.
        key: Where the list is.
        kind: What all its entries are.

    Raises:
        ValueError: There is no such list.
    """
    whole: object = json.loads(content)
    entries: object = cast(dict[str, object], whole).get(key) if isinstance(whole, dict) else None
    if not isinstance(entries, list):
        raise ValueError(key)
    found = [entry for entry in cast(list[object], entries) if isinstance(entry, kind)]
    if len(found) < len(cast(list[object], entries)):
        raise ValueError(key)
    return found


def _words(path: Path, aside: Path) -> tuple[str, str]:
    return (
        f"{path} is damaged, and counts as empty.",
        f"Nothing of it is lost: it is called {aside.name} now. Mend it and give it its name again, or remove it.",
    )
