"""A folder of pictures with a caption file beside each, read with every problem named.

A file that cannot be used is left out and reported, never silently skipped and never the end of the run; only a
folder with nothing left to train on is refused. Nothing in the folder is written to.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.datasets.captions import read_caption
from diffusionforce.datasets.pictures import load_rgb, upright_size_px
from diffusionforce.datasets.sets import is_set, read_set
from diffusionforce.errors import DatasetError

PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".avif"})
OTHER_MEDIA_SUFFIXES = frozenset({".gif", ".heic", ".heif", ".svg", ".psd", ".jxl", ".mp4", ".mov", ".webm", ".mkv"})
"""Pictures and clips that are not trained on, and are named instead of ignored."""
CONVERTIBLE_SUFFIXES = frozenset({".gif"})
"""Those among them that Pillow reads, so that they can be saved as PNG."""
MIN_SIDE_PX = 64
MAX_SIDE_RATIO = 4
_EXPECTED = "Training needs pictures (PNG, JPEG, WebP, ...) with a caption in a .txt file of the same name beside each."


@dataclass(frozen=True, kw_only=True)
class Item:
    """A picture and its caption.

    Attributes:
        picture: Path of the picture.
        caption: Its caption, one line, not empty.
        width: Width in pixels, upright.
        height: Height in pixels, upright.
    """

    picture: Path
    caption: str
    width: int
    height: int


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


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What a folder holds: the items to train on, in order of name, and what was found on the way."""

    root: Path
    items: tuple[Item, ...]
    findings: tuple[Finding, ...]


def read_folder(root: Path, *, decode: bool = True, progress: Callable[[int, int], None] | None = None) -> Dataset:
    """Read a dataset folder. Every picture is decoded once, so that a damaged one is found before training.

    Args:
        root: The folder; its subfolders are not read. One that stands for a set is read as the set's folders.
        decode: Whether to decode the pictures; without, only their headers are read, which is quick.
        progress: Called with the number of pictures done and their total.

    Raises:
        DatasetError: The folder is not there, cannot be read, or has nothing to train on.
    """
    if is_set(root):
        return _read_set(root, decode=decode, progress=progress)
    files, findings = _files(root)
    pictures = [path for path in files if path.suffix.lower() in PICTURE_SUFFIXES]
    if not pictures:
        raise DatasetError(f"{root} has no pictures.", hint=_nothing_here_hint(root, files))
    captions = {path.stem: path for path in files if path.suffix.lower() == ".txt"}
    if not any(path.stem in captions for path in pictures):
        raise DatasetError(f"{root} has {_count(pictures, 'picture')} but no captions.", hint=_EXPECTED)
    findings += _notes(files, pictures)
    items: list[Item] = []
    for done, picture in enumerate(pictures, start=1):
        try:
            items.append(_item(picture, captions.get(picture.stem), findings, decode=decode))
        except DatasetError as error:
            findings.append(Finding(path=picture, sentence=error.sentence, hint=error.hint, left_out=True))
        if progress is not None:
            progress(done, len(pictures))
    if not items:
        raise DatasetError(
            f"{root} has nothing to train on: none of its {_count(pictures, 'picture')} can be used.",
            hint=" ".join(finding.sentence for finding in findings[:3]) + f" {_EXPECTED}",
        )
    return Dataset(root=root, items=tuple(items), findings=tuple(findings))


def _read_set(root: Path, *, decode: bool, progress: Callable[[int, int], None] | None) -> Dataset:
    """Read the folders of a set; the items of each come as many times as it counts."""
    folders = read_set(root).folders
    counts = [sum(path.suffix.lower() in PICTURE_SUFFIXES for path in folder_files(Path(f.path))[0]) for f in folders]
    items: list[Item] = []
    findings: list[Finding] = []
    for index, folder in enumerate(folders):
        before = sum(counts[:index])

        def tell(done: int, _total: int, *, before: int = before) -> None:
            if progress is not None:
                progress(before + done, sum(counts))

        dataset = read_folder(Path(folder.path), decode=decode, progress=tell)
        items += dataset.items * folder.repeats
        findings += dataset.findings
    return Dataset(root=root, items=tuple(items), findings=tuple(findings))


