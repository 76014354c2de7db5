"""Tells screen readers what appears without getting the focus: messages, and how a run ended."""

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, words: str) -> None:
    """Have a text read out; nothing happens where nobody listens.

    Args:
        widget: Where it appears.
        words: What is to be read, in the language of the window.
    """
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))
