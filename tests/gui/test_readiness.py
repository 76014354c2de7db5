"""What a real model lacks, looked for by a real child process, and brought by another."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot
from tests.gui import recorded
from tests.support import rigs

from diffusionforce.gui.model.readiness import ReadinessView
from diffusionforce.gui.pages.run_plan import RunPlanPage
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.labels import Elided
from diffusionforce.gui.widgets.notices import Banner

WAIT_MS = 60_000


@pytest.fixture
def page(window: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> RunPlanPage:
    """The page with a real model chosen and looked for; its data folder holds no engine."""
    monkeypatch.delenv("DIFFUSIONFORCE_ENGINE", raising=False)
    page = window.run_place.plan
    page.choose_profile("klein-9b-1024")
    qtbot.waitUntil(lambda: not page.plan.readiness.is_checking, timeout=WAIT_MS)
    return page


def banner(page: RunPlanPage) -> Banner:
    QApplication.processEvents()
    (found,) = [one for one in page.findChildren(Banner) if one.isVisible()]
    return found


def press(page: RunPlanPage, words: str) -> None:
    (button,) = [one for one in banner(page).findChildren(QPushButton) if one.accessibleName() == words]
    button.click()


def test_an_engine_that_is_not_here_is_said_and_can_be_installed_from_here(
    page: RunPlanPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert page.plan.readiness.lack == "engine"
    assert "Musubi Tuner 0.3.4 is not installed" in banner(page).accessibleName()
    assert not page.start.isEnabled()
    # Symptom: "Files of the model are looked for once the eng…" in the checklist.
    (line,) = [one for one in page.checks.findChildren(QLabel) if one.text().startswith("Files of the model")]
    assert not isinstance(line, Elided) and line.height() >= line.heightForWidth(line.width())
    nowhere = ("diffusionforce.engines.musubi.command", ["install", f"--from={tmp_path / 'nowhere.zip'}"])
    monkeypatch.setattr(ReadinessView, "remedy", lambda view: nowhere)
    press(page, "Install the engine")
    assert banner(page).text.text() == "Starting"
    qtbot.waitUntil(lambda: not page.plan.readiness.doing, timeout=WAIT_MS)
    assert "nowhere.zip" in banner(page).accessibleName()
    press(page, "Install the engine")  # It can be tried again, and given up.
    page.readiness.close()


def test_without_a_card_the_first_deed_is_what_trains_here(page: RunPlanPage, qtbot: QtBot):
    # Symptom: somebody without a card was led to install the engine, after which nothing could be trained either.
    page.show_machine(replace(rigs.report(), cards=()))
    page.choose_dataset("demo:loranne")
    qtbot.waitUntil(lambda: page.plan.readiness.lack == "engine" and not page.plan.is_checking, timeout=WAIT_MS)
    buttons = [one for one in banner(page).findChildren(QPushButton) if one.isVisible()]
    assert [(one.accessibleName(), one.property("kind")) for one in buttons] == [
        ("Use the pocket demo", "primary"),
        ("Install the engine", ""),
    ]
    assert not page.forecast._retry.isVisible()  # It could not help before the engine is here.
    press(page, "Use the pocket demo")
    qtbot.waitUntil(lambda: not page.plan.is_checking, timeout=WAIT_MS)
    assert page.plan.profile_name == "pocket-demo" and page.plan.dataset_choice == "demo:loranne"
    assert page.start.isEnabled()


def test_the_pocket_model_takes_the_place_of_a_model_that_lacks_something(page: RunPlanPage, qtbot: QtBot):
    page.choose_profile("pocket-demo")
    qtbot.waitUntil(lambda: not page.plan.is_checking, timeout=WAIT_MS)
    assert page.plan.refusal() is None
    assert page.start.isEnabled()


def test_a_plan_that_comes_into_sight_behind_a_run_looks_again(
    window: Window, page: RunPlanPage, qtbot: QtBot, tmp_path: Path
):
    # Symptom: after "New run" on a run the plan said "Checking" for ever, its banner and its forecast were gone.
    page.choose_dataset("demo:loranne")
    qtbot.waitUntil(lambda: page.plan.memory.current is not None, timeout=WAIT_MS)
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    assert not page.isVisible()
    page.refresh()  # As a run that goes on does it: what was known no longer holds.
    window.run_place.live.new_run_asked.emit()
    assert page.isVisible()
    qtbot.waitUntil(lambda: not page.plan.readiness.is_checking, timeout=WAIT_MS)
    assert page.plan.readiness.lack == "engine"
    assert "Musubi Tuner 0.3.4 is not installed" in banner(page).accessibleName()
    qtbot.waitUntil(lambda: page.plan.memory.current is not None, timeout=WAIT_MS)


def test_a_plan_that_was_hidden_looks_again_whoever_shows_it(window: Window, page: RunPlanPage, qtbot: QtBot):
    window.places.setCurrentWidget(window.place("keys"))
    page.refresh()
    assert page.plan.readiness.is_checking
    window.places.setCurrentWidget(window.run_place)
    qtbot.waitUntil(lambda: page.plan.readiness.lack == "engine", timeout=WAIT_MS)
