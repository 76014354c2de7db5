"""The product's own files for a build: those of one commit, so that a folder somebody works in cannot leak into it."""

import io
import os
import shutil
import subprocess
from pathlib import Path

from installer.places import ROOT
from installer.problems import BuildError
from installer.unpacking import unpack_zip

SHIPPED = ("profiles", "demo_datasets", "vendor", "locks")
"""Folders at the top of the repository that the program reads; `setup.py` puts the same into a wheel."""
TAKEN = ("src/diffusionforce", *SHIPPED, "LICENSE", "NOTICE", "README.md", "CHANGELOG.md")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", ".gitignore", "CACHEDIR.TAG", ".*_cache")
WITHOUT_HISTORY_S = 1767225600
"""The date of files where there is no commit to take it from: 1 January 2026, in seconds since 1970."""


def commit() -> str:
    """Return the present commit, or an empty text where this is no git repository."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def date_s(revision: str) -> int:
    """Return the date that all built files get, in seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given:
        return int(given)
    if not revision:
        return WITHOUT_HISTORY_S
    command = ["git", "log", "-1", "--format=%ct", revision]
    return int(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def take(revision: str, *, target: Path) -> None:
    """Put the product's files into a folder.

    Args:
        revision: The commit; empty takes the files as they lie here, changed ones too.
        target: A folder, which is emptied first.

    Raises:
        BuildError: The commit does not have them.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if not revision:
        for name in TAKEN:
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=LEFT_OUT)
            else:
                shutil.copy(ROOT / name, place)
        return
    done = subprocess.run(
        ["git", "archive", "--format=zip", revision, *TAKEN], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise BuildError(f"The commit {revision[:12]} cannot be taken: {done.stderr.decode(errors='replace').strip()}")
    unpack_zip(io.BytesIO(done.stdout), target=target)


def install(source: Path, *, site_packages: Path) -> None:
    """Put the product into `site-packages` as a wheel would.

    Args:
        source: What `take` made.
        site_packages: The folder of Python's packages.
    """
    package = site_packages / "diffusionforce"
    shutil.copytree(source / "src" / "diffusionforce", package, ignore=LEFT_OUT)
    for name in SHIPPED:
        shutil.copytree(source / name, package / "shipped" / name, ignore=LEFT_OUT)
