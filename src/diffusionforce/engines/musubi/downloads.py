"""Downloads of models: what has to be fetched, whether it fits on the disk, and that it arrived whole.

A model is tens of gigabytes in several repositories, some of which give nothing before their terms are accepted. So
everything that can be refused is refused before the first byte: access, names, disk. A download that breaks off goes on
where it was when it is started again.
"""

import difflib
import fnmatch
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from diffusionforce.engines.musubi.families import Family, WeightFile
from diffusionforce.engines.musubi.headers import GIB
from diffusionforce.engines.musubi.weights import download_path
from diffusionforce.engines.musubi.weights_check import check_file
from diffusionforce.engines.musubi.weights_settings import models_dir
from diffusionforce.errors import DiskError, WeightsError
from diffusionforce.runs import storage_error

MARGIN_BYTES = GIB
"""Left free on the disk beside a download."""
_OTHER_FORMATS = ("*.bin", "*.h5", "*.msgpack", "*.onnx", "*.ot", "*.pt", "*.pth", "*.ckpt", "*.md", ".git*", "*.png")
"""In a folder of a model: the same weights for other libraries, and what is for people."""


class Hub(Protocol):
    """A place that has models; in tests a folder."""

    def listing(self, repository: str) -> Mapping[str, int]:
        """Return the files of a repository with their sizes in bytes.

        Raises:
            WeightsError: It cannot be reached, or gives no access; the sentence says what to do.
        """
        ...

    def fetch(self, repository: str, path: str, *, folder: Path, report: Callable[[int], None]) -> None:
        """Bring a file into a folder, under its path, going on where an earlier download broke off.

        Args:
            repository: Owner and name.
            path: The file's path in it.
            folder: Where to.
            report: Told how many bytes are there.

        Raises:
            WeightsError: It cannot be reached, or gives no access.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Part:
    """One file to be fetched.

    Attributes:
        file: What of the model it is, or is part of.
        path: Its path in the repository.
        size_bytes: How large it is.
    """

    file: WeightFile
    path: str
    size_bytes: int

    @property
    def folder(self) -> Path:
        """Where the repository's files go."""
        return models_dir() / self.file.repository.replace("/", "--")

    @property
    def is_here(self) -> bool:
        """Whether a file of that name and size is there."""
        target = self.folder / self.path
        return target.is_file() and target.stat().st_size == self.size_bytes


Report: TypeAlias = Callable[[Part, int, int, int], None]
"""Takes the part, its number counted from 1, how many there are, and how many of its bytes are here."""


def plan_download(files: Iterable[WeightFile], hub: Hub) -> tuple[Part, ...]:
    """Return everything that has to be fetched for some files.

    Raises:
        WeightsError: A repository cannot be reached, gives no access, or has not the file.
    """
    parts: list[Part] = []
    for file in files:
        listing = hub.listing(file.repository)
        parts += (Part(file=file, path=path, size_bytes=listing[path]) for path in _paths(file, listing))
    return tuple(parts)


def download(family: Family, files: Sequence[WeightFile], hub: Hub, *, report: Report) -> dict[str, Path]:
    """Bring files of a model here.

    Args:
        family: The model.
        files: Those of its files that are wanted.
        hub: Where from.
        report: Told how far it is.

    Returns:
        Where each file is, by role; of a split set the first, of a folder the folder.

    Raises:
        WeightsError: Something cannot be had, or did not arrive whole.
        UserError: The disk has no room or refuses.
    """
    parts = plan_download(files, hub)
    require_room(parts)
    try:
        for number, part in enumerate(parts, start=1):
            _fetch(part, hub, number=number, num_parts=len(parts), report=report)
    except OSError as error:
        raise storage_error(error, models_dir()) from error
    return {file.role: _arrived(file, parts, family) for file in files}


def require_room(parts: Iterable[Part]) -> None:
    """Refuse a download that the disk cannot take.

    Raises:
        DiskError: It has not the room; the sentence gives both numbers.
    """
    folder = models_dir()
    needed_bytes = sum(part.size_bytes for part in parts if not part.is_here)
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free_bytes = shutil.disk_usage(place).free
    if needed_bytes and needed_bytes + MARGIN_BYTES > free_bytes:
        raise DiskError(
            f"The download takes {needed_bytes / GIB:.1f} GB, and the disk with {folder} has {free_bytes / GIB:.1f} GB "
            f"free, of which {MARGIN_BYTES / GIB:.0f} GB is left alone.",
            hint="Free some space, or set DIFFUSIONFORCE_HOME to a folder on another disk.",
        )


def _paths(file: WeightFile, listing: Mapping[str, int]) -> list[str]:
    """Return the paths in a repository that a file consists of."""
    if file.is_folder:
        return _folder_paths(listing)
    paths = sorted(fnmatch.filter(listing, file.path)) if file.is_split else [file.path] * (file.path in listing)
    moved = [path for path in listing if path.rpartition("/")[2] == file.name]
    if paths or (len(moved) == 1 and not file.is_split):
        return paths or moved
    close = difflib.get_close_matches(file.path, listing, n=3, cutoff=0.4)
    raise WeightsError(
        f"{file.repository} has no {file.path}.",
        hint=(f"It has: {', '.join(close)}. " if close else "")
        + f"Download the {file.title} from {file.page} and choose it: diffusionforce models use PROFILE {file.role} "
        "FILE",
    )


def _folder_paths(listing: Mapping[str, int]) -> list[str]:
    top = [path for path in listing if "/" not in path]
    has_safetensors = any(path.endswith(".safetensors") for path in top)
    banned = _OTHER_FORMATS if has_safetensors else _OTHER_FORMATS[1:]
    return sorted(path for path in top if not any(fnmatch.fnmatch(path, pattern) for pattern in banned))


def _fetch(part: Part, hub: Hub, *, number: int, num_parts: int, report: Report) -> None:
    if not part.is_here:
        part.folder.mkdir(parents=True, exist_ok=True)
        report(part, number, num_parts, 0)
        hub.fetch(
            part.file.repository,
            part.path,
            folder=part.folder,
            report=lambda done: report(part, number, num_parts, min(done, part.size_bytes)),
        )
    if not part.is_here:
        raise WeightsError(
            f"{part.path} from {part.file.repository} did not arrive whole.", hint="Start the download again."
        )
    report(part, number, num_parts, part.size_bytes)


def _arrived(file: WeightFile, parts: Iterable[Part], family: Family) -> Path:
    first = min(part.path for part in parts if part.file is file)
    path = download_path(file) if file.is_folder else models_dir() / file.repository.replace("/", "--") / first
    check_file(file, path, family=family)
    return path
