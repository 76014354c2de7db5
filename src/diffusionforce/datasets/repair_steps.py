"""The steps that repairs are made of: each is written down first, and moves rather than deletes."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from diffusionforce.datasets.captions import ORIGINALS, caption_path, write_caption
from diffusionforce.datasets.repair_log import Entry, Repaired, to_line
from diffusionforce.errors import DatasetError


@dataclass
class RepairJob:
    """One repair under way."""

    root: Path
    caption: str
    done: Repaired
    log: Path
    key: str = field(default_factory=lambda: secrets.token_hex(8))

    def path(self, name: str) -> Path:
        path = self.root / name
        if not path.is_file():
            raise DatasetError(f"{name} is no longer there.", hint="Check the folder again.")
        return path

    def set_aside(self, path: Path) -> None:
        """Move a file into the originals."""
        target = free_path(self.root / ORIGINALS / path.name)
        self._move(path, f"{ORIGINALS}/{target.name}")

    def rename(self, path: Path, name: str) -> None:
        """Rename a file."""
        target = self.root / name
        # On systems where capitals do not count, the file itself is in the way of its new spelling.
        if target.exists() and not target.samefile(path):
            raise DatasetError(f"There is a file {name} already.", hint="Rename one of them by hand.")
        self._move(path, name)

    def _move(self, path: Path, name: str) -> None:
        if not path.is_relative_to(self.root):
            raise DatasetError(f"{path.name} lies in another folder.", hint="Repair that folder.")
        # Control pictures lie in a folder of their own within this one.
        before = path.relative_to(self.root).as_posix()
        self._note(now=name, before=before)
        path.rename(self.root / name)
        self.done.moved.append((before, name))

    def _make(self, path: Path) -> None:
        """Write down a file that is about to be made."""
        self._note(now=path.name)
        self.done.made.append(path.name)

    def _note(self, *, now: str, before: str = "") -> None:
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("ab") as file:
            # On a line of its own also behind one that a crash has torn.
            file.write(b"\n" + to_line(Entry(repair=self.key, action=self.done.action, before=before, now=now)))

    def save(self, picture: Image.Image, source: Path) -> None:
        """Save a picture as PNG under the name of its source, which goes into the originals."""
        target = source.with_suffix(".png")
        part = source.with_name(f"{source.stem}.repaired.part")
        if target != source and target.exists():
            raise DatasetError(f"There is a file {target.name} already.", hint="Rename one of them by hand.")
        try:
            picture.save(part, format="PNG")
            self.set_aside(source)
            self._make(target)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def write_caption(self, path: Path, text: str) -> None:
        """Write a caption; the file that was there goes into the originals."""
        if path.exists():
            self.set_aside(path)
        self._make(path)
        write_caption(path, text)

    def caption_of(self, picture: Path) -> Path | None:
        """Return the caption file of a picture."""
        path = caption_path(picture)
        return path if path.is_file() else None


def free_path(path: Path) -> Path:
    """Return the path, with a number in its name if it is taken."""
    number, free = 2, path
    while free.exists():
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free
