"""What is told of work that takes a while."""

import io
import time

import pytest
from rich.console import Console

from diffusionforce.cli import output


def shown_while_waiting(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> str:
    stream = io.StringIO()

    def console(*, stderr: bool) -> Console:
        assert stderr  # Standard output is for the answer.
        return Console(file=stream, force_terminal=is_terminal, width=80)

    monkeypatch.setattr("rich.console.Console", console)
    with output.waiting("Forecasting [red] Pocket"):
        time.sleep(0.3)
    return stream.getvalue()


def test_a_terminal_sees_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    # Symptom: a forecast was silent for ten seconds.
    assert "Forecasting [red] Pocket" in shown_while_waiting(monkeypatch, is_terminal=True)


def test_a_file_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_while_waiting(monkeypatch, is_terminal=False) == ""
