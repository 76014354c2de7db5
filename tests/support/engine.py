"""Tests that need the real engine, and a small stand-in for those that do not.

The real one is looked for where the product looks: in the user's data folder, after `diffusionforce engine install`, or
where `DIFFUSIONFORCE_ENGINE` points.
"""

import hashlib
from pathlib import Path

import pytest

from diffusionforce.engines.musubi import Manifest, ManifestFile, Pin, engine_dir, read_pin, verify

_FOLDER = engine_dir(read_pin())
if _FOLDER.is_dir():
    verify(folder=_FOLDER)  # A damaged one is no reason to skip.

needs_engine = pytest.mark.skipif(
    not _FOLDER.is_dir(),
    reason=f"Musubi Tuner is not in {_FOLDER}: run diffusionforce engine install, or set DIFFUSIONFORCE_ENGINE",
)

FILES = {
    "README.md": b"# An engine\n\nof three files\n",
    "src/musubi_tuner/__init__.py": b"",
    "src/musubi_tuner/wan/model.py": b"class WanModel:\n    pass\n",
}


def small_pin(commit: str = "0" * 40) -> Pin:
    """Return the pin of an engine of three files."""
    return Pin(upstream="someone/engine", version="0.3.4", commit=commit, licence="Apache-2.0", terms=())


def small_manifest() -> Manifest:
    """Return the manifest of an engine of three files."""
    files = {
        name: ManifestFile(name=name, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        for name, content in FILES.items()
    }
    return Manifest(files=files, digest="small")


def lay_out(folder: Path, changes: dict[str, bytes | None] | None = None) -> Path:
    """Write the engine of three files.

    Args:
        folder: Where to; made if need be.
        changes: Other contents by name; None leaves a file out.
    """
    for name, content in {**FILES, **(changes or {})}.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return folder