def _files(root: Path) -> tuple[list[Path], list[Finding]]:
    """Return the files of a folder in order of name, and what is wrong with the names of the others."""
    files, odd = folder_files(root)
    findings = [
        Finding(
            path=path,
            sentence=f"The name of {_readable(Path(path.name))} is not UTF-8 text.",
            hint="Rename the file.",
            left_out=True,
        )
        for path in odd
    ]
    return files, findings


def folder_files(root: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of a folder in order of name, and those apart whose name is not UTF-8 text.

    Files whose name begins with a dot belong to the system, like the `._x.png` that macOS leaves, and are passed over.

    Raises:
        DatasetError: The folder is not there or cannot be read.
    """
    if not _is_utf8(root):
        raise DatasetError(
            f"The path of the dataset folder {_readable(root)} is not UTF-8 text.", hint="Rename the folder."
        )
    try:
        found = sorted(path for path in root.iterdir() if path.is_file() and not path.name.startswith("."))
    except FileNotFoundError:
        raise DatasetError(
            f"The dataset folder {root} is not there.", hint="Check the path. Was it moved or renamed?"
        ) from None
    except NotADirectoryError:
        raise DatasetError(f"{root} is a file, not a folder.", hint="Name the folder that it lies in.") from None
    except OSError as error:
        raise DatasetError(f"The dataset folder {root} cannot be read: {error.strerror}.") from error
    return [path for path in found if _is_utf8(path)], [path for path in found if not _is_utf8(path)]


def _is_utf8(path: Path) -> bool:
    """Tell whether a path can be written to a file; Python stands odd bytes of a name in for by half characters."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _readable(path: Path) -> str:
    return str(path).encode(errors="backslashreplace").decode()


def _nothing_here_hint(root: Path, files: list[Path]) -> str:
    below = (path for path in sorted(root.iterdir()) if path.is_dir() and _is_utf8(path))
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


def _notes(files: list[Path], pictures: list[Path]) -> Iterator[Finding]:
    """Yield what the names of the files alone tell: unsupported types, captions of nothing, shared captions."""
    stems = Counter(path.stem for path in pictures)
    for path in files:
        if path.suffix.lower() in OTHER_MEDIA_SUFFIXES:
            yield Finding(
                path=path, sentence=f"{path.name} is not supported.", hint="Save it as PNG or JPEG.", left_out=True
            )
        elif path.suffix.lower() == ".txt" and path.stem not in stems:
            yield Finding(
                path=path,
                sentence=f"{path.name} belongs to no picture.",
                hint="Give it the name of its picture, capitals included.",
                left_out=False,
            )
    for stem, count in stems.items():
        if count > 1:
            same = [path for path in pictures if path.stem == stem]
            names = " and ".join(path.name for path in same)
            yield Finding(
                path=same[0],
                sentence=f"{names} share one caption.",
                hint="Rename one of them if that is not meant.",
                left_out=False,
            )


def _item(picture: Path, caption_file: Path | None, findings: list[Finding], *, decode: bool) -> Item:
    if caption_file is None:
        raise DatasetError(f"{picture.name} has no caption.", hint=f"Write one into {picture.stem}.txt beside it.")
    caption = read_caption(caption_file)
    if not caption.text:
        raise DatasetError(f"The caption of {picture.name} is empty.", hint=f"Write one into {caption_file.name}.")
    if caption.encoding != "utf-8":
        findings.append(
            Finding(
                path=caption_file,
                sentence=f"{caption_file.name} was read as {caption.encoding}.",
                hint="Save it as UTF-8 if letters look wrong.",
                left_out=False,
            )
        )
    width, height = load_rgb(picture).size if decode else upright_size_px(picture)
    findings += _about_size(picture, width, height)
    return Item(picture=picture, caption=caption.text, width=width, height=height)


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


def _count(things: list[Path], word: str) -> str:
    return f"{len(things)} {word}" if len(things) == 1 else f"{len(things)} {word}s"
