"""Short messages at the bottom right: each has room for all of its words."""

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from diffusionforce.gui.widgets import toast
from diffusionforce.gui.widgets.toast import Toasts

LONG = "The originals are kept in the folder originals beside the pictures, and a repair can be undone."


def test_messages_said_at_once_do_not_squeeze_each_other(qtbot: QtBot):
    # Symptom: a second message left both a few pixels high until the next one left.
    page = QWidget()
    page.resize(600, 500)
    qtbot.addWidget(page)
    toasts = Toasts(page)
    page.show()
    for tone, title, text in (("ok", "Set aside: 1 file", LONG), ("ok", "Copied", ""), ("err", "Not written", LONG)):
        toasts.say(tone, title, text)
    qtbot.wait(50)
    assert len(toasts.shown) == 3
    for message in toasts.shown:
        assert message.height() >= message.heightForWidth(message.width())
        for label in message.findChildren(QLabel):
            assert label.height() >= label.heightForWidth(label.width())
    assert toasts.geometry().bottom() < page.height()


def test_a_message_does_not_lie_on_the_field_in_which_somebody_types(qtbot: QtBot):
    # Symptom: "Saved" covered the last field of a form for eight seconds.
    page = QWidget()
    page.resize(1000, 600)
    qtbot.addWidget(page)
    field, wide, toasts = QLineEdit(page), QPlainTextEdit(page), Toasts(page)
    field.setGeometry(700, 540, 280, 32)
    wide.setGeometry(0, 300, 1000, 300)
    page.show()
    page.activateWindow()
    toasts.say("ok", "Saved")
    usual = toasts.geometry()
    assert usual.intersects(field.geometry())
    for typed_in in (field, wide):
        typed_in.setFocus()
        qtbot.waitUntil(lambda each=typed_in: QApplication.focusWidget() is each)
        assert not toasts.geometry().intersects(QRect(typed_in.mapTo(page, QPoint()), typed_in.size()))
    toasts.shown[0].act.setVisible(True)
    before = toasts.geometry()
    toasts.shown[0].dismiss.setFocus()
    assert toasts.geometry() == before, "its buttons do not run away"
    field.setFocus()
    field.clearFocus()
    assert toasts.geometry() == usual


def test_a_message_is_read_out(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    monkeypatch.setattr(toast, "announce", lambda _widget, words: read.append(words))
    page = QWidget()
    qtbot.addWidget(page)
    Toasts(page).say("ok", "Copied", "to the clipboard")
    assert read == ["Copied. to the clipboard"]


def test_a_message_stays_while_the_keyboard_is_in_it(qtbot: QtBot):
    page = QWidget()
    page.resize(600, 500)
    qtbot.addWidget(page)
    toasts, done = Toasts(page), []
    page.show()
    page.activateWindow()
    message = toasts.say("info", "Removed", action="Undo", do=lambda: done.append(1))
    message.act.setFocus()
    qtbot.waitUntil(message.act.hasFocus)
    message._on_time()
    assert toasts.shown == [message] and message._timer.isActive()
    toasts.act()
    assert done == [1] and not toasts.shown


def test_the_way_back_stays_longer_and_behind_other_messages(qtbot: QtBot):
    # Symptom: the only way to have a deleted file back was gone after eight seconds.
    page = QWidget()
    page.resize(600, 500)
    qtbot.addWidget(page)
    toasts, done = Toasts(page), []
    page.show()
    undo = toasts.say("info", "Deleted", action="Undo", do=lambda: done.append(1))
    others = [toasts.say("ok", f"Saved {number}") for number in range(3)]
    assert undo._timer.interval() >= 60_000 > others[0]._timer.interval()
    assert toasts.shown == [undo, *others[1:]]
    toasts.act()
    assert done == [1] and toasts.shown == others[1:]
