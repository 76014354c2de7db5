"""The snapshot of the engine that is shipped along is the pinned one, and nothing else of where it came from."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from installer import engine
from installer.places import ROOT
from installer.problems import BuildError

FILES = {"README.md": b"read me", engine.LANDMARK: b""}


def pack(folder: Path, files: dict[str, bytes], *, top: str) -> Path:
    """Pack a zip of files in a folder of it."""
    manifest = "".join(f"{hashlib.sha256(content).hexdigest()} 7 {name}\n" for name, content in FILES.items())
    (folder / "MANIFEST.txt").write_text(f"# comment\n{manifest}", encoding="utf-8")
    with zipfile.ZipFile(folder / "given.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(top + name, content)
    return engine.pack(
        folder / "given.zip",
        manifest=folder / "MANIFEST.txt",
        scratch=folder / "scratch",
        target=folder / "made.zip",
        date_s=1_700_000_000,
    )


def test_what_is_shipped_does_not_depend_on_where_it_came_from(tmp_path: Path):
    made = pack(tmp_path, FILES, top="").read_bytes()
    assert (
        pack(tmp_path, {**FILES, "src/musubi_tuner/strange.py": b"", ".github/x": b""}, top="a-1/").read_bytes() == made
    )
    with zipfile.ZipFile(tmp_path / "made.zip") as archive:
        assert sorted(archive.namelist()) == sorted(f"musubi-tuner/{name}" for name in FILES)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({**FILES, "README.md": b"altered"}, r"README\.md .* is not that of the pinned commit"),
        ({engine.LANDMARK: b""}, "is not a zip of the pinned engine"),
        ({}, "is not a zip of the pinned engine"),
    ],
)
def test_another_engine_stops_the_build(files: dict[str, bytes], words: str, tmp_path: Path):
    with pytest.raises(BuildError, match=words):
        pack(tmp_path, files, top="a-1/")


def test_the_manifest_of_the_product_is_read():
    names = {name for _, name in engine.pinned(ROOT / engine.MANIFEST)}
    assert engine.LANDMARK in names and len(names) > 100
