"""Putting together what is installed: the folder that the set-up program unpacks, and the portable zip is."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from installer import engine, inputs, launcher, notices, pruning, source
from installer.problems import BuildError
from installer.unpacking import read_member, unpack_python, unpack_runtime, unpack_wheel

SITE_PACKAGES = Path("python", "Lib", "site-packages")
FORBIDDEN = ("sitecustomize.py", "usercustomize.py", "icuuc.dll", "mscms.dll", "bcryptprimitives.dll", "__pycache__")
"""What is for tests under Wine, or depends on the machine of the build. None of it may be shipped."""


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """What a payload is made of."""

    version: str
    revision: str
    """The commit; empty for the files as they lie here."""
    date_s: int
    """Of every file, in seconds since 1970."""
    files: Mapping[str, Path]
    """Fetched inputs by package name."""
    source: Path
    """The product's own files."""
    icon: Path
    scratch: Path
    engine: Path | None
    """A snapshot of the engine to ship along, a zip."""


def assemble(given: Ingredients, *, target: Path) -> None:
    """Make the payload in a folder, which is emptied first.

    Raises:
        BuildError: An ingredient is not what it should be, or something is in it that may not be.
    """
    shutil.rmtree(target, ignore_errors=True)
    site_packages = target / SITE_PACKAGES
    unpack_python(given.files[inputs.PYTHON], target=target / "python", keeps=pruning.keeps_of_python)
    for name, wheel in sorted(given.files.items()):
        if name == inputs.RUNTIME:
            # Beside python.exe every process of it looks first. PyTorch needs one that Python does not bring.
            unpack_runtime(wheel, target=target / "python")
        elif name not in {inputs.PYTHON, inputs.UV}:
            unpack_wheel(wheel, target=site_packages, keeps=pruning.keeps_of_package)
    source.install(given.source, site_packages=site_packages)
    (target / "uv.exe").write_bytes(read_member(given.files[inputs.UV], ending="/scripts/uv.exe"))
    launcher.build(icon=given.icon, version=given.version, scratch=given.scratch / "launcher", target=target)
    shutil.copy(launcher.SOURCES / "diffusionforce.cmd", target)
    if given.engine is not None:
        (target / "engine").mkdir()
        engine.pack(
            given.engine,
            manifest=given.source / engine.MANIFEST,
            scratch=given.scratch / "engine",
            target=target / "engine" / "musubi-tuner.zip",
            date_s=given.date_s,
        )
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(given.source / name, target / f"{name}.txt")
    notices.write(site_packages=site_packages, target=target / "licences", version=given.version)
    (target / "build.json").write_text(_record(given), encoding="utf-8")
    refuse_forbidden(path.relative_to(target).as_posix() for path in target.rglob("*"))
    level(target, date_s=given.date_s)


def _record(given: Ingredients) -> str:
    """Return what this was built from, for whoever wants to build it again."""
    made_of = {
        name: {"file": path.name, "sha256": inputs.sha256_of(path)} for name, path in sorted(given.files.items())
    }
    record = {"version": given.version, "commit": given.revision, "date_s": given.date_s, "inputs": made_of}
    return json.dumps(record, indent=1) + "\n"


def refuse_forbidden(names: Iterable[str]) -> None:
    """Stop when something for tests only is in the payload.

    Args:
        names: Paths inside the payload, with slashes.

    Raises:
        BuildError: There is.
    """
    found = [name for name in names if name.rpartition("/")[2].lower() in FORBIDDEN]
    if found:
        raise BuildError(f"These may not be shipped: {', '.join(sorted(found))}")


def level(folder: Path, *, date_s: int) -> None:
    """Give all files one date and plain rights, so that two builds do not differ in them."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in sorted(folder.rglob("*"), reverse=True):
        os.utime(path, (date_s, date_s))
    os.utime(folder, (date_s, date_s))
