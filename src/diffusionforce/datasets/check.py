"""The pre-flight: everything in a folder looked at before a training, with every problem named.

A training that stops after an hour at the one damaged picture, or goes on for a night with half of the pictures left
out for a capital letter, is what this is for. Files are looked at on several threads, because decoders work outside
the interpreter's lock; results come in order of name all the same.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diffusionforce.datasets.captions import CAPTION_SUFFIX, Caption, read_caption, without_odd_characters
from diffusionforce.datasets.clips import CLIP_SUFFIXES, look_at_clip
from diffusionforce.datasets.findings import ORDER
from diffusionforce.datasets.folder import (
    CONVERTIBLE_SUFFIXES,
    MAX_SIDE_RATIO,
    MIN_SIDE_PX,
    OTHER_MEDIA_SUFFIXES,
    PICTURE_SUFFIXES,
    folder_files,
)
from diffusionforce.datasets.likeness import lookalikes, same_files
from diffusionforce.datasets.looking import SUFFIXES, Look, look_at_picture
from diffusionforce.datasets.looks import Looks
from diffusionforce.datasets.records import Checked, Checking, FileFacts, FileFinding, Media
from diffusionforce.errors import DatasetError
from diffusionforce.wire import readable

MAX_THREADS = 16
MAX_NAME_BYTES = 200
_PROGRESS_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a check found.

    Attributes:
        root: The folder.
        files: Its media files in order of name, then captions of nothing.
        findings: What was found, in the order of `findings.KINDS`.
        duration_s: How long the check took.
    """

    root: Path
    files: tuple[FileFacts, ...]
    findings: tuple[FileFinding, ...]
    duration_s: float

    @property
    def num_media(self) -> int:
        """Pictures and clips."""
        return sum(file.media in {"picture", "clip"} for file in self.files)

    @property
    def num_used(self) -> int:
        """Pictures that are trained on."""
        return sum(file.is_used for file in self.files)

    def summary(self) -> Checked:
        """Return the last record."""
        return Checked(
            root=str(self.root), num_media=self.num_media, num_used=self.num_used, duration_s=self.duration_s
        )


