"""Making the set-up program from a payload, with NSIS.

What is unpacked is written out file by file, in alphabetical order: left to find the files itself, NSIS takes them as
the file system lists them, which differs between machines, and so would the result. What is deleted is named too, so
that a file that the user put into the program's folder stays.
"""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from installer.launcher import filled
from installer.places import INSTALLER
from installer.problems import BuildError

SCRIPTS = INSTALLER / "nsis"
OWNED_FOLDERS = ("engine", "licences", "python", "wheels")
"""Folders that the program alone writes to; they are deleted with whatever is in them."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a set-up program is made of."""

    payload: Path
    art: Path
    version: str
    date_s: int
    """Seconds since 1970, for time stamps."""
    compression: str
    """`lzma` is small and slow, `zlib` is for trying."""
    scratch: Path
    sign: str = ""
    """A command that signs the file in place of `%1`; empty for none."""
    size_kb: int | None = None
    """Space that it asks for, in units of 1024 bytes; None takes what the payload needs."""


def build(given: Setup, *, target: Path) -> Path:
    """Make the set-up program.

    Raises:
        BuildError: NSIS refuses.
    """
    files = sorted(path.relative_to(given.payload).as_posix() for path in given.payload.rglob("*") if path.is_file())
    given.scratch.mkdir(parents=True, exist_ok=True)
    (given.scratch / "unpack.nsh").write_text(unpack_lines(files, payload=given.payload), encoding="utf-8")
    (given.scratch / "delete.nsh").write_text(delete_lines(files), encoding="utf-8")
    names = {
        "VERSION": given.version,
        "FOUR": filled("@FOUR@", version=given.version),
        "FILES": str(given.scratch),
        "ART": str(given.art),
        "OUT": str(target),
        "COMPRESSION": given.compression,
        "SIZE_KB": str(given.size_kb or size_kb(given.payload)),
    }
    names |= {"SIGN": given.sign} if given.sign else {}
    command = [
        "makensis",
        "-V2",
        "-NOCD",
        "-WX",
        "-INPUTCHARSET",
        "UTF8",
        *(f"-D{name}={value}" for name, value in names.items()),
    ]
    done = subprocess.run(
        [*command, "installer.nsi"],
        cwd=SCRIPTS,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(given.date_s), "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"NSIS made no set-up program:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return target


def unpack_lines(files: Iterable[str], *, payload: Path) -> str:
    """Return the part of the script that unpacks.

    Args:
        files: Paths inside the payload, with slashes, sorted.
        payload: The folder.
    """
    lines: list[str] = []
    for folder, names in _by_folder(files).items():
        lines.append(f'SetOutPath "{_windows(folder)}"')
        lines += [f'File "{_quoted(payload.joinpath(folder, name).as_posix())}"' for name in names]
    return "".join(f"{line}\n" for line in lines)


def delete_lines(files: Iterable[str]) -> str:
    """Return the part of the script that deletes: folders that are the program's own, and single files beside them."""
    tops = {name.partition("/")[0] for name in files if "/" in name}
    strange = tops - set(OWNED_FOLDERS)
    if strange:
        raise BuildError(f"The payload has folders that the uninstaller does not know: {', '.join(sorted(strange))}")
    lines = [f'RMDir /r "{_windows(top)}"' for top in OWNED_FOLDERS]
    lines += [f'Delete "{_windows(name)}"' for name in sorted(files) if "/" not in name]
    return "".join(f"{line}\n" for line in lines)


def size_kb(payload: Path) -> int:
    """Return the space that a payload takes when it is unpacked, in units of 1024 bytes, in clusters of 4096 bytes."""
    sizes = (path.stat().st_size for path in payload.rglob("*") if path.is_file())
    return sum(-(-size // 4096) * 4 for size in sizes)


def _by_folder(files: Iterable[str]) -> dict[str, list[str]]:
    folders: dict[str, list[str]] = {}
    for name in sorted(files):
        path = PurePosixPath(name)
        folder = "" if str(path.parent) == "." else str(path.parent)
        folders.setdefault(folder, []).append(path.name)
    return dict(sorted(folders.items()))


def _windows(name: str) -> str:
    r"""Return a path inside the program's folder as NSIS writes it, `$INSTDIR\...`."""
    return "\\".join(["$INSTDIR", *(_quoted(part) for part in name.split("/") if part)])


def _quoted(text: str) -> str:
    """Return a text for NSIS, where a dollar begins a variable."""
    return text.replace("$", "$$").replace('"', '$\\"')
