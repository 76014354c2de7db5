"""A profile edited in its form trains as edited: the real window, the real trainer, the real pocket engine."""

import os
import signal
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from diffusionforce.gui.model.history import read_history
from diffusionforce.gui.pages.profiles import ProfilesPage
from diffusionforce.gui.shell import Window
from diffusionforce.job import own_profiles, read_job
from diffusionforce.runs import RunFolder

WAIT_MS = 30_000
LONG_MS = 280_000
EDITS = {
    "training.steps": "400",
    "training.batch_size": "1",
    "lora.rank": "4",
    "samples.prompts": "LoRAnne, waving",
    "samples.num_steps": "1",
    "samples.every_steps": "0",
    "checkpoints.every_steps": "0",
    "devices.use": "cpu",
}


def click(qtbot: QtBot, button: QPushButton) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def type_into(page: ProfilesPage, qtbot: QtBot, name: str, text: str) -> None:
    assert page.editor is not None
    control = page.editor.form.boxes[name].control
    assert isinstance(control, QLineEdit | QPlainTextEdit)
    control.setFocus()
    control.selectAll()
    qtbot.keyClicks(control, text)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_edit_a_profile_start_stop_go_on_and_survive_a_kill(
    window: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    window.go("profiles")
    page = window.place("profiles")
    assert isinstance(page, ProfilesPage)
    qtbot.waitUntil(lambda: page.is_filled, timeout=WAIT_MS)
    editor = page.editor
    assert editor is not None
    page.choose("pocket-demo")
    click(qtbot, editor.duplicate)
    qtbot.waitUntil(lambda: page.name in own_profiles(), timeout=WAIT_MS)
    editor.form.set_folded(False)
    qtbot.waitUntil(lambda: page.is_filled, timeout=WAIT_MS)
    for name, text in EDITS.items():
        type_into(page, qtbot, name, text)
    assert page.draft is not None
    assert page.draft.problems == {}
    click(qtbot, editor.use)
    plan = window.run_place.plan
    qtbot.waitUntil(lambda: plan.plan.profile_name == page.name, timeout=WAIT_MS)
    qtbot.waitUntil(plan.start.isEnabled, timeout=WAIT_MS)
    click(qtbot, plan.start)
    qtbot.waitUntil(lambda: window.session is not None, timeout=WAIT_MS)
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.model.step >= 1 or session.is_over, timeout=LONG_MS)
    assert session.model.outcome is None, session.model.outcome
    live = window.run_place.live
    click(qtbot, live.header.stop)
    answers = [button for button in live.findChildren(QPushButton) if button.accessibleName() == "Stop and save"]
    assert len(answers) == 1
    click(qtbot, answers[0])
    qtbot.waitUntil(lambda: session.is_over, timeout=LONG_MS)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "stopped"
    folder = RunFolder.open(session.root)
    trained = read_job(folder.job_path).profile
    assert (trained.training.steps, trained.lora.rank, trained.samples.num_steps) == (400, 4, 1)
    state = folder.read_state()
    assert 1 <= state.step < 400
    assert Path(session.root, state.lora).is_file()
    go_on_and_kill(window, qtbot, folder)


def go_on_and_kill(window: Window, qtbot: QtBot, before: RunFolder) -> None:
    """Continue the run from its page, and kill its trainer in the middle of a step."""
    live, step = window.run_place.live, before.read_state().step

    def onward() -> list[QPushButton]:
        buttons = live.notice.findChildren(QPushButton)
        return [button for button in buttons if button.accessibleName() == f"Continue from step {step}"]

    qtbot.waitUntil(lambda: bool(onward()), timeout=WAIT_MS)
    first = window.session
    click(qtbot, onward()[0])
    qtbot.waitUntil(lambda: window.session is not first, timeout=WAIT_MS)
    second = window.session
    assert second is not None and second.child is not None
    qtbot.waitUntil(lambda: second.model.step > step or second.is_over, timeout=LONG_MS)
    assert second.model.outcome is None, second.model.outcome
    # What there was before belongs to it: its curve begins at the first step of the first run.
    qtbot.waitUntil(lambda: second.model.losses.steps[:1] == [1], timeout=WAIT_MS)
    assert second.model.samples.drawn_steps == {0}
    os.kill(second.child.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: second.is_over, timeout=WAIT_MS)
    assert second.model.outcome is not None and second.model.outcome.kind == "crashed"
    newest, oldest = read_history(before.root.parent)
    assert (newest.state.state, oldest.continued) == ("crashed", newest.when)
    assert not oldest.can_resume
