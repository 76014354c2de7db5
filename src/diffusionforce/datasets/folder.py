"""A folder of pictures with a caption file beside each, read with every problem named.

A file that cannot be used is left out and reported, never silently skipped and never the end of the run; only a
folder with nothing left to train on is refused. Nothing in the folder is written to.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from diffusionforce.datasets.captions import CAPTION_SUFFIX
from diffusionforce.datasets.controls import Pairing, control_dir, find_pairing
from diffusionforce.datasets.intake import PICTURES, Intake
from diffusionforce.datasets.items import Finding, Item, notes_on_names, read_caption_of, read_clip, read_picture
from diffusionforce.datasets.listing import folder_files, is_utf8, readable_path, require_utf8
from diffusionforce.datasets.media_types import CLIP_SUFFIXES, OTHER_MEDIA_SUFFIXES, PICTURE_SUFFIXES
from diffusionforce.datasets.pictures import load_rgb
from diffusionforce.datasets.sets import SetFolder, is_set, read_set
from diffusionforce.errors import DatasetError

__all__ = ["Dataset", "Finding", "Item", "Part", "read_folder"]

_EXPECTED = "Training needs pictures (PNG, JPEG, WebP, ...) with a caption in a .txt file of the same name beside each."


@dataclass(frozen=True, kw_only=True)
class Part:
    """One folder of a dataset.

    Attributes:
        folder: Where it is, how often it counts, and at which size it is trained.
        items: What is trained on of it, each once, in order of name.
    """

    folder: SetFolder
    items: tuple[Item, ...]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is trained on, and what was found on the way.

    Attributes:
        root: The folder, or the set of folders.
        items: The items in order, those of each folder as many times as it counts.
        findings: What the user should know.
        parts: The folders that it consists of.
    """

    root: Path
    items: tuple[Item, ...]
    findings: tuple[Finding, ...]
    parts: tuple[Part, ...]


def read_folder(
    root: Path,
    *,
    decode: bool = True,
    progress: Callable[[int, int], None] | None = None,
    intake: Intake = PICTURES,
) -> Dataset:
    """Read a dataset folder. Every picture is decoded once, so that a damaged one is found before training.

    Args:
        root: The folder; its subfolders are not read. One that stands for a set is read as the set's folders.
        decode: Whether to decode the pictures; without, only their headers are read, which is quick.
        progress: Called with the number of pictures done and their total.
        intake: What the model takes; clips are left out where it takes none.

    Raises:
        DatasetError: The folder is not there, cannot be read, or has nothing to train on.
    """
    require_utf8(root)
    folders = read_set(root).folders if is_set(root) else (SetFolder(path=str(root)),)
    listings = [_Listing.of(folder, intake) for folder in folders]
    total = sum(len(listing.media) for listing in listings)
    parts: list[Part] = []
    findings: list[Finding] = []
    done = 0
    for listing in listings:

        def tell(in_folder: int, *, before: int = done) -> None:
            if progress is not None:
                progress(before + in_folder, total)

        items = listing.read(findings, decode=decode, tell=tell)
        parts.append(Part(folder=listing.folder, items=tuple(items)))
        done += len(listing.media)
    return Dataset(
        root=root,
        items=tuple(item for part in parts for item in part.items * part.folder.repeats),
        findings=tuple(findings),
        parts=tuple(parts),
    )


