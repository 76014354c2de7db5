"""Where the engine's files can come from: upstream's zip, a zip on disk, a folder, a git directory.

A source hands out the bytes of one named file at a time. Nothing is ever unpacked by the names that an archive holds:
we ask for the names in the manifest, so one that leads out of the folder is never used, and no link is followed.
"""

import io
import lzma
import stat
import struct
import subprocess
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.error import URLError

from diffusionforce.desktop import children
from diffusionforce.engines.musubi.pin import Pin
from diffusionforce.errors import EngineError

ByteReport = Callable[[int, int], None]
"""Takes the bytes done and the bytes in all, 0 if that is not known."""

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""What Python's reader raises for zips that are damaged, or made to break it."""
_LANDMARK = "src/musubi_tuner/__init__.py"
_LARGEST_ZIP_BYTES = 256 << 20
_PIECE_BYTES = 1 << 18
_TIMEOUT_S = 30.0


class SourceError(EngineError):
    """The place that the engine is to come from is not what it should be."""


class Source(Protocol):
    """Files by name, relative to the engine's folder, with slashes."""

    def names(self) -> Iterable[str]:
        """Every file that is there."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes; None if it is not there.

        Raises:
            SourceError: It is a link.
        """
        ...


class ZipSource:
    """A zip, with the engine at its top or in one folder of it.

    Args:
        file: The zip, open or as a path.
        title: What to call it in a sentence.
    """

    def __init__(self, file: io.BytesIO | Path, *, title: str) -> None:
        self._title = title
        try:
            self._zip = zipfile.ZipFile(file)
        except PermissionError:
            raise
        except _DAMAGED as error:
            raise SourceError(
                f"{title} is not a whole zip file.", hint="Download it again.", detail=str(error)
            ) from error
        self._prefix = _prefix(self._zip.namelist(), title=title)

    def names(self) -> Iterable[str]:
        """Every file that is there."""
        inside = [name for name in self._zip.namelist() if name.startswith(self._prefix) and not name.endswith("/")]
        return [name.removeprefix(self._prefix) for name in inside]

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes."""
        try:
            entry = self._zip.getinfo(self._prefix + name)
        except KeyError:
            return None
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _link(name, self._title)
        if entry.file_size > _LARGEST_ZIP_BYTES:
            raise SourceError(f"{self._title} is not the engine: {name} in it is far too large.")
        try:
            return self._zip.read(entry)
        except _DAMAGED as error:
            raise SourceError(
                f"{self._title} is damaged at {name}.", hint="Download it again.", detail=repr(error)
            ) from error


class FolderSource:
    """An unpacked copy: the folder itself, or the one folder inside it that holds the engine."""

    def __init__(self, folder: Path) -> None:
        inside = [folder, *(path for path in sorted(folder.iterdir()) if path.is_dir())]
        root = next((path for path in inside if (path / _LANDMARK).is_file()), None)
        if root is None:
            raise _not_the_engine(str(folder))
        self._root = root

    def names(self) -> Iterable[str]:
        """Every file of the engine's package; what else lies in the folder is nobody's business."""
        files = (path for path in (self._root / "src" / "musubi_tuner").rglob("*") if path.is_file())
        return [path.relative_to(self._root).as_posix() for path in files if path.parent.name != "__pycache__"]

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes."""
        path = self._root
        for part in PurePosixPath(name).parts:
            path /= part
            if path.is_symlink():
                raise _link(name, str(self._root))
        try:
            return path.read_bytes() if path.is_file() else None
        except OSError as error:
            raise _unreadable(path, error) from error


