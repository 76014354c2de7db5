"""One picture or clip with its caption as it is trained on, and what its owner should know about it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.datasets.captions import CAPTION_SUFFIX, read_caption, without_odd_characters
from diffusionforce.datasets.clips import look_at_clip
from diffusionforce.datasets.intake import Intake, frames_at
from diffusionforce.datasets.media_types import MAX_SIDE_RATIO, MIN_SIDE_PX, OTHER_MEDIA_SUFFIXES
from diffusionforce.datasets.pictures import frames_of_picture, load_rgb, upright_size_px
from diffusionforce.errors import DatasetError


@dataclass(frozen=True, kw_only=True)
class Item:
    """A picture or a clip, and its caption.

    Attributes:
        picture: Path of the picture or clip.
        caption: Its caption, one line, not empty.
        width: Width in pixels, upright.
        height: Height in pixels, upright.
        num_frames: Frames of a clip; 0 for a picture.
        fps: Frames a second of a clip; 0 for a picture.
        controls: What it is made from, for models that change pictures.
    """

    picture: Path
    caption: str
    width: int
    height: int
    num_frames: int = 0
    fps: float = 0.0
    controls: tuple[Path, ...] = ()

    @property
    def is_clip(self) -> bool:
        """Whether it moves."""
        return self.num_frames > 0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something about one file that the user should know.

    Attributes:
        path: The file.
        sentence: What is wrong with it.
        hint: What to do.
        left_out: Whether the picture is not trained on because of it.
    """

    path: Path
    sentence: str
    hint: str
    left_out: bool


def notes_on_names(files: list[Path], media: list[Path]) -> Iterator[Finding]:
    """Yield what the names of the files alone tell: unsupported types, captions of nothing, shared captions."""
    stems = Counter(path.stem for path in media)
    taken = set(media)
    for path in files:
        if path.suffix.lower() in OTHER_MEDIA_SUFFIXES and path not in taken:
            yield Finding(
                path=path, sentence=f"{path.name} is not supported.", hint="Save it as PNG or JPEG.", left_out=True
            )
        elif path.suffix.lower() == CAPTION_SUFFIX and path.stem not in stems:
            yield Finding(
                path=path,
                sentence=f"{path.name} belongs to no picture.",
                hint="Give it the name of its picture, capitals included.",
                left_out=False,
            )
    for stem, count in stems.items():
        if count > 1:
            same = [path for path in media if path.stem == stem]
            names = " and ".join(path.name for path in same)
            yield Finding(
                path=same[0],
                sentence=f"{names} share one caption.",
                hint="Rename one of them if that is not meant.",
                left_out=False,
            )


def read_caption_of(path: Path, caption_file: Path | None, findings: list[Finding]) -> str:
    if caption_file is None:
        raise DatasetError(f"{path.name} has no caption.", hint=f"Write one into {path.stem}.txt beside it.")
    caption = read_caption(caption_file)
    if not caption.text:
        raise DatasetError(f"The caption of {path.name} is empty.", hint=f"Write one into {caption_file.name}.")
    if caption.has_odd_characters:
        findings.append(
            Finding(
                path=caption_file,
                sentence=f"{caption_file.name} holds characters that nobody sees; they are left out.",
                hint="The check of the dataset takes them out of the file.",
                left_out=False,
            )
        )
    if caption.encoding != "utf-8":
        findings.append(
            Finding(
                path=caption_file,
                sentence=f"{caption_file.name} was read as {caption.encoding}.",
                hint="Save it as UTF-8 if letters look wrong.",
                left_out=False,
            )
        )
    return without_odd_characters(caption.text) if caption.has_odd_characters else caption.text


def read_picture(path: Path, caption: str, findings: list[Finding], *, decode: bool) -> Item:
    width, height = load_rgb(path).size if decode else upright_size_px(path)
    findings += _about_size(path, width, height)
    if decode and (num_frames := frames_of_picture(path)) > 1:
        findings.append(
            Finding(
                path=path,
                sentence=f"{path.name} moves; only the first of its {num_frames} frames is used.",
                hint="Save the frame that you mean as a picture of its own.",
                left_out=False,
            )
        )
    return Item(picture=path, caption=caption, width=width, height=height)


def read_clip(path: Path, caption: str, intake: Intake, frames: int) -> Item:
    clip = look_at_clip(path)
    have = frames_at(clip.num_frames, fps=clip.fps, target_fps=intake.frames_per_second)
    if have < frames:
        raise DatasetError(
            f"{path.name} has {have} frames at {intake.frames_per_second:g} a second, and {frames} are trained on.",
            hint="Use a longer clip, or train on fewer frames.",
        )
    return Item(
        picture=path,
        caption=caption,
        width=clip.width,
        height=clip.height,
        num_frames=clip.num_frames,
        fps=clip.fps,
    )


def _about_size(picture: Path, width: int, height: int) -> Iterator[Finding]:
    size = f"{width} x {height} pixels"
    short, long = sorted((width, height))
    if short < MIN_SIDE_PX:
        yield Finding(
            path=picture,
            sentence=f"{picture.name} has only {size}, which teaches blur.",
            hint=f"Use a picture of {MIN_SIDE_PX} pixels or more on each side.",
            left_out=False,
        )
    if long > MAX_SIDE_RATIO * short:
        yield Finding(
            path=picture,
            sentence=f"{picture.name} is very long ({size}); most of it is cut off for training.",
            hint="Crop it to its subject.",
            left_out=False,
        )
