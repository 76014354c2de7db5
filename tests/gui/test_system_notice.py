"""The message of the system when a run has ended, with a tray that only writes down."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from diffusionforce.gui import system_notice
from diffusionforce.gui.pages.settings import SettingsPage
from diffusionforce.gui.shell import Window
from diffusionforce.job import Job

WAIT_MS = 20_000


class Tray(QObject):
    """Stands for the tray of a system that has one."""

    MessageIcon = QSystemTrayIcon.MessageIcon
    isSystemTrayAvailable = supportsMessages = staticmethod(lambda: True)  # noqa: N815 - Qt's names.
    messageClicked, activated = Signal(), Signal()  # noqa: N815
    last: "Tray | None" = None

    def __init__(self, icon: QIcon, parent: QObject) -> None:
        super().__init__(parent)
        assert not icon.isNull()
        self.told: list[tuple[str, str, QSystemTrayIcon.MessageIcon]] = []
        self.is_shown = False
        Tray.last = self

    def setToolTip(self, _text: str) -> None:  # noqa: N802
        pass

    def show(self) -> None:
        self.is_shown = True

    def hide(self) -> None:
        self.is_shown = False

    def showMessage(self, title: str, text: str, kind: QSystemTrayIcon.MessageIcon, _ms: int) -> None:  # noqa: N802
        assert self.is_shown, "Qt says nothing without an icon"
        self.told.append((title, text, kind))


@pytest.fixture(autouse=True)
def tray(monkeypatch: pytest.MonkeyPatch) -> None:
    Tray.last = None
    monkeypatch.setattr(system_notice, "QSystemTrayIcon", Tray)


def train(window: Window, job: Job, qtbot: QtBot) -> None:
    window.start_run(job)
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)


@pytest.mark.parametrize(("deeds", "word", "kind"), [("", "finished", "Information"), ("bug", "failed", "Critical")])
def test_an_end_is_told_while_another_window_is_in_front(
    window: Window,
    qtbot: QtBot,
    job: Job,
    fake_trainer: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    deeds: str,
    word: str,
    kind: str,
):
    fake_trainer(deeds)
    monkeypatch.setattr(window, "isActiveWindow", lambda: False)
    train(window, job, qtbot)
    assert Tray.last is not None
    assert len(Tray.last.told) == 1
    title, text, shown = Tray.last.told[0]
    assert word in title and text and shown == QSystemTrayIcon.MessageIcon[kind]
    window.go("gallery")
    raised: list[bool] = []
    monkeypatch.setattr(window, "raise_", lambda: raised.append(True))
    Tray.last.messageClicked.emit()
    assert raised
    assert window.places.currentWidget() is window.run_place


def test_nothing_is_told_to_somebody_who_looks_or_does_not_want_it(
    window: Window, qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    fake_trainer("")
    monkeypatch.setattr(window, "isActiveWindow", lambda: True)
    train(window, job, qtbot)
    assert Tray.last is None
    page = window.place("settings")
    assert isinstance(page, SettingsPage)
    assert page.tells.isChecked()
    page.tells.click()
    assert not window.preferences.tells_of_ends
    monkeypatch.setattr(window, "isActiveWindow", lambda: False)
    train(window, job.model_copy(update={"run_dir": Path(f"{job.run_dir}-2")}), qtbot)
    assert Tray.last is None


def test_a_system_without_messages_is_left_in_peace(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Tray, "isSystemTrayAvailable", staticmethod(lambda: False))
    assert not system_notice.is_possible()
