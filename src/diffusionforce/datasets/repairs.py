"""One-click repairs that can be undone: no original is ever changed or deleted.

Whatever a repair takes away or replaces is moved into a folder `originals` beside the pictures, which training does
not read. Each repair is written down there before its files are moved, so that it can be undone later, and also after
the program has ended in the middle.
"""

import contextlib
import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from pydantic import BaseModel

from diffusionforce.datasets.captions import (
    CAPTION_SUFFIX,
    ORIGINALS,
    caption_path,
    read_caption,
    without_odd_characters,
    write_caption,
)
from diffusionforce.datasets.clips import first_frame
from diffusionforce.datasets.looking import SUFFIXES, look_at_picture
from diffusionforce.datasets.pictures import load_rgb
from diffusionforce.datasets.records import FileFinding
from diffusionforce.errors import DatasetError, UserError
from diffusionforce.job import write_whole
from diffusionforce.wire import readable

LOG_NAME = "repairs.jsonl"
MAX_SIDE_PX = 4096
MAX_STEM = 80


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


class Workshop:
    """Repairs the files of one folder and undoes what it did."""

    def __init__(self, root: Path) -> None:
        """Work on a folder; `originals` is made in it by the first repair."""
        self.root = root

    def repair(
        self,
        key: str,
        findings: Sequence[FileFinding],
        *,
        action: str,
        caption: str = "",
        progress: Callable[[int, int], None] = lambda _done, _total: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Repaired:
        """Repair files, all as one step that can be undone.

        Args:
            key: Which repair, one of `REPAIRS`.
            findings: What was found about them.
            action: Words for it, shown where it can be undone.
            caption: Caption to write, for the repair that writes one.
            progress: Called with the number of files done and their total.
            should_stop: Asked between files.

        Raises:
            DatasetError: The folder cannot be written to.
        """
        deed = REPAIRS[key]
        job = _Job(self.root, caption, Repaired(action=action), self._log)
        for number, finding in enumerate(findings, start=1):
            if should_stop():
                break
            try:
                deed(job, finding)
            except UserError as error:
                job.done.problems.append(error.sentence)
            except OSError as error:
                job.done.problems.append(f"{finding.name}: {error.strerror or error}.")
            progress(number, len(findings))
        if job.done.problems and not job.done.num_files:
            raise DatasetError(
                job.done.problems[0], hint="Nothing was changed.", detail="\n".join(job.done.problems[1:])
            )
        return job.done

    def done(self) -> list[Repaired]:
        """Return the repairs that can be undone, the last one last."""
        return list(_by_repair(self._entries()).values())

    def undo(self) -> Repaired | None:
        """Take the last repair back; None when there is none. What the repair made goes into `originals` too.

        Raises:
            DatasetError: The disk refuses.
        """
        entries = self._entries()
        found = _by_repair(entries)
        if not found:
            return None
        key, last = list(found.items())[-1]
        try:
            for name in last.made:
                path = self.root / name
                if path.exists():
                    path.rename(_free(self.root / ORIGINALS / f"undone-{path.name}"))
            for before, now in reversed(last.moved):
                if (self.root / now).exists() and not (self.root / before).exists():
                    (self.root / now).rename(self.root / before)
            lines = (_line(entry) for entry in entries if entry.repair != key)
            write_whole(self._log, b"".join(lines))
        except OSError as error:
            raise DatasetError(f"The repair cannot be undone: {error.strerror or error}.") from error
        return last

    @property
    def _log(self) -> Path:
        return self.root / ORIGINALS / LOG_NAME

    def _entries(self) -> "list[_Entry]":
        """Read the log; a line that a crash has torn is left out."""
        try:
            lines = self._log.read_bytes().splitlines()
        except OSError:
            return []
        entries: list[_Entry] = []
        for line in lines:
            with contextlib.suppress(ValueError):
                entries.append(_Entry.model_validate(json.loads(line)))
        return entries


class _Entry(BaseModel):
    """One line of the log: a file that is about to be moved from a name to another, or made."""

    repair: str
    action: str
    before: str = ""
    now: str


def _line(entry: _Entry) -> bytes:
    # As escapes: names that are not UTF-8 text are among them.
    return json.dumps(entry.model_dump()).encode() + b"\n"


def _by_repair(entries: Iterable[_Entry]) -> dict[str, Repaired]:
    found: dict[str, Repaired] = {}
    for entry in entries:
        repaired = found.setdefault(entry.repair, Repaired(action=entry.action))
        if entry.before:
            repaired.moved.append((entry.before, entry.now))
        else:
            repaired.made.append(entry.now)
    return found


@dataclass
class _Job:
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
        target = _free(self.root / ORIGINALS / path.name)
        self._move(path, f"{ORIGINALS}/{target.name}")

    def rename(self, path: Path, name: str) -> None:
        """Rename a file."""
        target = self.root / name
        # On systems where capitals do not count, the file itself is in the way of its new spelling.
        if target.exists() and not target.samefile(path):
            raise DatasetError(f"There is a file {name} already.", hint="Rename one of them by hand.")
        self._move(path, name)

    def _move(self, path: Path, name: str) -> None:
        self._note(now=name, before=path.name)
        path.rename(self.root / name)
        self.done.moved.append((path.name, name))

    def _make(self, path: Path) -> None:
        """Write down a file that is about to be made."""
        self._note(now=path.name)
        self.done.made.append(path.name)

    def _note(self, *, now: str, before: str = "") -> None:
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("ab") as file:
            # On a line of its own also behind one that a crash has torn.
            file.write(b"\n" + _line(_Entry(repair=self.key, action=self.done.action, before=before, now=now)))

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


def _free(path: Path) -> Path:
    """Return the path, with a number in its name if it is taken."""
    number, free = 2, path
    while free.exists():
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free


def _set_aside(job: _Job, finding: FileFinding) -> None:
    """Take a file out, and its caption with it unless another picture uses that."""
    path = job.path(finding.name)
    caption = job.caption_of(path) if path.suffix.lower() != CAPTION_SUFFIX else None
    siblings = [other for other in job.root.glob(f"{_escaped(path.stem)}.*") if other not in {path, caption}]
    job.set_aside(path)
    if caption is not None and not any(other.is_file() for other in siblings):
        job.set_aside(caption)


def _save_as_png(job: _Job, finding: FileFinding) -> None:
    path = job.path(finding.name)
    job.save(load_rgb(path), path)


def _save_first_frame(job: _Job, finding: FileFinding) -> None:
    path = job.path(finding.name)
    job.save(first_frame(path), path)


def _save_smaller(job: _Job, finding: FileFinding) -> None:
    path = job.path(finding.name)
    picture = load_rgb(path)
    picture.thumbnail((MAX_SIDE_PX, MAX_SIDE_PX), Image.Resampling.LANCZOS)
    job.save(picture, path)


def _rename_to_match(job: _Job, finding: FileFinding) -> None:
    path = job.path(finding.name)
    suffixes = SUFFIXES.get(look_at_picture(path).format)
    if not suffixes:
        raise DatasetError(f"Nobody knows the type of {path.name}.", hint="Save it as PNG in another program.")
    job.rename(path, f"{path.stem}{suffixes[0]}")


def _rename_readably(job: _Job, finding: FileFinding) -> None:
    path = next((path for path in job.root.iterdir() if readable(path.name) == finding.name), None)
    if path is None:
        raise DatasetError(f"{finding.name} is no longer there.", hint="Check the folder again.")
    name = path.name.encode(errors="replace").decode().replace("?", "_")
    job.rename(path, _free(job.root / name).name)


def _rename_caption(job: _Job, finding: FileFinding) -> None:
    caption = job.path(finding.related[0])
    job.rename(caption, f"{Path(finding.name).stem}{CAPTION_SUFFIX}")


def _give_own_name(job: _Job, finding: FileFinding) -> None:
    """Rename a picture that shares its name with another, with a copy of their caption for it."""
    path = job.path(finding.name)
    caption = job.caption_of(path)
    number = 2
    while any(job.root.glob(f"{_escaped(path.stem)}-{number}.*")):
        number += 1
    stem = f"{path.stem}-{number}"
    text = read_caption(caption).text if caption is not None else ""
    job.rename(path, f"{stem}{path.suffix}")
    if text:
        job.write_caption(job.root / f"{stem}{CAPTION_SUFFIX}", text)


def _shorten_name(job: _Job, finding: FileFinding) -> None:
    path = job.path(finding.name)
    caption = job.caption_of(path)
    stem, number = path.stem[:MAX_STEM].rstrip(". "), 2
    while any(job.root.glob(f"{_escaped(stem)}.*")):
        stem, number = f"{path.stem[: MAX_STEM - 4].rstrip('. ')}-{number}", number + 1
    job.rename(path, f"{stem}{path.suffix}")
    if caption is not None:
        job.rename(caption, f"{stem}{CAPTION_SUFFIX}")


def _write_caption(job: _Job, finding: FileFinding) -> None:
    if not job.caption.strip():
        raise DatasetError("There is no caption to write.", hint="Write one beside the picture.")
    path = job.path(finding.name)
    existing = job.caption_of(path)
    if existing is not None:
        job.set_aside(existing)
    job.write_caption(path.with_suffix(CAPTION_SUFFIX), job.caption)


def _save_as_utf8(job: _Job, finding: FileFinding) -> None:
    caption = job.path(finding.related[0])
    job.write_caption(caption, read_caption(caption).text)


def _clean_caption(job: _Job, finding: FileFinding) -> None:
    caption = job.path(finding.related[0])
    job.write_caption(caption, without_odd_characters(read_caption(caption).text))


def _escaped(stem: str) -> str:
    """Return a name as a pattern that matches only itself."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in stem)


REPAIRS: dict[str, Callable[[_Job, FileFinding], None]] = {
    "set_aside": _set_aside,
    "save_as_png": _save_as_png,
    "save_first_frame": _save_first_frame,
    "save_smaller": _save_smaller,
    "rename_to_match": _rename_to_match,
    "rename_caption": _rename_caption,
    "rename_readably": _rename_readably,
    "give_own_name": _give_own_name,
    "shorten_name": _shorten_name,
    "write_caption": _write_caption,
    "save_as_utf8": _save_as_utf8,
    "clean_caption": _clean_caption,
}
