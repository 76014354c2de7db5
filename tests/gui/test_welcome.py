"""The first steps in the real window, from the look at the rig to the trained demo."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot
from tests.gui import recorded
from tests.support import rigs

from diffusionforce.gui.app import first_place
from diffusionforce.gui.model import first_run
from diffusionforce.gui.pages.datasets import DatasetsPage
from diffusionforce.gui.pages.settings import SettingsPage
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.notices import Banner, Finding
from diffusionforce.job import Job, changed
from diffusionforce.runs import RunFolder

WAIT_MS = 30_000
LONG_MS = 280_000


@pytest.fixture
def page(window: Window) -> WelcomePage:
    window.go("welcome")
    page = window.place("welcome")
    assert isinstance(page, WelcomePage)
    return page


def click(qtbot: QtBot, button: QPushButton) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_only_somebody_new_is_led(home: Path):
    preferences = Preferences(home / "window.ini")
    assert first_place(preferences) == "welcome"
    preferences.set_text("welcome", "seen")
    assert first_place(preferences) == "run"
    preferences.set_text("welcome", "")
    recorded.run_folder(home / "runs" / "a", end="done")
    assert first_place(preferences) == "run"


def test_the_first_steps_have_the_window_to_themselves_and_can_be_left(window: Window, page: WelcomePage, qtbot: QtBot):
    assert not window.sidebar.isVisible()
    assert not window.strip.isVisible()
    click(qtbot, page.skip)
    assert window.sidebar.isVisible()
    assert window.places.currentWidget() is window.run_place
    assert first_place(window.preferences) == "run"
    window.go("settings")
    settings = window.place("settings")
    assert isinstance(settings, SettingsPage)
    click(qtbot, settings.first_steps)
    assert window.places.currentWidget() is page


def test_the_rig_is_looked_at(page: WelcomePage, qtbot: QtBot):
    def said() -> list[str]:
        return [finding.accessibleName() for finding in page.rig.findChildren(Finding)]

    qtbot.waitUntil(lambda: any("free on the disk" in line for line in said()), timeout=WAIT_MS)
    assert any("NVIDIA" in line or "GB" in line for line in said())


def test_the_steps_are_gone_through_by_the_keyboard(window: Window, page: WelcomePage, qtbot: QtBot):
    for wanted in (1, 2, 3):
        page.next.setFocus()
        qtbot.keyClick(page.next, Qt.Key.Key_Space)
        assert page.items[wanted].isChecked()
    page.back.setFocus()
    qtbot.keyClick(page.back, Qt.Key.Key_Space)
    assert page.items[2].isChecked()


def test_model_and_folder_are_taken_along(window: Window, page: WelcomePage, qtbot: QtBot, job: Job):
    page.open(2)
    qtbot.waitUntil(lambda: bool(page.model._items), timeout=WAIT_MS)
    page.model.choose("klein-9b-1024")
    click(qtbot, page.next)
    page.dataset.take(str(job.dataset_dir))
    click(qtbot, page.next)
    datasets = window.place("datasets")
    assert isinstance(datasets, DatasetsPage)
    assert window.places.currentWidget() is datasets
    assert window.preferences.profile == "klein-9b-1024"
    assert window.run_place.plan.plan.profile_name == "klein-9b-1024"


def test_skipping_changes_nothing(window: Window, page: WelcomePage, qtbot: QtBot):
    # Symptom: what was chosen in the first steps long ago took the place of the profile chosen since.
    page.open(2)
    qtbot.waitUntil(lambda: bool(page.model._items), timeout=WAIT_MS)
    page.model.choose("klein-9b-1024")
    page.open(3)
    click(qtbot, page.next)
    assert window.run_place.plan.plan.profile_name == "klein-9b-1024"
    window.run_place.plan.choose_profile("pocket-demo")
    window.go("welcome")
    click(qtbot, page.skip)
    assert window.places.currentWidget() is window.run_place
    assert (window.run_place.plan.plan.profile_name, window.preferences.profile) == ("pocket-demo", "pocket-demo")


def test_a_model_whose_engine_is_not_here_says_so_and_brings_it(
    page: WelcomePage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    # Symptom: a cut sentence with a path of 40 hexadecimal digits, and "Try again", which could never help.
    monkeypatch.delenv("DIFFUSIONFORCE_ENGINE", raising=False)
    page.open(2)
    qtbot.waitUntil(lambda: bool(page.model._items), timeout=WAIT_MS)
    monkeypatch.setattr(page.model, "_watch", SimpleNamespace(report=rigs.report()))
    page.model.choose("klein-9b-1024")
    qtbot.waitUntil(lambda: page.model.readiness.view.lack == "engine", timeout=WAIT_MS)
    (banner,) = page.model.findChildren(Banner)
    assert banner.title.text() == "Musubi Tuner 0.3.4 is not installed."
    (button,) = banner.findChildren(QPushButton)
    assert button.accessibleName() == "Install the engine"
    assert page.model.strip.isHidden()
    page.model.choose("pocket-demo")
    assert not page.model.findChildren(Banner)
    # Without a card for it, what trains here comes first.
    monkeypatch.setattr(page.model, "_watch", SimpleNamespace(report=replace(rigs.report(), cards=())))
    page.model.choose("klein-9b-1024")
    qtbot.waitUntil(lambda: page.model.readiness.view.lack == "engine", timeout=WAIT_MS)
    (banner,) = page.model.findChildren(Banner)
    use, install = banner.findChildren(QPushButton)
    assert (use.accessibleName(), install.accessibleName()) == ("Use the pocket demo", "Install the engine")
    click(qtbot, use)
    assert page.model.name == "pocket-demo"
    assert not page.model.findChildren(Banner) and not page.model.strip.isHidden()


def test_the_demo_is_followed_stopped_and_told(
    page: WelcomePage,
    qtbot: QtBot,
    long_job: Job,
    fake_trainer: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
):
    fake_trainer("slow")
    monkeypatch.setattr(first_run, "demo_job", lambda: long_job)
    page.open(1)
    click(qtbot, page.demo.start)
    qtbot.waitUntil(lambda: page.demo.session is not None and page.demo.session.model.step > 2, timeout=WAIT_MS)
    assert page.isVisible(), "the first steps stay while the demo runs"
    qtbot.waitUntil(lambda: page.demo.stop.isVisible(), timeout=WAIT_MS)
    click(qtbot, page.demo.stop)
    session = page.demo.session
    assert session is not None
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "stopped"
    assert not page.demo.stop.isVisible()
    names = [b.accessibleName() for b in page.demo.findChildren(QPushButton) if not b.isHidden()]
    assert "Look at the rig" not in names, "nothing is wrong with it"


def test_a_demo_that_fails_is_no_dead_end(
    page: WelcomePage, qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    fake_trainer("full")
    monkeypatch.setattr(first_run, "demo_job", lambda: job)
    page.open(1)
    click(qtbot, page.demo.start)
    qtbot.waitUntil(lambda: page.demo.session is not None and page.demo.session.is_over, timeout=WAIT_MS)
    names = [b.accessibleName() for b in page.demo.findChildren(QPushButton) if not b.isHidden()]
    assert "Look at the rig" in names
    assert {"Try again", "Train it again"} & set(names)


@pytest.mark.slow
def test_first_steps_to_a_trained_demo(
    window: Window, page: WelcomePage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    """One click trains the real pocket engine, cut down to a few steps; before and after are seen."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    whole = first_run.demo_job()
    edits = {
        "training.steps": 3,
        "training.warmup_steps": 0,
        "samples.prompts": ["LoRAnne, waving"],
        "samples.num_steps": 2,
        "samples.every_steps": 0,
        "devices.use": ["cpu"],
    }
    short = whole.model_copy(update={"profile": changed(whole.profile, edits, origin="test")})
    monkeypatch.setattr(first_run, "demo_job", lambda: short)
    click(qtbot, page.next)
    click(qtbot, page.demo.start)
    qtbot.waitUntil(lambda: page.demo.session is not None, timeout=WAIT_MS)
    session = page.demo.session
    assert session is not None
    qtbot.waitUntil(lambda: session.is_over, timeout=LONG_MS)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "done", session.model.outcome
    qtbot.waitUntil(page.demo.slider.isVisible, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: None not in page.demo.slider._pictures, timeout=WAIT_MS)
    assert "done" in page.items[1].accessibleName()
    assert RunFolder.open(session.root).read_state().lora
    click(qtbot, page.demo.gallery)
    assert window.places.currentWidget() is window.gallery


def test_whoever_finishes_with_a_chosen_model_plans_a_run_with_it(
    window: Window, page: WelcomePage, qtbot: QtBot, tmp_path: Path
):
    window.open_run(recorded.run_folder(tmp_path / "demo", end="stopped").root)
    window.go("welcome")
    page.open(2)
    qtbot.waitUntil(lambda: bool(page.model.name), timeout=WAIT_MS)
    click(qtbot, page.next)
    click(qtbot, page.next)
    assert window.places.currentWidget() is window.run_place and window.run_place.shows_plan
    assert window.run_place.plan.plan.profile_name == page.model.name