class GitSource:
    """The pinned commit in a git directory, bare or with a work tree, which may be on another commit.

    The bytes are taken from git's own store, because a work tree may have other line ends.

    Args:
        git_dir: The folder.
        commit: The commit, 40 hexadecimal digits.
    """

    def __init__(self, git_dir: Path, *, commit: str) -> None:
        self._git = ["git", "-c", f"safe.directory={git_dir.resolve()}", "-C", str(git_dir)]
        try:
            listing = self._run(["ls-tree", "-r", "-z", commit])
        except FileNotFoundError as error:
            raise SourceError(
                f"{git_dir} is a git directory, and the program git is not installed.",
                hint="Install git, or give a zip or an unpacked folder with --from.",
            ) from error
        except subprocess.CalledProcessError as error:
            raise SourceError(
                f"{git_dir} does not have the commit {commit}.",
                hint="Run git fetch there, or install without --from to download it.",
                detail=error.stderr.decode("utf-8", "replace"),
            ) from error
        self._objects: dict[str, str] = {}
        self._links: set[str] = set()
        for entry in listing.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            (mode, kind, object_id), name = entry.partition("\t")[0].split(), entry.partition("\t")[2]
            if kind == "blob":
                self._objects[name] = object_id
            if mode == "120000":
                self._links.add(name)
        self._contents: dict[str, bytes] = {}
        self._title = str(git_dir)

    def names(self) -> Iterable[str]:
        """Every file of the commit."""
        return self._objects

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes."""
        if name in self._links:
            raise _link(name, self._title)
        if name not in self._objects:
            return None
        if not self._contents:
            self._contents = self._read_all()
        return self._contents[name]

    def _read_all(self) -> dict[str, bytes]:
        """Return all files at once: a git process a file would take half a minute on Windows."""
        wanted = "".join(f"{object_id}\n" for object_id in self._objects.values())
        try:
            output = io.BytesIO(self._run(["cat-file", "--batch"], given=wanted.encode()))
        except subprocess.CalledProcessError as error:
            raise SourceError(
                f"{self._title} lacks files of the commit.",
                hint="It may be a partial clone: install without --from to download the engine.",
                detail=error.stderr.decode("utf-8", "replace"),
            ) from error
        contents: dict[str, bytes] = {}
        for name in self._objects:
            header = output.readline().split()
            if len(header) != 3:
                raise SourceError(f"{self._title} lacks the file {name} of the commit.", hint="Run git fetch there.")
            contents[name] = output.read(int(header[2]))
            output.read(1)
        return contents

    def _run(self, arguments: list[str], *, given: bytes = b"") -> bytes:
        ended = children.run([*self._git, *arguments], given=given)
        ended.check_returncode()
        return ended.stdout


def open_source(place: Path, pin: Pin) -> Source:
    """Return the source in a place on disk.

    Args:
        place: A zip, a folder or a git directory.
        pin: The pinned engine.

    Raises:
        SourceError: There is no engine there, or it cannot be read.
    """
    try:
        if not place.exists():
            raise SourceError(f"{place} does not exist.", hint="Give a zip, a folder or a git directory with --from.")
        if place.is_file():
            return ZipSource(place, title=str(place))
        is_bare = (place / "HEAD").is_file() and (place / "objects").is_dir()
        if is_bare or (place / ".git").exists():
            return GitSource(place, commit=pin.commit)
        return FolderSource(place)
    except OSError as error:
        raise _unreadable(place, error) from error


def download(pin: Pin, *, report: ByteReport) -> Source:
    """Fetch the pinned commit as upstream's zip.

    Args:
        pin: The pinned engine.
        report: Told how far it is.

    Raises:
        SourceError: It cannot be reached, or what came is no zip of it.
    """
    address = f"https://github.com/{pin.upstream}/archive/{pin.commit}.zip"
    content = io.BytesIO()
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
            total_bytes = int(answer.headers.get("Content-Length") or 0)
            while (piece := answer.read(_PIECE_BYTES)) and content.tell() <= _LARGEST_ZIP_BYTES:
                content.write(piece)
                report(content.tell(), total_bytes)
    except (URLError, OSError, ValueError) as error:
        raise SourceError(
            f"Musubi Tuner cannot be downloaded from {address}.",
            hint="Connect this machine to the internet and try again; or download that file elsewhere and run: "
            "diffusionforce engine install --from FILE",
            detail=repr(error),
        ) from error
    content.seek(0)
    return ZipSource(content, title=f"What came from {address}")


def _prefix(names: Iterable[str], *, title: str) -> str:
    """Return the folder of the zip that holds the engine, with a slash, or an empty text for its top."""
    prefixes = [name.removesuffix(_LANDMARK) for name in names if name.endswith(_LANDMARK)]
    whole = [prefix for prefix in prefixes if not prefix or prefix.endswith("/")]
    if not whole:
        raise _not_the_engine(title)
    return min(whole, key=len)


def _not_the_engine(title: str) -> SourceError:
    return SourceError(
        f"{title} does not hold Musubi Tuner: there is no {_LANDMARK} in it.",
        hint="Install without --from to download it.",
    )


def _unreadable(place: Path, error: OSError) -> SourceError:
    return SourceError(
        f"{error.filename or place} cannot be read: {error.strerror or error}.",
        hint="Check its rights, or give another place with --from.",
        detail=repr(error),
    )


def _link(name: str, title: str) -> SourceError:
    return SourceError(
        f"{name} in {title} is a link, which the engine has none of.", hint="Install without --from to download it."
    )
