"""What repairs were done in a folder: a line for each file, written before the file is touched.

So a repair can be undone later, and also after the program has ended in its middle.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from pydantic import BaseModel, field_validator

LOG_NAME = "repairs.jsonl"


@dataclass
class Repaired:
    """One repair that was done.

    Attributes:
        action: What was done, in words.
        moved: Names before, and the place in the folder where the file is now.
        made: Names of files that the repair made.
        problems: Sentences about files that could not be repaired.
    """

    action: str
    moved: list[tuple[str, str]] = field(default_factory=lambda: list[tuple[str, str]]())
    made: list[str] = field(default_factory=lambda: list[str]())
    problems: list[str] = field(default_factory=lambda: list[str]())

    @property
    def num_files(self) -> int:
        """How many files were touched."""
        return max(len(self.moved), len(self.made))


class Entry(BaseModel):
    """One line of the log: a file that is about to be moved from a name to another, or made."""

    repair: str
    action: str
    before: str = ""
    now: str

    @field_validator("before", "now")
    @classmethod
    def _lies_in_the_folder(cls, name: str) -> str:
        """Refuse names that lead out: the folder, with its log, may have been downloaded."""
        path = PurePath(name)
        if path.is_absolute() or path.drive or ".." in path.parts or "\0" in name:
            raise ValueError(f"{name!r} is not in the folder")
        return name


def to_line(entry: Entry) -> bytes:
    # As escapes: names that are not UTF-8 text are among them.
    return json.dumps(entry.model_dump()).encode() + b"\n"


def by_repair(entries: Iterable[Entry]) -> dict[str, Repaired]:
    found: dict[str, Repaired] = {}
    for entry in entries:
        repaired = found.setdefault(entry.repair, Repaired(action=entry.action))
        if entry.before:
            repaired.moved.append((entry.before, entry.now))
        else:
            repaired.made.append(entry.now)
    return found


def read_entries(log: Path) -> list[Entry]:
    """Read the log, the first entry first; a line that a crash has torn, or that leads elsewhere, is left out."""
    try:
        lines = log.read_bytes().splitlines()
    except OSError:
        return []
    entries: list[Entry] = []
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            entries.append(Entry.model_validate(json.loads(line)))
    return entries
