"""Looking whether every library that a shipped binary needs is shipped too, or is part of Windows.

What is left out of Qt and Python is left out by name. A name too many would show on somebody's computer as "the
specified module could not be found"; here it shows in the build.
"""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from installer.launcher import TOOLCHAIN
from installer.places import INSTALLER
from installer.problems import BuildError
from installer.signatures import BINARIES

SYSTEM = frozenset((INSTALLER / "windows_libraries.txt").read_text(encoding="utf-8").split())
"""Libraries of Windows 10 itself, without `.dll`. `api-ms-win-*` and `ext-ms-win-*` come on top."""


def check(payload: Path) -> int:
    """Return how many binaries were looked at.

    Raises:
        BuildError: A library is needed and missing.
    """
    files = sorted(path for path in payload.rglob("*") if path.suffix.lower() in BINARIES)
    present = {path.name.lower() for path in files}
    missing = missing_libraries(
        {path.relative_to(payload).as_posix(): imports(path) for path in files}, present=present
    )
    if missing:
        lines = (f"{library}, needed by {', '.join(sorted(users)[:3])}" for library, users in sorted(missing.items()))
        raise BuildError("Libraries are needed and not there:\n  " + "\n  ".join(lines))
    return len(files)


def imports(binary: Path) -> frozenset[str]:
    """Return the libraries that a binary is linked to, in lower case. Those loaded on demand only do not count."""
    command = [f"{TOOLCHAIN}objdump", "--private-headers", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise BuildError(f"{binary.name} is no binary for Windows that can be read: {done.stderr.strip()}")
    return frozenset(name.lower() for name in re.findall(r"^\s*DLL Name: (\S+)", done.stdout, re.M))


def missing_libraries(needed: Mapping[str, Iterable[str]], *, present: Iterable[str]) -> dict[str, set[str]]:
    """Return what is missing, with who needs it.

    Args:
        needed: Binary to the libraries that it is linked to.
        present: Names of the binaries that are shipped, in lower case.
    """
    there = set(present)
    missing: dict[str, set[str]] = {}
    for user, libraries in needed.items():
        for library in libraries:
            if library not in there and not _is_system(library):
                missing.setdefault(library, set()).add(user)
    return missing


def _is_system(library: str) -> bool:
    stem = library.removesuffix(".dll").removesuffix(".drv")
    return stem in SYSTEM or stem.startswith(("api-ms-win-", "ext-ms-win-"))
