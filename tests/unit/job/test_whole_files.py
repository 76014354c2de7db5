"""Files that are replaced whole, whatever goes wrong and whoever else writes them."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from diffusionforce.job import held_files, write_whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "state.json"
    file.write_bytes(b"old")
    return file


def test_a_file_is_made_and_replaced(path: Path):
    write_whole(path, b"new")
    write_whole(path.with_name("second"), b"")
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == {"state.json": b"new", "second": b""}


def test_a_disk_that_is_full_leaves_the_old_file_and_no_neighbour(path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, b"new")
    assert caught.value.filename == str(path), "the neighbour's name means nothing to whoever reads the message"
    assert [(file.name, file.read_bytes()) for file in path.parent.iterdir()] == [("state.json", b"old")]


def test_a_folder_that_is_not_there_is_told_by_the_name_of_the_file(path: Path):
    missing = path.parent / "missing" / "profile.toml"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(missing, b"new")
    assert caught.value.filename == str(missing)


def test_an_interrupt_leaves_no_neighbour(path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert [file.name for file in path.parent.iterdir()] == ["state.json"]


def test_writers_at_the_same_time_do_not_share_a_neighbour(path: Path):
    contents = [bytes([number]) * 50_000 for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_whole(path, content), contents))
    assert path.read_bytes() in contents
    assert [file.name for file in path.parent.iterdir()] == ["state.json"]


@pytest.mark.parametrize(("num_refusals", "is_written"), [(3, True), (1000, False)], ids=["held a moment", "held"])
def test_on_windows_a_program_that_holds_the_file_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch, num_refusals: int, is_written: bool
):
    """A virus scanner or a reader holds a file for a moment; Windows then refuses to put another in its place."""
    move, refusals = Path.replace, iter(range(num_refusals))

    def replace(source: Path, target: Path) -> Path:
        if next(refusals, None) is not None:
            raise PermissionError(errno.EACCES, "Access is denied", str(source), None, str(target))
        return move(source, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(held_files, "WAITS_FOR_HOLDERS", True)
    monkeypatch.setattr(held_files, "PATIENCE_S", 0.2)
    if is_written:
        write_whole(path, b"new")
    else:
        with pytest.raises(PermissionError) as caught:
            write_whole(path, b"new")
        assert caught.value.filename == str(path)
    assert path.read_bytes() == (b"new" if is_written else b"old")


@pytest.mark.skipif(os.name == "nt", reason="Windows waits for whoever holds the file")
def test_elsewhere_a_refusal_is_told_at_once(path: Path, monkeypatch: pytest.MonkeyPatch):
    calls: list[Path] = []

    def refuse(source: Path, target: Path) -> None:
        calls.append(source)
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError):
        write_whole(path, b"new")
    assert len(calls) == 1
