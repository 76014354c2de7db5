"""The repairs by name: what each does with one file."""

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from diffusionforce.datasets.captions import CAPTION_SUFFIX, read_caption, without_odd_characters
from diffusionforce.datasets.clips import first_frame
from diffusionforce.datasets.looking import SUFFIXES, look_at_picture
from diffusionforce.datasets.pictures import load_rgb
from diffusionforce.datasets.records import FileFinding
from diffusionforce.datasets.repair_steps import RepairJob, free_path
from diffusionforce.errors import DatasetError
from diffusionforce.wire import readable

MAX_SIDE_PX = 4096
MAX_STEM = 80


def _set_aside(job: RepairJob, finding: FileFinding) -> None:
    """Take a file out, and its caption with it unless another picture uses that."""
    path = job.path(finding.name)
    if path.parent != job.root:
        job.set_aside(path)  # A control picture has no caption; the one of its name is that of a picture.
        return
    caption = job.caption_of(path) if path.suffix.lower() != CAPTION_SUFFIX else None
    siblings = [other for other in job.root.glob(f"{_escaped(path.stem)}.*") if other not in {path, caption}]
    job.set_aside(path)
    if caption is not None and not any(other.is_file() for other in siblings):
        job.set_aside(caption)


def _set_control_aside(job: RepairJob, finding: FileFinding) -> None:
    """Take out what a picture is made from."""
    job.set_aside(job.path(finding.related[0]))


def _save_as_png(job: RepairJob, finding: FileFinding) -> None:
    path = job.path(finding.name)
    job.save(load_rgb(path), path)


def _save_first_frame(job: RepairJob, finding: FileFinding) -> None:
    path = job.path(finding.name)
    job.save(first_frame(path), path)


def _save_smaller(job: RepairJob, finding: FileFinding) -> None:
    path = job.path(finding.name)
    picture = load_rgb(path)
    picture.thumbnail((MAX_SIDE_PX, MAX_SIDE_PX), Image.Resampling.LANCZOS)
    job.save(picture, path)


def _rename_to_match(job: RepairJob, finding: FileFinding) -> None:
    path = job.path(finding.name)
    suffixes = SUFFIXES.get(look_at_picture(path).format)
    if not suffixes:
        raise DatasetError(f"Nobody knows the type of {path.name}.", hint="Save it as PNG in another program.")
    job.rename(path, f"{path.stem}{suffixes[0]}")


def _rename_readably(job: RepairJob, finding: FileFinding) -> None:
    path = next((path for path in job.root.iterdir() if readable(path.name) == finding.name), None)
    if path is None:
        raise DatasetError(f"{finding.name} is no longer there.", hint="Check the folder again.")
    name = path.name.encode(errors="replace").decode().replace("?", "_")
    job.rename(path, free_path(job.root / name).name)


def _rename_caption(job: RepairJob, finding: FileFinding) -> None:
    caption = job.path(finding.related[0])
    job.rename(caption, f"{Path(finding.name).stem}{CAPTION_SUFFIX}")


def _give_own_name(job: RepairJob, finding: FileFinding) -> None:
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


def _shorten_name(job: RepairJob, finding: FileFinding) -> None:
    path = job.path(finding.name)
    caption = job.caption_of(path)
    stem, number = path.stem[:MAX_STEM].rstrip(". "), 2
    while any(job.root.glob(f"{_escaped(stem)}.*")):
        stem, number = f"{path.stem[: MAX_STEM - 4].rstrip('. ')}-{number}", number + 1
    job.rename(path, f"{stem}{path.suffix}")
    if caption is not None:
        job.rename(caption, f"{stem}{CAPTION_SUFFIX}")


def _write_caption(job: RepairJob, finding: FileFinding) -> None:
    if not job.caption.strip():
        raise DatasetError("There is no caption to write.", hint="Write one beside the picture.")
    path = job.path(finding.name)
    existing = job.caption_of(path)
    if existing is not None:
        job.set_aside(existing)
    job.write_caption(path.with_suffix(CAPTION_SUFFIX), job.caption)


def _save_as_utf8(job: RepairJob, finding: FileFinding) -> None:
    caption = job.path(finding.related[0])
    job.write_caption(caption, read_caption(caption).text)


def _clean_caption(job: RepairJob, finding: FileFinding) -> None:
    caption = job.path(finding.related[0])
    job.write_caption(caption, without_odd_characters(read_caption(caption).text))


def _escaped(stem: str) -> str:
    """Return a name as a pattern that matches only itself."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in stem)


REPAIRS: dict[str, Callable[[RepairJob, FileFinding], None]] = {
    "set_aside": _set_aside,
    "set_control_aside": _set_control_aside,
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
