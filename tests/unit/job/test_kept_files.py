"""Files of the user's choices: whatever happens to them, what they held is still there."""

import json
import logging
from pathlib import Path

import pytest

from diffusionforce.job.kept_files import ASIDE, KeptFile


def numbers(content: bytes) -> list[int]:
    found = json.loads(content)
    if not isinstance(found, list):
        raise ValueError("no list")
    return found


@pytest.fixture
def file(tmp_path: Path) -> KeptFile[list[int]]:
    return KeptFile(tmp_path / "numbers.json", numbers, empty=[])


def aside(file: KeptFile[list[int]]) -> list[bytes]:
    """What was kept of damaged files, the oldest first."""
    return [path.read_bytes() for path in sorted(file.path.parent.glob(f"{file.path.name}{ASIDE}*"))]


def test_what_was_written_is_read_again(file: KeptFile[list[int]]) -> None:
    assert file.read() == []
    file.write(b"[1]")
    file.write(b"[1, 2]")
    assert file.read() == [1, 2] and aside(file) == []


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff", b"[1, 2", b"[" * 100_000])
def test_one_that_makes_no_sense_is_kept_and_told_of_once(
    file: KeptFile[list[int]], caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    # Symptom: it counted as empty, and the next change wrote over it.
    file.path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert file.read() == file.read() == []
    ((sentence, hint),) = [record.getMessage().splitlines() for record in caplog.records]
    caplog.clear()
    assert "numbers.json is damaged" in sentence and ASIDE in hint
    file.write(b"[3]")
    assert file.read() == [3] and aside(file) == [content]


def test_writing_keeps_what_nobody_had_read(file: KeptFile[list[int]], caplog: pytest.LogCaptureFixture) -> None:
    for content in (b"{", b"}"):
        file.path.write_bytes(content)
        file.write(b"[4]")
    assert aside(file) == [b"{", b"}"] and file.read() == [4]
    caplog.clear()


def test_one_that_cannot_be_read_for_now_is_left_alone(
    file: KeptFile[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write(b"[5]")

    def refuse(path: Path) -> bytes:
        raise OSError("the disk fails")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        for deed in (file.read, lambda: file.write(b"[6]")):
            with pytest.raises(OSError, match="fails"):
                deed()
    assert file.read() == [5]


def test_one_that_cannot_be_kept_aside_is_not_written_over(
    file: KeptFile[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.path.write_bytes(b"{")

    def refuse(path: Path, target: Path) -> Path:
        raise PermissionError("no")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(PermissionError):
            file.write(b"[7]")
    assert file.path.read_bytes() == b"{"
