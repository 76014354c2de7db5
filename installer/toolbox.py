"""The tools of a build: programs from Debian, and a Python environment of its own with pinned packages.

Standard library only, because this runs before anything is installed.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from installer.places import OWN_LOCKS, ROOT, TOOLS
from installer.problems import BuildError

PROGRAMS = {
    "makensis": "nsis",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "x86_64-w64-mingw32-windres": "gcc-mingw-w64-x86-64",
    "x86_64-w64-mingw32-objdump": "gcc-mingw-w64-x86-64",
    "7z": "p7zip-full",
    "git": "git",
}
"""Program to the Debian package that has it."""
LOCK = OWN_LOCKS / "tools.txt"
STAMP = "installer-tools.sha256"
# oscrypto 1.3.0 takes the version of OpenSSL for one digit a part and refuses 3.0.10 and later.
NARROW, WIDE = r"\\d\\.\\d\\.\\d[a-z]*", r"\\d+\\.\\d+\\.\\d+[a-z]*"


def hand_over(module: str, arguments: Sequence[str], *, programs: dict[str, str] = PROGRAMS) -> int:
    """Run a module of the installer under the build's environment and return its exit code.

    Args:
        module: Its name.
        arguments: For its command line.
        programs: What it calls: program to Debian package.
    """
    try:
        check_programs(programs)
        interpreter = python()
    except BuildError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.call([interpreter, "-P", "-m", module, *arguments], env=environment)


def check_programs(names: dict[str, str] = PROGRAMS) -> None:
    """Stop with the command that installs what is missing.

    Args:
        names: Program to Debian package.

    Raises:
        BuildError: A program is missing.
    """
    missing = sorted({package for program, package in names.items() if shutil.which(program) is None})
    if missing:
        raise BuildError(
            f"Programs are missing. Install them with: apt-get install --no-install-recommends {' '.join(missing)}"
        )


def python() -> Path:
    """Return the interpreter of the build's environment, which is made when it is not there as pinned.

    Raises:
        BuildError: It could not be made.
    """
    interpreter = TOOLS / "bin" / "python"
    wanted = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    stamp = TOOLS / STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted and interpreter.exists():
        return interpreter
    if importlib.util.find_spec("ensurepip") is None:
        raise BuildError("This Python makes no environments. Install what it lacks with: apt-get install python3-venv")
    shutil.rmtree(TOOLS, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(TOOLS)], "The build's Python environment could not be made")
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--require-hashes", "--only-binary", ":all:", "--requirement", str(LOCK)]
    _run(pip, "The build's tools could not be installed")
    for file in TOOLS.glob("lib/python3*/site-packages/oscrypto/_openssl/_libcrypto_c*.py"):
        widen(file)
    stamp.write_text(wanted, encoding="utf-8")
    return interpreter


def widen(file: Path) -> None:
    """Let a module of oscrypto understand versions like 3.0.20.

    Raises:
        BuildError: The module is not the one that this is meant for.
    """
    text = file.read_text(encoding="utf-8")
    if NARROW not in text:
        raise BuildError(f"{file.name} of oscrypto does not look for OpenSSL's version as expected; see toolbox.py.")
    file.write_text(text.replace(NARROW, WIDE), encoding="utf-8")


def _run(command: list[str], problem: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if re.search("error", line, re.I)] or [done.stderr.strip()]
        raise BuildError(f"{problem}: {lines[-1]}")
