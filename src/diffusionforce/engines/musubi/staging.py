"""A dataset laid out for the engine: one source a kind of item and folder, each with pictures, clips and captions.

Pictures are upright in plain RGB under a number for their name. Clips are frames in a folder each, at the speed of the
model and cropped to the training size: the engine passes over clips that turn out too short, and turns none upright.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from diffusionforce.datasets import Dataset, Item
from diffusionforce.datasets.clips import read_frames
from diffusionforce.datasets.framing import Framing
from diffusionforce.datasets.intake import Intake
from diffusionforce.datasets.pictures import load_rgb
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.engines.musubi.controls import CONTROL_DIR
from diffusionforce.engines.musubi.prepared_files import CACHE_DIR
from diffusionforce.job import write_whole
from diffusionforce.job.held_files import move_over

CLIP_LIST = "clips.jsonl"
_MOST_PIXELS = 50_000_000
"""Of a picture that is handed over; the largest that are trained at have a twentieth of it."""
_SourceKind = Literal["pictures", "pictures with control pictures", "clips"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """What becomes one dataset of the engine: items of one kind out of one folder.

    Attributes:
        kind: What they are; the engine has all or none of a dataset with control pictures.
        folder: The folder that they come from.
        items: The items, each once.
        size: Width and height that they are trained at, in pixels.
        frames: Frames of a clip that are trained on; 0 for pictures.
        fps: Frames a second of a clip; 0 for pictures.
    """

    kind: _SourceKind
    folder: SetFolder
    items: tuple[Item, ...]
    size: tuple[int, int]
    frames: int = 0
    fps: float = 0.0

    def key_parts(self) -> Iterator[bytes]:
        """Yield what the prepared files depend on; how often a folder counts is not among it."""
        yield f"{self.kind} {self.size[0]} {self.size[1]} {self.frames} {self.fps:g}".encode()
        for item in self.items:
            yield item.picture.read_bytes()
            yield item.caption.encode()
            for control in item.controls if self.kind == "pictures with control pictures" else ():
                yield control.read_bytes()

    def file_names(self, place: Path) -> Iterator[tuple[str, str]]:
        """Yield for every item the place at which it is laid out, without an ending, and the name of its file."""
        for name, item in zip(self.names(), self.items, strict=True):
            yield str(place / name), item.picture.name

    def names(self) -> Iterator[str]:
        """Yield what every item is called where it is laid out."""
        return (_name(number) for number in range(len(self.items)))

    def lay_out(self, place: Path) -> None:
        """Write pictures, clips and captions; those that are there are whole.

        Raises:
            OSError: The disk refuses.
            DatasetError: A file cannot be read any more.
        """
        place.mkdir(parents=True, exist_ok=True)
        for number, item in enumerate(self.items):
            name = _name(number)
            write_whole(place / f"{name}.txt", item.caption.encode())
            if self.kind == "clips":
                self._write_frames(item.picture, place / name)
                continue
            _write_picture(item.picture, place / f"{name}.png")
            for index, control in enumerate(item.controls if self.kind != "pictures" else ()):
                _write_picture(control, place / CONTROL_DIR / f"{name}_{index}.png")
        if self.kind == "clips":
            lines = (
                json.dumps({"video_path": str(place / _name(number)), "caption": item.caption}, ensure_ascii=False)
                for number, item in enumerate(self.items)
            )
            write_whole(place / CLIP_LIST, "\n".join(lines).encode())

    def _write_frames(self, clip: Path, place: Path) -> None:
        """Write the frames of a clip that are trained on, whole or not at all."""
        if place.is_dir():
            return
        part = place.with_suffix(".part")
        part.mkdir(exist_ok=True)
        for index, frame in enumerate(read_frames(clip, num_frames=self.frames, target_fps=self.fps)):
            cropped(frame, self.size).save(part / f"{index:05d}.png", format="PNG", compress_level=1)
        move_over(part, place)

    def table(self, place: Path) -> dict[str, Any]:
        """Return the engine's description of it."""
        table: dict[str, Any] = {
            "cache_directory": str(place / CACHE_DIR),
            "num_repeats": self.folder.repeats,
            "resolution": list(self.size),
        }
        if self.kind == "clips":
            return table | {
                "video_jsonl_file": str(place / CLIP_LIST),
                "target_frames": [self.frames],
                "frame_extraction": "head",
            }
        table["image_directory"] = str(place)
        if self.kind == "pictures with control pictures":
            table["control_directory"] = str(place / CONTROL_DIR)
        return table


def place_of(prepared: str) -> str:
    """The place of the item, without an ending, that the engine prepared a file of."""
    path = Path(prepared)
    return str(path.parent.parent / path.name.partition("_")[0])


def _name(number: int) -> str:
    """What an item is called where it is laid out: no underscore is in it, after which the engine adds its own."""
    return f"{number:05d}"


def sources_of(dataset: Dataset, *, usual_size: tuple[int, int], intake: Intake) -> list[Source]:
    """Return what a dataset becomes.

    Args:
        dataset: The dataset.
        usual_size: Width and height of folders that do not name their own, in pixels.
        intake: What the model takes.
    """
    sources: list[Source] = []
    for part in dataset.parts:
        folder, size = part.folder, part.folder.size(usual_size)
        clips = tuple(item for item in part.items if item.is_clip)
        changed = tuple(item for item in part.items if not item.is_clip and item.controls)
        plain = tuple(item for item in part.items if not item.is_clip and not item.controls)
        if plain:
            sources.append(Source(kind="pictures", folder=folder, items=plain, size=size))
        if changed:
            kind: _SourceKind = "pictures with control pictures"
            sources.append(Source(kind=kind, folder=folder, items=changed, size=size))
        if clips:
            sources.append(
                Source(
                    kind="clips",
                    folder=folder,
                    items=clips,
                    size=size,
                    frames=intake.frames_of(folder.frames),
                    fps=intake.frames_per_second,
                )
            )
    return sources


def largest(sources: Sequence[Source], *, usual_size: tuple[int, int]) -> tuple[int, int, int]:
    """Return width, height and frames of the source that needs most memory; pictures have one frame."""
    found = [(*source.size, max(1, source.frames)) for source in sources]
    return max(found, key=lambda size: size[0] * size[1] * size[2], default=(*usual_size, 1))


def cropped(frame: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Return a picture scaled until it covers a size and cropped around its middle."""
    framing = Framing(width=frame.width, height=frame.height, target_width=size[0], target_height=size[1])
    left, top, right, bottom = framing.crop
    box = (left * frame.width, top * frame.height, right * frame.width, bottom * frame.height)
    return frame.resize(size, Image.Resampling.LANCZOS, box=box)


def _of_bounded_size(picture: Image.Image) -> Image.Image:
    """Return a picture scaled down where the engine, which holds several at once, would take gigabytes for it."""
    share = (_MOST_PIXELS / (picture.width * picture.height)) ** 0.5
    if share >= 1:
        return picture
    size = (max(1, int(picture.width * share)), max(1, int(picture.height * share)))
    return picture.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _write_picture(source: Path, target: Path) -> None:
    """Write a picture upright in plain RGB, whole or not at all; one that is there is whole."""
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        part = target.with_suffix(".part")
        _of_bounded_size(load_rgb(source)).save(part, format="PNG")
        move_over(part, target)
