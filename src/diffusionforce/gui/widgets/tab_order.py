"""The order in which Tab goes through a window: as it is laid out, rows from the left, columns from the top.

Qt goes in the order in which widgets were made. Here banners, rows and fields come and go while the window is open, and
each would be visited last, wherever it stands. So the order is read from the layouts whenever Tab is pressed.
"""

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLayout, QScrollArea, QStackedWidget, QWidget


def move_focus(window: QWidget, *, forward: bool) -> bool:
    """Move the focus to the next stop of a window, or to the one before; tells whether there is any."""
    stops = list(_stops(window))
    if not stops:
        return False
    here = QApplication.focusWidget()
    while here is not None and here not in stops:
        here = here.parentWidget()
    at = stops.index(here) if here is not None else (-1 if forward else 0)
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    stops[(at + (1 if forward else -1)) % len(stops)].setFocus(reason)
    return True


def _stops(widget: QWidget) -> Iterator[QWidget]:
    """Yield what Tab stops at within a widget, in order."""
    for part in _parts(widget):
        if not part.isVisible():
            continue
        if part.isEnabled() and part.focusPolicy() & Qt.FocusPolicy.TabFocus:
            yield part
        # What can be typed into is one stop, whatever it is made of.
        if not part.focusPolicy() & Qt.FocusPolicy.TabFocus:
            yield from _stops(part)


def _parts(widget: QWidget) -> Iterator[QWidget]:
    if isinstance(widget, QStackedWidget):
        current = widget.currentWidget()
        if current is not None:
            yield current
    elif isinstance(widget, QScrollArea):
        shown = widget.widget()
        if shown is not None:  # pyright: ignore[reportUnnecessaryComparison]
            yield shown
    elif (layout := widget.layout()) is not None:
        yield from _laid_out(layout)
        # What floats over the layout, like messages that go away by themselves, comes after it.
        inside = set(_laid_out(layout))
        yield from (one for one in widget.children() if isinstance(one, QWidget) and one not in inside)
    else:
        yield from (one for one in widget.children() if isinstance(one, QWidget))


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    for index in range(layout.count()):
        item = layout.itemAt(index)
        widget, inner = (item.widget(), item.layout()) if item is not None else (None, None)
        if widget is not None:
            yield widget
        elif inner is not None:
            yield from _laid_out(inner)
