"""The Settings place in the real window."""

import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot
from tests.gui import recorded
from tests.unit.gui.test_hub_token import Store

from diffusionforce.errors import RunFolderError
from diffusionforce.gui import engine_desk, theme
from diffusionforce.gui.model import hub_token, language
from diffusionforce.gui.pages.settings import SettingsPage
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.path_line import PathLine
from diffusionforce.job import Job

WAIT_MS = 20_000
INTACT = (
    '{"kind":"engine","name":"Engine","version":"1.2","commit":"0","upstream":"a/b","licence":"x","folder":"/f",'
    '"state":"STATE","num_files":3,"size_bytes":1024}'
)
ANSWER = """
import sys
print('{"kind":"engine_progress","stage":"files","done":1,"total":3}', flush=True)
print(sys.argv[1], flush=True)
"""


@pytest.fixture(autouse=True)
def as_before(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HF_TOKEN", "")
    own = keyring.get_keyring()
    yield
    keyring.set_keyring(own)
    language.use("en")
    theme.apply(qapp, "dark")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the engine's child answers, by what it is asked."""
    answers = {action: INTACT.replace("STATE", "intact") for action in ("status", "install", "verify")}
    monkeypatch.setattr(engine_desk, "engine_command", lambda action: [sys.executable, "-c", ANSWER, answers[action]])
    return answers


@pytest.fixture
def page(window: Window, engine: dict[str, str]) -> SettingsPage:
    window.go("settings")
    page = window.place("settings")
    assert isinstance(page, SettingsPage)
    return page


def click(qtbot: QtBot, button: QPushButton) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def choose_language(window: Window, index: int) -> SettingsPage:
    page = window.place("settings")
    assert isinstance(page, SettingsPage)
    page.language.choose(index)
    page.language.chosen.emit(index)
    again = window.place("settings")
    assert isinstance(again, SettingsPage)
    return again


def test_another_language_counts_at_once_and_is_remembered(window: Window, page: SettingsPage, tmp_path: Path):
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    session = window.session
    window.go("settings")
    again = choose_language(window, 1)
    QApplication.processEvents()
    assert window.places.currentWidget() is again
    assert window.sidebar.item("datasets").accessibleName().startswith("Datensätze")
    titles = {label.text() for label in again.findChildren(Label)}
    assert {"Einstellungen", "Fenster", "Sprache"} <= titles
    assert window.preferences.language == "de"
    assert window.session is session
    window.go("run")
    assert window.run_place.currentWidget() is window.run_place.live
    window.go("settings")
    choose_language(window, 0)
    assert window.sidebar.item("datasets").accessibleName().startswith("Datasets")


def test_every_place_opens_in_the_other_language(window: Window, page: SettingsPage, qtbot: QtBot):
    choose_language(window, 1)
    for key in ("run", "datasets", "profiles", "gallery", "history", "rig", "settings", "welcome"):
        window.go(key)
        qtbot.wait(60)
        assert window.places.currentWidget() is window.place(key)


def test_reset_forgets_and_undo_remembers(window: Window, page: SettingsPage, qtbot: QtBot):
    page.theme.choose(2)
    page.theme.chosen.emit(2)
    assert theme.current().name == "light"
    window.preferences.set_text("profiles/open", "x")
    click(qtbot, page.reset)
    assert (window.preferences.theme, window.preferences.text("profiles/open")) == ("system", "")
    assert page.theme.index == 0
    click(qtbot, page.toasts.shown[-1].act)
    assert (window.preferences.theme, window.preferences.text("profiles/open")) == ("light", "x")
    assert page.theme.index == 2


def test_a_token_is_kept_in_the_key_store_alone(window: Window, page: SettingsPage, qtbot: QtBot, home: Path):
    store = Store()
    keyring.set_keyring(store)
    page.hub.token.setText("hf_secret")
    click(qtbot, page.hub.keep)
    qtbot.waitUntil(lambda: bool(store.kept), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: page.hub.state is not None and page.hub.state.is_kept, timeout=WAIT_MS)
    assert page.hub.token.text() == ""
    window.preferences.save()
    for path in home.rglob("*"):
        assert not path.is_file() or b"hf_secret" not in path.read_bytes(), path
    click(qtbot, page.hub.forget)
    qtbot.waitUntil(lambda: not store.kept, timeout=WAIT_MS)


def test_a_computer_without_a_key_store_says_so(page: SettingsPage, qtbot: QtBot):
    keyring.set_keyring(keyring.backends.fail.Keyring())
    page.hub.token.setText("hf_secret")
    click(qtbot, page.hub.keep)
    qtbot.waitUntil(lambda: "no key store" in page.hub.verdict.label.text(), timeout=WAIT_MS)
    assert page.hub.state is not None
    assert not page.hub.state.is_kept
    hub_token.forget()


def test_the_engine_is_looked_at_and_installed(page: SettingsPage, engine: dict[str, str], qtbot: QtBot):
    card = page.updates.engine
    qtbot.waitUntil(lambda: card.headline.text() == "Engine 1.2 is installed", timeout=WAIT_MS)
    assert card.act.accessibleName() == "Verify"
    engine["status"] = INTACT.replace("STATE", "missing")
    qtbot.waitUntil(lambda: not card.desk.is_busy, timeout=WAIT_MS)
    card.desk.ask("status")
    qtbot.waitUntil(lambda: card.headline.text() == "Engine 1.2 is not installed", timeout=WAIT_MS)
    assert card.act.accessibleName() == "Install"
    qtbot.waitUntil(lambda: not card.desk.is_busy, timeout=WAIT_MS)
    click(qtbot, card.act)
    qtbot.waitUntil(lambda: card.headline.text() == "Engine 1.2 is installed", timeout=WAIT_MS)


def test_an_engine_process_that_says_nothing_is_told(page: SettingsPage, engine: dict[str, str], qtbot: QtBot):
    card = page.updates.engine
    qtbot.waitUntil(lambda: not card.desk.is_busy, timeout=WAIT_MS)
    engine["verify"] = "gibberish"
    card.desk.ask("verify")
    qtbot.waitUntil(lambda: "could not be looked at" in card.headline.text(), timeout=WAIT_MS)


def test_the_engine_is_left_alone_during_a_run(window: Window, page: SettingsPage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page.updates.engine, "_is_training", lambda: True)
    page.updates.engine._show()
    assert not page.updates.engine.act.isEnabled()
    assert page.updates.engine.act.toolTip() == "Not while a run goes on."


def test_a_long_path_keeps_its_beginning_and_its_end(window: Window, qtbot: QtBot):
    # Symptom: the end of a path, which tells it from others, was cut off.
    path = "/home/somebody/a folder with a rather long name/and another one within it/DiffusionForce/runs"
    line = PathLine(path, name="Runs")
    line.setParent(window)
    line.resize(280, 32)
    line.show()
    assert line.text().startswith("/home") and line.text().endswith("/runs") and "…" in line.text()
    assert line.toolTip() == path and line.accessibleName() == f"Runs: {path}"
    qtbot.keyClick(line, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == path
    line.resize(2000, 32)
    qtbot.waitUntil(lambda: line.text() == path)


def test_what_runs_do_without_a_window_is_kept_and_goes_into_their_jobs(
    page: SettingsPage, window: Window, job: Job, monkeypatch: pytest.MonkeyPatch
):
    assert window.preferences.when_alone == "go_on"
    page.when_alone.choose(1)
    page.when_alone.chosen.emit(1)
    assert window.preferences.when_alone == "stop"
    started: list[Job] = []

    def start(job: Job, **_: object) -> None:
        started.append(job)
        raise RunFolderError("Nothing is started here.")

    monkeypatch.setattr(RunSession, "start", start)
    window.start_run(job)
    assert [one.when_alone for one in started] == ["stop"]
    page.reset.click()
    assert window.preferences.when_alone == "go_on" and page.when_alone.index == 0
