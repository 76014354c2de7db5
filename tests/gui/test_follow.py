"""Runs that another process writes, and runs that are over."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.errors import RunFolderError
from diffusionforce.gui.session import RunSession
from diffusionforce.wire import Done, encode

WAIT_MS = 10_000


def test_a_finished_run_is_read_whole(qtbot: QtBot, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "run", end="done")
    session = RunSession.open(folder.root)
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.step == 300
    assert session.model.samples.done_steps == [0, 100, 200, 300]
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "done"
    assert "the engine loaded 10 blocks" in "\n".join(session.model.log)
    session.close()


def test_a_run_that_goes_on_is_followed_to_its_end(qtbot: QtBot, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "run", upto=150)
    session = RunSession.open(folder.root)
    qtbot.waitUntil(lambda: session.model.step == 150, timeout=WAIT_MS)
    assert not session.is_over
    rest = [m for m in recorded.messages(folder.root, upto=152) if getattr(m, "step", 0) > 150]
    line = b"".join(encode(message) for message in rest)
    with folder.telemetry_path.open("ab") as file:
        file.write(line[:40])
        file.flush()
        qtbot.wait(300)
        assert session.model.step == 150
        file.write(line[40:])
    qtbot.waitUntil(lambda: session.model.step == 152, timeout=WAIT_MS)
    with folder.telemetry_path.open("ab") as file:
        file.write(encode(Done(step=152, lora="", seconds=1)))
    folder.write_state(folder.read_state().model_copy(update={"state": "done", "step": 152}))
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    session.close()


def test_a_run_whose_process_is_gone_has_crashed(qtbot: QtBot, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "run", end="crashed", upto=120)
    session = RunSession.open(folder.root)
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "crashed"
    assert session.model.outcome.step == 120
    session.close()


def test_a_log_in_another_encoding_does_no_harm(qtbot: QtBot, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "run", end="done")
    folder.log_path.write_bytes(b"caf\xe9 \xff\n")
    session = RunSession.open(folder.root)
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert any("caf" in line for line in session.model.log)
    session.close()


def test_a_folder_without_a_run_is_refused(tmp_path: Path):
    with pytest.raises(RunFolderError, match="not a run folder"):
        RunSession.open(tmp_path)


def test_a_run_without_its_job_can_still_be_seen(qtbot: QtBot, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "run", end="stopped")
    folder.job_path.write_text("schema_version = 99", encoding="utf-8")
    session = RunSession.open(folder.root)
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.num_steps == 300
    session.close()
