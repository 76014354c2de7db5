"""Short messages at the bottom right: each has room for all of its words."""

from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

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
    for toast in toasts.shown:
        assert toast.height() >= toast.heightForWidth(toast.width())
        for label in toast.findChildren(QLabel):
            assert label.height() >= label.heightForWidth(label.width())
    assert toasts.geometry().bottom() < page.height()
