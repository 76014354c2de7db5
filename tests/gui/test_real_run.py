"""The real window starts the real trainer with the real pocket engine, on the processor, cut down to a few steps."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from diffusionforce.gui.shell import Window
from diffusionforce.job import changed
from diffusionforce.runs import RunFolder
from diffusionforce.wire import Command

WAIT_MS = 120_000


@pytest.mark.slow
def test_a_click_trains_the_demo_and_its_previews_fill_the_gallery(
    window: Window, qtbot: QtBot, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    page = window.run_place.plan
    qtbot.waitUntil(lambda: not page.plan.is_checking, timeout=WAIT_MS)
    assert page.plan.profile is not None
    edits = {
        "training.steps": 3,
        "training.warmup_steps": 0,
        "samples.prompts": ["LoRAnne, waving", "a girl"],
        "samples.num_steps": 2,
        "samples.every_steps": 0,
        "devices.use": ["cpu"],
    }
    page.plan.profile = changed(page.plan.profile, edits, origin="test")
    page.refresh()
    qtbot.mouseClick(page.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.session is not None, timeout=WAIT_MS)
    session = window.session
    assert session is not None
    window.go("gallery")
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "done", session.model.outcome
    assert session.model.samples.done_steps == [0, 3]
    assert session.model.losses.held_out_fall is not None
    assert window.gallery.grid.step == 3
    assert window.gallery.files.isVisible()
    state = RunFolder.open(session.root).read_state()
    assert state.state == "done"
    assert (session.root / state.lora).is_file()


@pytest.mark.slow
def test_two_queued_runs_train_one_after_the_other_and_the_gallery_follows(
    window: Window, qtbot: QtBot, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    page = window.run_place.plan
    qtbot.waitUntil(lambda: not page.plan.is_checking, timeout=WAIT_MS)
    assert page.plan.profile is not None
    edits = {
        "training.steps": 4,
        "training.warmup_steps": 0,
        "samples.prompts": ["LoRAnne, waving"],
        "samples.num_steps": 2,
        "samples.every_steps": 2,
        "devices.use": ["cpu"],
    }
    page.plan.profile = changed(page.plan.profile, edits, origin="test")
    page.refresh()
    for _ in range(2):
        qtbot.mouseClick(page.enqueue, Qt.MouseButton.LeftButton)
        window.go("run")
    assert len(window.queue.runs) == 2
    window.queue.start_next()
    first = window.session
    assert first is not None
    window.go("gallery")
    gallery = window.gallery
    qtbot.waitUntil(lambda: gallery.grid.isVisible() and gallery.grid.step == 0, timeout=WAIT_MS)
    first.send(Command(command="prompts", prompts=("a frog in a meadow",)))
    qtbot.waitUntil(lambda: window.session is not first, timeout=WAIT_MS)
    assert [row.prompt for row in first.model.samples.rows] == ["LoRAnne, waving", "a frog in a meadow"]
    assert first.model.outcome is not None and first.model.outcome.kind == "done", first.model.outcome
    second = window.session
    assert second is not None and gallery._shown is second
    second.send(Command(command="pause"))
    qtbot.waitUntil(lambda: second.model.is_paused, timeout=WAIT_MS)
    second.send(Command(command="resume"))
    qtbot.waitUntil(lambda: second.is_over, timeout=WAIT_MS)
    assert second.model.outcome is not None and second.model.outcome.kind == "done"
    assert second.model.samples.done_steps == [0, 2, 4] and gallery.grid.step == 4
