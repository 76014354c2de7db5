"""What is found out about an installed engine: every difference, by name, also when the stamp says all is well."""

import os
from pathlib import Path

import pytest
from tests.support.engine import FILES, lay_out, needs_engine, small_manifest, small_pin

from diffusionforce.engines.musubi import Pin, open_engine, read_manifest, read_pin, verify
from diffusionforce.engines.musubi.manifest import ManifestFile
from diffusionforce.engines.musubi.verification import compare, read_stamp, stamp_path
from diffusionforce.errors import EngineError


def check(folder: Path, *, every_byte: bool = False) -> Path:
    """Verify the engine of three files."""
    return verify(small_pin(), folder=folder, manifest=small_manifest(), every_byte=every_byte)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An engine that was verified once, so that it has a stamp."""
    folder = check(lay_out(tmp_path / "engine"))
    assert stamp_path(folder).is_file()
    return folder


def test_an_engine_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is not installed") as caught:
        check(tmp_path / "nowhere")
    assert "diffusionforce engine install" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("README.md", b"# An engine\n\nof four_ files\n", "modified: README.md"),
        ("README.md", None, "missing: README.md"),
        ("src/musubi_tuner/torch.py", b"", "not the engine's: src/musubi_tuner/torch.py"),
    ],
)
def test_a_change_is_named_and_refused(folder: Path, name: str, content: bytes | None, words: str) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(EngineError) as caught:
        check(folder)
    assert words in caught.value.sentence
    assert caught.value.hint == "Repair it: diffusionforce engine install"


def test_a_link_is_not_the_engines_file(folder: Path, tmp_path: Path) -> None:
    (folder / "README.md").rename(tmp_path / "elsewhere")
    try:
        (folder / "README.md").symlink_to(tmp_path / "elsewhere")
    except OSError:
        pytest.skip("this system lets users make no links")
    with pytest.raises(EngineError, match=r"not the engine's: README\.md"):
        check(folder)


def test_many_names_are_cut_short_in_the_sentence_and_whole_in_the_detail(folder: Path) -> None:
    for number in range(9):
        (folder / f"extra_{number}").touch()
    with pytest.raises(EngineError, match="and 5 more") as caught:
        check(folder)
    assert "extra: extra_8" in caught.value.detail


def test_only_files_that_look_different_are_hashed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    matches = ManifestFile.matches

    def noted(file: ManifestFile, content: bytes) -> bool:
        hashed.append(file.name)
        return matches(file, content)

    monkeypatch.setattr(ManifestFile, "matches", noted)
    check(folder)
    assert hashed == []
    os.utime(folder / "README.md", ns=(1, 1))
    check(folder)
    assert hashed == ["README.md"]
    check(folder, every_byte=True)
    assert sorted(hashed[1:]) == sorted(FILES)


def test_what_reading_every_byte_found_is_remembered(folder: Path) -> None:
    """The disk turned a bit: `engine verify` named the file, and the next run took it for right again."""
    file = folder / "README.md"
    before = file.stat()
    file.write_bytes(file.read_bytes().swapcase())
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert check(folder) == folder
    for every_byte in (True, False):
        with pytest.raises(EngineError, match=r"modified: README\.md"):
            check(folder, every_byte=every_byte)


def test_a_stamp_of_another_manifest_or_a_torn_one_counts_for_nothing(folder: Path) -> None:
    stamp = read_stamp(folder)
    assert stamp is not None
    (folder / "README.md").write_bytes(b"changed")
    _, lying = compare(folder, small_manifest())
    stamp_path(folder).write_text(lying.model_copy(update={"manifest": "other"}).model_dump_json())
    with pytest.raises(EngineError, match="modified"):
        check(folder)
    stamp_path(folder).write_text("{")
    with pytest.raises(EngineError, match="modified"):
        check(folder)


def test_bytecode_that_python_left_is_no_difference(folder: Path) -> None:
    (folder / "src" / "musubi_tuner" / "__pycache__").mkdir()
    (folder / "src" / "musubi_tuner" / "__pycache__" / "a.pyc").touch()
    check(folder)


def test_the_shipped_manifest_is_the_engines(tmp_path: Path) -> None:
    files = read_manifest().files
    assert {"pyproject.toml", "src/musubi_tuner/training/trainer_base.py"} < set(files)
    text = (Path(__file__).parents[4] / "vendor" / "musubi-tuner" / "MANIFEST.txt").read_text(encoding="utf-8")
    assert read_pin().commit in text.splitlines()[0]


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "C:/x", "a//b", "a\\b", "a/./b"])
def test_a_manifest_that_leads_out_of_the_folder_is_damaged(name: str, tmp_path: Path) -> None:
    path = tmp_path / "MANIFEST.txt"
    path.write_text(f"{'0' * 64} 1 {name}\n", encoding="utf-8")
    with pytest.raises(EngineError, match="cannot be read"):
        read_manifest(path)


def test_another_musubi_tuner_that_was_imported_is_refused(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("diffusionforce.engines.musubi.access.verify", lambda pin, folder: folder)
    monkeypatch.setitem(__import__("sys").modules, "musubi_tuner", pytest)
    with pytest.raises(EngineError, match="Another Musubi Tuner"):
        open_engine(small_pin())


@needs_engine
def test_the_installed_engine_is_the_pinned_one_byte_for_byte() -> None:
    pin: Pin = read_pin()
    assert (verify(pin, every_byte=True) / "src" / "musubi_tuner" / "wan" / "modules" / "model.py").is_file()
