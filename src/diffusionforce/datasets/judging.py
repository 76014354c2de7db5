"""What is said of each file of a folder, once it has been looked at."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from diffusionforce.datasets.captions import CAPTION_SUFFIX, Caption, read_caption
from diffusionforce.datasets.controls import Pairing
from diffusionforce.datasets.framing import Framing
from diffusionforce.datasets.intake import Intake, frames_at
from diffusionforce.datasets.looking import SUFFIXES, Look
from diffusionforce.datasets.media_looks import ClipLook
from diffusionforce.datasets.media_types import (
    CLIP_SUFFIXES,
    CONVERTIBLE_SUFFIXES,
    MAX_SIDE_RATIO,
    MIN_SIDE_PX,
    OTHER_MEDIA_SUFFIXES,
    PICTURE_SUFFIXES,
)
from diffusionforce.datasets.records import FileFacts, FileFinding, Media
from diffusionforce.errors import DatasetError
from diffusionforce.wire import readable

MAX_NAME_BYTES = 200
MOST_CROPPED_SHARE = 0.5
"""Where more is cut off for training, most of a picture is lost."""
_SAME_SPEED = 0.5
"""Frames a second that make no difference."""


@dataclass
class FolderJudge:
    """Judges the files of one folder.

    Attributes:
        root: The folder.
        files: Everything in it.
        intake: What the model takes.
        frames: Frames of a clip that are trained on.
        size: Width and height that it is trained at, in pixels; None where nobody knows.
        pairing: What its pictures are made from; None where nothing is asked about that.
        facts: What was judged.
        findings: What was found.
    """

    root: Path
    files: list[Path]
    intake: Intake
    frames: int
    size: tuple[int, int] | None = None
    pairing: Pairing | None = None
    facts: list[FileFacts] = field(default_factory=lambda: list[FileFacts]())
    findings: list[FileFinding] = field(default_factory=lambda: list[FileFinding]())

    def __post_init__(self) -> None:
        self._captions = {path.stem: path for path in self.files if path.suffix.lower() == CAPTION_SUFFIX}
        self._caption_by_fold = {stem.casefold(): path for stem, path in self._captions.items()}
        taken = PICTURE_SUFFIXES | CLIP_SUFFIXES if self.intake.takes_clips else PICTURE_SUFFIXES
        trained = [path for path in self.files if path.suffix.lower() in taken]
        self._stems = Counter(path.stem for path in trained)
        self._first_of_stem = {path.stem: path for path in reversed(trained)}
        self._media_stems = {path.stem for path in self.files if media_of(path) in {"picture", "clip"}}
        self._misspelt: set[Path] = set()

    @property
    def captioned_stems(self) -> frozenset[str]:
        """Names, without their endings, of what has a caption file."""
        return frozenset(self._captions)

    def tell(self, what: str, path: Path, *, note: str = "", related: tuple[str, ...] = ()) -> None:
        """Note a finding."""
        self.findings.append(FileFinding(what=what, name=self._name(path), note=note, related=related))

    def _name(self, path: Path) -> str:
        """The name of a file as the records have it: control pictures lie in a folder of their own."""
        if path.parent == self.root:
            return readable(path.name)
        return readable(path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path))

    def take(self, path: Path, look: Look | ClipLook) -> None:
        """Judge a picture or a clip."""
        is_used, caption = False, self._caption_of(path)
        if look.problem:
            self.tell(look.problem, path, note=NOTES.get(look.problem, ""))
        elif isinstance(look, ClipLook):
            is_used = self._judge_clip(path, look) and self._judge_caption(path, caption)
        elif path.suffix.lower() in CONVERTIBLE_SUFFIXES:
            self.tell("convertible", path, note=f"{look.format or path.suffix[1:].upper()} is left out")
        else:
            self._judge_picture(path, look)
            is_used = self._judge_caption(path, caption)
        is_used = self._judge_controls(path) and is_used
        size_bytes, modified_ns = _stat(path)
        is_clip = isinstance(look, ClipLook)
        self.facts.append(
            FileFacts(
                name=path.name,
                media=media_of(path),
                size_bytes=size_bytes,
                modified_ns=modified_ns,
                width=look.width,
                height=look.height,
                format=path.suffix[1:].upper() if is_clip else look.format,
                num_frames=look.num_frames,
                duration_s=look.duration_s if is_clip else 0.0,
                fps=look.fps if is_clip else 0.0,
                caption=caption.text if isinstance(caption, Caption) else "",
                caption_file=self._captions[path.stem].name if path.stem in self._captions else "",
                controls=tuple(self._name(control) for control in self._controls_of(path)),
                is_used=is_used,
            )
        )

    def _caption_of(self, path: Path) -> Caption | DatasetError | None:
        file = self._captions.get(path.stem)
        if file is None:
            return None
        try:
            return read_caption(file)
        except DatasetError as error:
            return error

    def _controls_of(self, path: Path) -> tuple[Path, ...]:
        return self.pairing.of(path) if self.pairing is not None else ()

    def _judge_picture(self, path: Path, look: Look) -> None:
        for mark in look.marks:
            note = NOTES[mark] if mark != "huge" else f"{look.width} × {look.height}, huge"
            self.tell(mark, path, note=note)
        if look.format in SUFFIXES and path.suffix.lower() not in SUFFIXES[look.format]:
            self.tell("wrong_extension", path, note=f"Is a {look.format}")
        self._judge_size(path, look)

    def _judge_clip(self, path: Path, look: ClipLook) -> bool:
        """Judge a good clip; tells whether it can be trained on."""
        if not self.intake.takes_clips:
            self.tell("clip", path, note="Clips are left out")
            return False
        target = self.intake.frames_per_second
        have = frames_at(look.num_frames, fps=look.fps, target_fps=target)
        if have < self.frames:
            self.tell("clip_short", path, note=f"{have} of {self.frames} frames")
            return False
        if look.fps < target - _SAME_SPEED:
            self.tell("clip_slow", path, note=f"{look.fps:g} frames a second")
        self._judge_size(path, look)
        return True

    def _judge_size(self, path: Path, look: Look | ClipLook) -> None:
        size = f"{look.width} × {look.height}"
        short, long = sorted((look.width, look.height))
        framing = self._framing(look)
        if short < MIN_SIDE_PX or (framing is not None and framing.is_blurry):
            self.tell("tiny", path, note=f"Only {size}")
        if long > MAX_SIDE_RATIO * short or (framing is not None and framing.cropped_share > MOST_CROPPED_SHARE):
            self.tell("elongated", path, note=f"{size}, very long")
        if self._stems[path.stem] > 1 and path != self._first_of_stem[path.stem]:
            first = self._first_of_stem[path.stem]
            self.tell("same_stem", path, note=f"Shares its caption with {first.name}", related=(first.name,))
        if len(path.name.encode()) > MAX_NAME_BYTES:
            self.tell("long_name", path, note="Very long name")

    def _framing(self, look: Look | ClipLook) -> Framing | None:
        if self.size is None or not look.width or not look.height:
            return None
        return Framing(width=look.width, height=look.height, target_width=self.size[0], target_height=self.size[1])

    def _judge_caption(self, path: Path, caption: Caption | DatasetError | None) -> bool:
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
        elif caption.has_odd_characters:
            related = (self._captions[path.stem].name,)
            self.tell("caption_characters", path, note="Unseen characters in the caption", related=related)
        return True

    def _judge_controls(self, path: Path) -> bool:
        """Judge what a picture is made from; tells whether it can be trained on."""
        needed, found = self.intake.controls == "needed", self._controls_of(path)
        if path.suffix.lower() not in PICTURE_SUFFIXES or (self.pairing is None and not needed):
            return True
        if not found:
            self.tell("no_control" if needed else "control_missing", path, note="Nothing it is made from")
        elif self.intake.max_controls and len(found) > self.intake.max_controls:
            self.tell("many_controls", path, note=f"Made from {found[0].name}, not from {found[1].name}")
        return bool(found) or not needed

    def judge_control_looks(self, looks: dict[Path, Look]) -> None:
        """Judge the control pictures themselves: damaged ones, and those of nothing."""
        owners = {control: stem for stem, found in self._by_stem().items() for control in found}
        by_name = {Path(facts.name).stem: index for index, facts in enumerate(self.facts)}
        for control, look in looks.items():
            owner = owners.get(control)
            if owner is None:
                self.tell("unpaired_control", control, note="Belongs to no picture")
                self._note_file(control, "control")
            elif look.problem and owner in by_name:
                index = by_name[owner]
                note = f"{control.name}: {NOTES.get(look.problem, '').lower()}"
                related = (self._name(control),)
                path = self.root / self.facts[index].name
                self.tell("control_broken", path, note=note, related=related)
                self.facts[index] = self.facts[index].model_copy(update={"is_used": False})

    def _by_stem(self) -> dict[str, tuple[Path, ...]]:
        return self.pairing.by_stem if self.pairing is not None else {}

    def judge_others(self) -> None:
        """Judge captions of nothing and files of other types."""
        for path in self.files:
            media, suffix = media_of(path), path.suffix.lower()
            if media == "caption" and path.stem not in self._media_stems and path not in self._misspelt:
                self.tell("unpaired", path, note="Belongs to no picture")
            elif suffix in OTHER_MEDIA_SUFFIXES and media == "other":
                self.tell("unsupported", path, note=f"{suffix[1:].upper()} is not supported")
            else:
                continue
            self._note_file(path, media)

    def _note_file(self, path: Path, media: Media) -> None:
        size_bytes, modified_ns = _stat(path)
        facts = FileFacts(name=self._name(path), media=media, size_bytes=size_bytes, modified_ns=modified_ns)
        self.facts.append(facts)


def media_of(path: Path) -> Media:
    """Return what a file is by its name."""
    suffix = path.suffix.lower()
    if suffix in PICTURE_SUFFIXES or suffix in CONVERTIBLE_SUFFIXES:
        return "picture"
    if suffix in CLIP_SUFFIXES:
        return "clip"
    return "caption" if suffix == CAPTION_SUFFIX else "other"


def _stat(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


NOTES = {
    "truncated": "Broken: ends early",
    "broken": "Damaged",
    "empty_file": "Empty file",
    "no_decoder": "Waits for the training environment",
    "not_a_picture": "Not a picture",
    "too_large": "Too many pixels",
    "rotated": "Turned upright (EXIF)",
    "deep": "16 bits become 8",
    "alpha": "Clear parts become white",
    "animated": "First frame only",
}