def check_folder(
    root: Path,
    *,
    progress: Callable[[Checking], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    kept: Path | None = None,
) -> Report | None:
    """Look at everything in a folder. Nothing in it is written to.

    Args:
        root: The folder; its subfolders are not looked at.
        progress: Told how far the check is, at most ten times a second.
        should_stop: Asked between files; when it is true the check ends.
        kept: Where looks at pictures are kept for the next check; None looks at all of them.

    Returns:
        The report, None if the check was ended.

    Raises:
        DatasetError: The folder is not there or cannot be read.
    """
    started_s = time.monotonic()
    files, odd = folder_files(root)
    folder = _Folder(files)
    for path in odd:
        folder.tell("odd_name", path, note="Name is not UTF-8 text")
        folder.facts.append(FileFacts(name=readable(path.name), media="other"))
    media = [path for path in files if folder.media_of(path) in {"picture", "clip"}]
    memory = Looks(kept, root) if kept is not None else None
    looks = _look_at_all(media, progress, should_stop, memory)
    if looks is None:
        return None
    if memory is not None:
        memory.save()
    for path in media:
        folder.take(path, looks[path])
    folder.judge_others()
    folder.judge_likeness([(path, look) for path, look in looks.items() if isinstance(look, Look)], should_stop)
    if should_stop():
        return None
    findings = sorted(folder.findings, key=lambda finding: (ORDER[finding.what], finding.name))
    return Report(
        root=root, files=tuple(folder.facts), findings=tuple(findings), duration_s=time.monotonic() - started_s
    )


@dataclass(frozen=True, kw_only=True)
class _ClipLook:
    width: int = 0
    height: int = 0
    duration_s: float = 0.0
    problem: str = ""


def _look_at_all(
    media: list[Path],
    progress: Callable[[Checking], None],
    should_stop: Callable[[], bool],
    memory: Looks | None,
) -> "dict[Path, Look | _ClipLook] | None":
    looks: dict[Path, Look | _ClipLook] = {}
    told_s = 0.0
    executor = ThreadPoolExecutor(max_workers=min(MAX_THREADS, os.cpu_count() or 1), thread_name_prefix="check")
    try:
        futures: list[Future[Look | _ClipLook]] = [executor.submit(_look, path, memory) for path in media]
        for done, (path, future) in enumerate(zip(media, futures, strict=True), start=1):
            if should_stop():
                return None
            looks[path] = future.result()
            if done == len(media) or time.monotonic() - told_s > _PROGRESS_S:
                told_s = time.monotonic()
                progress(Checking(done=done, total=len(media)))
    finally:
        executor.shutdown(cancel_futures=True)
    return looks


def _look(path: Path, memory: Looks | None) -> "Look | _ClipLook":
    if path.suffix.lower() in CLIP_SUFFIXES:
        try:
            clip = look_at_clip(path)
        except DatasetError as error:
            no_decoder = isinstance(error.__cause__, ImportError)
            return _ClipLook(problem="" if no_decoder else "broken" if path.stat().st_size else "empty_file")
        return _ClipLook(width=clip.width, height=clip.height, duration_s=clip.duration_s)
    look = memory.get(path) if memory is not None else None
    if look is None:
        look = look_at_picture(path)
        if memory is not None:
            memory.put(path, look)
    return look


@dataclass
class _Folder:
    """Judges the files of one folder."""

    files: list[Path]
    facts: list[FileFacts] = field(default_factory=lambda: list[FileFacts]())
    findings: list[FileFinding] = field(default_factory=lambda: list[FileFinding]())

    def __post_init__(self) -> None:
        self._captions = {path.stem: path for path in self.files if path.suffix.lower() == CAPTION_SUFFIX}
        self._caption_by_fold = {stem.casefold(): path for stem, path in self._captions.items()}
        pictures = [path for path in self.files if path.suffix.lower() in PICTURE_SUFFIXES]
        self._stems = Counter(path.stem for path in pictures)
        self._first_of_stem = {path.stem: path for path in reversed(pictures)}
        self._media_stems = {path.stem for path in self.files if self.media_of(path) in {"picture", "clip"}}
        self._misspelt: set[Path] = set()

    def tell(self, what: str, path: Path, *, note: str = "", related: tuple[str, ...] = ()) -> None:
        self.findings.append(FileFinding(what=what, name=readable(path.name), note=note, related=related))

    @staticmethod
    def media_of(path: Path) -> Media:
        suffix = path.suffix.lower()
        if suffix in PICTURE_SUFFIXES or suffix in CONVERTIBLE_SUFFIXES:
            return "picture"
        if suffix in CLIP_SUFFIXES:
            return "clip"
        return "caption" if suffix == CAPTION_SUFFIX else "other"

    def take(self, path: Path, look: "Look | _ClipLook") -> None:
        """Judge a picture or a clip."""
        is_used, caption = False, self._caption_of(path)
        if isinstance(look, _ClipLook):
            what = look.problem or "clip"
            self.tell(what, path, note="Damaged" if look.problem else "Clips are left out")
        elif look.problem:
            self.tell(look.problem, path, note=_NOTES.get(look.problem, ""))
        elif path.suffix.lower() in CONVERTIBLE_SUFFIXES:
            self.tell("convertible", path, note=f"{look.format or path.suffix[1:].upper()} is left out")
        else:
            self._judge_picture(path, look)
            is_used = self._judge_caption(path, caption)
        stat = _stat(path)
        self.facts.append(
            FileFacts(
                name=path.name,
                media=self.media_of(path),
                size_bytes=stat[0],
                modified_ns=stat[1],
                width=look.width,
                height=look.height,
                format=look.format if isinstance(look, Look) else path.suffix[1:].upper(),
                num_frames=look.num_frames if isinstance(look, Look) else 0,
                duration_s=look.duration_s if isinstance(look, _ClipLook) else 0.0,
                caption=caption.text if isinstance(caption, Caption) else "",
                caption_file=self._captions[path.stem].name if path.stem in self._captions else "",
                is_used=is_used,
            )
        )

    def _caption_of(self, path: Path) -> "Caption | DatasetError | None":
        file = self._captions.get(path.stem)
        if file is None:
            return None
        try:
            return read_caption(file)
        except DatasetError as error:
            return error

    def _judge_picture(self, path: Path, look: Look) -> None:
        size = f"{look.width} × {look.height}"
        for mark in look.marks:
            note = _NOTES[mark] if mark != "huge" else f"{size}, huge"
            self.tell(mark, path, note=note)
        if look.format in SUFFIXES and path.suffix.lower() not in SUFFIXES[look.format]:
            self.tell("wrong_extension", path, note=f"Is a {look.format}")
        short, long = sorted((look.width, look.height))
        if short < MIN_SIDE_PX:
            self.tell("tiny", path, note=f"Only {size}")
        if long > MAX_SIDE_RATIO * short:
            self.tell("elongated", path, note=f"{size}, very long")
        if self._stems[path.stem] > 1 and path != self._first_of_stem[path.stem]:
            first = self._first_of_stem[path.stem]
            self.tell("same_stem", path, note=f"Shares its caption with {first.name}", related=(first.name,))
        if len(path.name.encode()) > MAX_NAME_BYTES:
            self.tell("long_name", path, note="Very long name")

    def _judge_caption(self, path: Path, caption: "Caption | DatasetError | None") -> bool:
        """Judge the caption of a good picture; tells whether the picture is trained on."""
        if isinstance(caption, DatasetError):
            self.tell("unreadable_caption", path, note="Caption is no text")
            return False
        if caption is None:
            other = self._caption_by_fold.get(path.stem.casefold())
            if other is not None and other.stem not in self._media_stems and other not in self._misspelt:
                self._misspelt.add(other)
                self.tell("caption_name", path, note=f"Caption is spelt {other.name}", related=(other.name,))
            else:
                self.tell("no_caption", path, note="No caption")
            return False
        if not caption.text:
            self.tell("empty_caption", path, note="Caption is empty")
            return False
        if caption.encoding != "utf-8" or caption.has_mark:
            how = caption.encoding if caption.encoding != "utf-8" else "UTF-8 with a mark"
            self.tell("caption_encoding", path, note=f"Caption is {how}", related=(self._captions[path.stem].name,))
        elif caption.has_odd_characters and without_odd_characters(caption.text) != caption.text:
            related = (self._captions[path.stem].name,)
            self.tell("caption_characters", path, note="Unseen characters in the caption", related=related)
        return True

    def judge_others(self) -> None:
        """Judge captions of nothing and files of other types."""
        for path in self.files:
            media, suffix = self.media_of(path), path.suffix.lower()
            if media == "caption" and path.stem not in self._media_stems and path not in self._misspelt:
                self.tell("unpaired", path, note="Belongs to no picture")
            elif suffix in OTHER_MEDIA_SUFFIXES and media == "other":
                self.tell("unsupported", path, note=f"{suffix[1:].upper()} is not supported")
            else:
                continue
            size_bytes, modified_ns = _stat(path)
            self.facts.append(FileFacts(name=path.name, media=media, size_bytes=size_bytes, modified_ns=modified_ns))

    def judge_likeness(self, looks: list[tuple[Path, Look]], should_stop: Callable[[], bool]) -> None:
        """Find pictures that are there twice, or look alike."""
        seen = [(path, look) for path, look in looks if not look.problem and look.outline is not None]
        twice: set[int] = set()
        for group in same_files([look.digest for _, look in seen]):
            first = self._best([seen[i] for i in group])
            for i in group:
                if seen[i][0] != first:
                    twice.add(i)
                    self.tell("duplicate", seen[i][0], note=f"Same as {first.name}", related=(first.name,))
        left = [pair for i, pair in enumerate(seen) if i not in twice]
        for paths in _groups_alike([look for _, look in left], should_stop):
            alike = [left[i] for i in paths]
            first = self._best(alike)
            for path, _ in alike:
                if path != first:
                    self.tell("near_duplicate", path, note=f"Looks like {first.name}", related=(first.name,))

    def _best(self, pictures: list[tuple[Path, Look]]) -> Path:
        """Return the one to keep: with a caption, then the largest, then the first by name."""

        def rank(pair: tuple[Path, Look]) -> tuple[bool, int, str]:
            path, look = pair
            return path.stem not in self._captions, -look.width * look.height, path.name

        return min(pictures, key=rank)[0]


def _groups_alike(looks: list[Look], should_stop: Callable[[], bool]) -> Iterator[list[int]]:
    if len(looks) < 2:
        return
    outlines = np.stack([look.outline for look in looks if look.outline is not None])
    colours = np.stack([look.colours for look in looks if look.colours is not None])
    yield from lookalikes(outlines, colours, should_stop=should_stop)


def _stat(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


_NOTES = {
    "truncated": "Broken: ends early",
    "broken": "Damaged",
    "empty_file": "Empty file",
    "not_a_picture": "Not a picture",
    "too_large": "Too many pixels",
    "rotated": "Turned upright (EXIF)",
    "deep": "16 bits become 8",
    "alpha": "Clear parts become white",
    "animated": "First frame only",
}