@dataclass(frozen=True, kw_only=True)
class _Listing:
    """The files of one folder, before they are read."""

    folder: SetFolder
    intake: Intake
    files: list[Path]
    odd: list[Finding]
    media: list[Path]

    @classmethod
    def of(cls, folder: SetFolder, intake: Intake) -> "_Listing":
        """List a folder.

        Raises:
            DatasetError: The folder is not there, cannot be read, or holds nothing that the model takes.
        """
        root = Path(folder.path)
        files, odd = _files(root)
        taken = PICTURE_SUFFIXES | CLIP_SUFFIXES if intake.takes_clips else PICTURE_SUFFIXES
        media = [path for path in files if path.suffix.lower() in taken]
        if not media:
            raise DatasetError(f"{root} has no pictures.", hint=_nothing_here_hint(root, files))
        return cls(folder=folder, intake=intake, files=files, odd=odd, media=media)

    def read(self, findings: list[Finding], *, decode: bool, tell: Callable[[int], None]) -> list[Item]:
        """Read its pictures and clips, and add what is found.

        Raises:
            DatasetError: There are no captions, or nothing can be used.
        """
        root = Path(self.folder.path)
        captions = {path.stem: path for path in self.files if path.suffix.lower() == CAPTION_SUFFIX}
        if not any(path.stem in captions for path in self.media):
            raise DatasetError(f"{root} has {_count(self.media, 'picture')} but no captions.", hint=_EXPECTED)
        mine = [*self.odd, *notes_on_names(self.files, self.media)]
        stems = [path.stem for path in self.media]
        pairing = find_pairing(root, intake=self.intake, chosen=self.folder.controls, stems=stems)
        frames = self.intake.frames_of(self.folder.frames)
        items: list[Item] = []
        for done, path in enumerate(self.media, start=1):
            try:
                caption = read_caption_of(path, captions.get(path.stem), mine)
                item = (
                    read_clip(path, caption, self.intake, frames)
                    if path.suffix.lower() in CLIP_SUFFIXES
                    else read_picture(path, caption, mine, decode=decode)
                )
                items.append(self._with_controls(item, pairing, decode=decode))
            except DatasetError as error:
                mine.append(Finding(path=path, sentence=error.sentence, hint=error.hint, left_out=True))
            tell(done)
        if not items:
            raise DatasetError(
                f"{root} has nothing to train on: none of its {_count(self.media, 'picture')} can be used.",
                hint=" ".join(finding.sentence for finding in mine[:3]) + f" {_EXPECTED}",
            )
        findings += mine
        return items

    def _with_controls(self, item: Item, pairing: Pairing | None, *, decode: bool) -> Item:
        """Give a picture what it is made from.

        Raises:
            DatasetError: It has none and needs one, or one of them is damaged.
        """
        found = pairing.of(item.picture) if pairing is not None else ()
        if item.is_clip:
            return item
        if not found and self.intake.controls == "needed":
            raise DatasetError(
                f"{item.picture.name} has no control picture.",
                hint=f"Put what it is made from into {control_dir(item.picture.parent, self.folder.controls)}, under "
                "the name of the picture.",
            )
        for control in found if decode else ():
            load_rgb(control)
        return replace(item, controls=found[: self.intake.max_controls or None])


def _files(root: Path) -> tuple[list[Path], list[Finding]]:
    """Return the files of a folder in order of name, and what is wrong with the names of the others."""
    files, odd = folder_files(root)
    findings = [
        Finding(
            path=path,
            sentence=f"The name of {readable_path(Path(path.name))} is not UTF-8 text.",
            hint="Rename the file.",
            left_out=True,
        )
        for path in odd
    ]
    return files, findings


def _nothing_here_hint(root: Path, files: list[Path]) -> str:
    below = (path for path in sorted(root.iterdir()) if path.is_dir() and is_utf8(path))
    example = next((path for path in below if _holds_pictures(path)), None)
    if example is not None:
        return f"Pictures in subfolders are not read; choose one of them, for example {example}. {_EXPECTED}"
    other = sorted({path.suffix for path in files if path.suffix.lower() in OTHER_MEDIA_SUFFIXES})
    return f"Files of type {', '.join(other)} are not supported. {_EXPECTED}" if other else _EXPECTED


def _holds_pictures(folder: Path) -> bool:
    try:
        return any(path.suffix.lower() in PICTURE_SUFFIXES for path in folder.iterdir())
    except OSError:
        return False


def _count(things: list[Path], word: str) -> str:
    return f"{len(things)} {word}" if len(things) == 1 else f"{len(things)} {word}s"
