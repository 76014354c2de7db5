"""Building DiffusionForce.exe, the small program that starts Python without a console."""

import re
import shutil
import subprocess
from pathlib import Path

from installer.places import INSTALLER
from installer.problems import BuildError

SOURCES = INSTALLER / "launcher_source"
NAME = "DiffusionForce.exe"
TOOLCHAIN = "x86_64-w64-mingw32-"
# Without a time stamp, and with the protections that Windows offers a program.
FLAGS = ("-Os", "-s", "-municode", "-mwindows", "-Wall", "-Wextra", "-Werror")
LINKER = ("-Wl,--no-insert-timestamp", "-Wl,--dynamicbase,--nxcompat,--high-entropy-va")


def build(*, icon: Path, version: str, scratch: Path, target: Path) -> Path:
    """Compile the program and return it.

    Args:
        icon: An `.ico` file.
        version: For example `0.1.0`.
        scratch: A folder for what is in between.
        target: The folder that the program comes into.

    Raises:
        BuildError: The compiler refuses it.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for source in SOURCES.iterdir():
        text = filled(source.read_text(encoding="utf-8"), version=version)
        (scratch / source.name).write_text(text, encoding="utf-8")
    shutil.copy(icon, scratch / "app.ico")
    _run([f"{TOOLCHAIN}windres", "app.rc", "-O", "coff", "app.res"], folder=scratch)
    _run([f"{TOOLCHAIN}gcc", *FLAGS, *LINKER, "-o", NAME, "launcher.c", "app.res", "-luser32"], folder=scratch)
    return Path(shutil.copy(scratch / NAME, target / NAME))


def filled(text: str, *, version: str) -> str:
    """Return a source with the version put in.

    Args:
        text: With `@VERSION@`, `@FOUR@` (0.1.0.0) and `@COMMAS@` (0,1,0,0).
        version: For example `0.1.0`, or `0.2.0rc1`, whose ending Windows has no place for.

    Raises:
        BuildError: The version does not begin with two numbers.
    """
    numbers = re.match(r"\d+(\.\d+){1,2}", version)
    if numbers is None:
        raise BuildError(f"Windows cannot show the version {version!r}.")
    four = [*numbers[0].split("."), "0", "0"][:4]
    values = {"@VERSION@": version, "@FOUR@": ".".join(four), "@COMMAS@": ",".join(four)}
    for word, value in values.items():
        text = text.replace(word, value)
    return text


def _run(command: list[str], *, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"The launcher could not be built: {done.stderr.strip()}")
