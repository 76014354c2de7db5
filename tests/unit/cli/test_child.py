"""The trainer as the command line holds it."""

import sys
from pathlib import Path

import pytest

from diffusionforce.cli import child as child_module
from diffusionforce.cli.child import StopRequests, TrainerChild
from diffusionforce.wire import Warn, encode

STOPS_WHEN_ASKED = """
import sys
print("last words of a library", flush=True)
sys.exit(7 if "stop" in sys.stdin.readline() else 8)
"""


def start(monkeypatch: pytest.MonkeyPatch, code: str, *, is_copied: bool = False) -> TrainerChild:
    monkeypatch.setattr(child_module, "child_command", lambda job_file: [sys.executable, "-c", code])
    return TrainerChild(Path("job.toml"), stops=StopRequests(), is_copied=is_copied)


def test_a_trainer_does_not_outlive_our_own_breakdown(monkeypatch: pytest.MonkeyPatch):
    # Symptom: an error while drawing ended the command line, and a trainer that nobody knew of went on.
    with pytest.raises(ZeroDivisionError), start(monkeypatch, STOPS_WHEN_ASKED) as child:
        raise ZeroDivisionError
    assert child._process.poll() == 7


def test_lines_that_are_no_telemetry_are_among_the_last_words(monkeypatch: pytest.MonkeyPatch):
    with start(monkeypatch, "print('last words of a library')") as child:
        assert [message for message in child.messages() if message] == []
        child.wait()
    assert child.last_words() == "last words of a library"


def test_only_records_are_copied(monkeypatch: pytest.MonkeyPatch):
    copied: list[bytes] = []
    monkeypatch.setattr(child_module, "write_bytes", copied.append)
    record, newer = encode(Warn(sentence="Warm.")), b'{"kind": "of a newer trainer"}\n'
    code = f"import sys; sys.stdout.buffer.write({record + b'noise' + bytes([10]) + newer!r})"
    with start(monkeypatch, code, is_copied=True) as child:
        assert [message for message in child.messages() if message] == [Warn(sentence="Warm.")]
        child.wait()
    assert copied == [record, newer]
