"""Everything for a computer without a network: `python installer/build.py offline`.

The set-up program together with the wheels that the training environment is made of. PyTorch with CUDA is not where pip
looks by itself: name the index that carries it, `--torch-index ADDRESS`, as PyTorch's own pages do for a CUDA level.
Without that the wheels are those for the processor, which is enough to try everything.
"""

import argparse
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from installer import inputs
from installer.archives import write_sums
from installer.places import DIST, LOCKS, WORK, version
from installer.problems import BuildError

BUILT = ("torch", "torchvision")
WINDOW_ONLY = frozenset({"pyside6-essentials", "shiboken6", "uv"})
"""What the environment does without; `environment/locked.py` leaves out the same."""
PART_BYTES = 1_900_000_000
"""Places where releases are put take files of up to 2 GiB."""
README = """DiffusionForce {version} for a Windows computer without a network

1. Unpack everything into one folder, all parts if there are several.
2. Run DiffusionForce-{version}-setup.exe. It takes the folder "wheels" beside it along.
3. In DiffusionForce, build the training environment: nothing is downloaded.
"""


def main(arguments: Sequence[str]) -> int:
    """Fetch the wheels, pack them with the set-up program, and return the exit code."""
    parser = argparse.ArgumentParser(prog="installer/build.py offline", description="Pack what needs no network.")
    parser.add_argument("--torch-index", default="", metavar="ADDRESS", help="where PyTorch for the cards is")
    parser.add_argument("--wheels-only", action="store_true", help="fetch the wheels and pack nothing")
    parser.add_argument("--out", type=Path, default=DIST, metavar="DIR", help="the folder of the set-up program (dist)")
    options = parser.parse_args(list(arguments))
    try:
        folder = WORK / "wheels" / (re.sub(r"\W+", "-", options.torch_index).strip("-") or "cpu")
        wheels = fetch(folder, torch_index=options.torch_index)
        sys.stdout.write(f"{len(wheels)} wheels in {folder}, {sum(path.stat().st_size for path in wheels):,} bytes\n")
        if not options.wheels_only:
            parts = pack(wheels, setup=options.out / f"DiffusionForce-{version()}-setup.exe", out=options.out)
            write_sums(parts, target=options.out / "SHA256SUMS-offline")
    except BuildError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


def fetch(folder: Path, *, torch_index: str) -> list[Path]:
    """Bring the wheels of the training environment into a folder and return them.

    Args:
        folder: Where they come to, and what was fetched before is.
        torch_index: Address of the index with PyTorch; empty for that which pip uses anyway.

    Raises:
        BuildError: They cannot be fetched.
    """
    texts = [(LOCKS / name).read_text(encoding="utf-8") for name in ("runtime.txt", "musubi.txt")]
    wanted = {name: pin for text in texts for name, pin in inputs.pins(text).items() if name not in WINDOW_ONLY}
    files = list(inputs.fetched(wanted.values(), folder=folder / "locked").values())
    for name in BUILT:
        requirement = (LOCKS / f"{name}.txt").read_text(encoding="utf-8").splitlines()[-1]
        files.append(_built_wheel(requirement, folder=folder / "built", index=torch_index))
    return files


def _built_wheel(requirement: str, *, folder: Path, index: str) -> Path:
    """Fetch a wheel that no hash is known of, because it depends on the cards that it is for."""
    name, _, number = requirement.partition("==")
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob(f"{name}-{number}*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--dest", str(folder), *inputs.WHEELS, *(["--index-url", index] if index else []), requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"{requirement} could not be fetched: {done.stderr.strip()[-500:]}")
    return next(folder.glob(f"{name}-{number}*.whl"))


def pack(wheels: Sequence[Path], *, setup: Path, out: Path) -> list[Path]:
    """Pack the set-up program and the wheels, in as many parts as it takes, and return them.

    Raises:
        BuildError: The set-up program was not built yet, or a wheel fits no part.
    """
    if not setup.is_file():
        raise BuildError(f"{setup} is not there. Build it first: python3 installer/build.py")
    text = README.format(version=version())
    parts: list[Path] = []
    for number, files in enumerate(split(wheels, first_bytes=setup.stat().st_size), start=1):
        ending = "" if number == 1 else f"-part{number}"
        part = out / f"DiffusionForce-{version()}-win64-offline{ending}.zip"
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            if number == 1:
                archive.write(setup, setup.name)
                archive.writestr("README.txt", text.replace("\n", "\r\n"))
            for path in files:
                archive.write(path, f"wheels/{path.name}")
        parts.append(part)
    return parts


def split(files: Sequence[Path], *, first_bytes: int, part_bytes: int = PART_BYTES) -> list[list[Path]]:
    """Return files in groups that fit a part each.

    Args:
        files: What to distribute.
        first_bytes: What the first part holds beside them.
        part_bytes: What a part may hold.

    Raises:
        BuildError: One file is larger than a part.
    """
    groups: list[list[Path]] = [[]]
    used_bytes = first_bytes
    for path in sorted(files, key=lambda path: path.name):
        size = path.stat().st_size
        if size > part_bytes:
            raise BuildError(f"{path.name} has {size:,} bytes, more than one part of {part_bytes:,} may hold.")
        if used_bytes + size > part_bytes:
            groups.append([])
            used_bytes = 0
        groups[-1].append(path)
        used_bytes += size
    return groups
