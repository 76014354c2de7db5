"""Short messages at the bottom right: each has room for all of its words."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLabel, QLayout, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot
from tests.gui import recorded
from tests.gui.test_look import show_dataset, show_gallery, show_own_profile, show_run, wait_for

from diffusionforce.gui.pages.history import HistoryPage
from diffusionforce.gui.pages.run import RunPlace
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets import toast
from diffusionforce.gui.widgets.layout import column
from diffusionforce.gui.widgets.toast import Toasts

LONG = "The originals are kept in the folder originals beside the pictures, and a repair can be undone."


@pytest.fixture
def toasts(qtbot: QtBot) -> Iterator[Toasts]:
    """The messages of a page with a field at its very bottom."""
    page, made = QWidget(), Toasts()
    page.resize(600, 500)
    qtbot.addWidget(page)
    layout = column((QPlainTextEdit(), 1), made)
    layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # A window of this platform takes none.
    page.setLayout(layout)
    page.show()
    page.activateWindow()
    yield made
    page.close()


def test_messages_said_at_once_do_not_squeeze_each_other(toasts: Toasts, qtbot: QtBot):
    # Symptom: a second message left both a few pixels high until the next one left.
    for tone, title, text in (("ok", "Set aside: 1 file", LONG), ("ok", "Copied", ""), ("err", "Not written", LONG)):
        toasts.say(tone, title, text)
    qtbot.wait(50)
    assert len(toasts.shown) == 3
    for message in toasts.shown:
        assert message.height() >= message.heightForWidth(message.width())
        for label in message.findChildren(QLabel):
            assert label.height() >= label.heightForWidth(label.width())
    assert toasts.geometry().bottom() < toasts.window().height()


def show_history(window: Window, home: Path) -> None:
    for i in range(12):
        recorded.run_folder(home / "runs" / f"2026-01-02-1000{i:02d}-pocket-demo", end="done", upto=4)
    window.go("history")
    page = window.place("history")
    assert isinstance(page, HistoryPage)
    wait_for(lambda: len(page.past_rows) == 12)


def show_shelf(window: Window, home: Path) -> None:
    show_own_profile(edits={"lora.rank": "8"})(window, home)


def show_pictures(window: Window, home: Path) -> None:
    show_dataset("fix")(window, home)


@pytest.mark.parametrize("show", [show_history, show_shelf, show_pictures, show_gallery, show_run("done")])
def test_a_message_covers_nothing_that_can_be_clicked(
    show: Callable[[Window, Path], None], make_window: Callable[..., Window], home: Path, qtbot: QtBot
):
    # Symptom: the message about one deleted run lay on the buttons of two others, for a minute.
    window = make_window(1100, 720)
    home.mkdir(exist_ok=True)
    show(window, home)
    page = window.places.currentWidget()
    page = page.live if isinstance(page, RunPlace) else page
    (toasts,) = page.findChildren(Toasts)
    toasts.say("info", "Run deleted", LONG, action="Undo", do=lambda: None)
    qtbot.wait(200)
    (message,) = toasts.shown
    assert message.visibleRegion().boundingRect().size() == message.size()
    seen = 0
    for widget in page.findChildren(QWidget):
        if isinstance(widget, QAbstractButton | QLineEdit | QAbstractItemView) and not widget.visibleRegion().isEmpty():
            where = widget.visibleRegion().boundingRect().bottomRight()
            found = page.childAt(widget.mapTo(page, where))
            assert found is not None and (found is widget or widget.isAncestorOf(found)), widget.accessibleName()
            seen += 1
    assert seen > 3
    message.leave()
    assert not toasts.isVisible()


def test_a_message_is_read_out(toasts: Toasts, monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    monkeypatch.setattr(toast, "announce", lambda _widget, words: read.append(words))
    toasts.say("ok", "Copied", "to the clipboard")
    assert read == ["Copied. to the clipboard"]


def test_a_message_stays_while_the_keyboard_is_in_it(toasts: Toasts, qtbot: QtBot):
    done: list[int] = []
    message = toasts.say("info", "Removed", action="Undo", do=lambda: done.append(1))
    message.act.setFocus()
    qtbot.waitUntil(message.act.hasFocus)
    message._on_time()
    assert toasts.shown == [message] and message._timer.isActive()
    toasts.act()
    assert done == [1] and not toasts.shown


def test_the_way_back_stays_longer_and_behind_other_messages(toasts: Toasts):
    # Symptom: the only way to have a deleted file back was gone after eight seconds.
    done: list[int] = []
    undo = toasts.say("info", "Deleted", action="Undo", do=lambda: done.append(1))
    others = [toasts.say("ok", f"Saved {number}") for number in range(3)]
    assert undo._timer.interval() >= 60_000 > others[0]._timer.interval()
    assert toasts.shown == [undo, *others[1:]]
    toasts.act()
    assert done == [1] and toasts.shown == others[1:]
