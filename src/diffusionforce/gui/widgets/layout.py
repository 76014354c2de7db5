"""Rows, columns and holders in one line each."""

from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

Part: TypeAlias = QWidget | QLayout | int | None
Stretched: TypeAlias = Part | tuple[QWidget | QLayout, int]


def add(layout: QBoxLayout, *parts: Stretched) -> None:
    """Append parts: a widget or layout, `(part, stretch)`, a number of pixels, or None for free space."""
    for part in parts:
        stretch = 0
        if isinstance(part, tuple):
            part, stretch = part
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, int):
            layout.addSpacing(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part, stretch)
        else:
            layout.addWidget(part, stretch)


def row(*parts: Stretched, gap: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QHBoxLayout:
    """Return a row of parts; see `add`."""
    layout = QHBoxLayout()
    layout.setSpacing(gap)
    layout.setContentsMargins(*margins)
    add(layout, *parts)
    return layout


def column(*parts: Stretched, gap: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QVBoxLayout:
    """Return a column of parts; see `add`."""
    layout = QVBoxLayout()
    layout.setSpacing(gap)
    layout.setContentsMargins(*margins)
    add(layout, *parts)
    return layout


def holder(layout: QLayout, *, name: str = "clear") -> QWidget:
    """Return a widget around a layout; `name` picks its surface in the style sheet."""
    widget = QWidget()
    widget.setObjectName(name)
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, True)
    widget.setLayout(layout)
    return widget


def hairline() -> QFrame:
    """Return a horizontal hairline."""
    line = QFrame()
    line.setObjectName("hline")
    return line


def scrolling(widget: QWidget, *, name: str = "") -> QScrollArea:
    """Return a vertical scroll area around a widget. It takes no focus, so Tab does not stop at it."""
    area = QScrollArea()
    area.setObjectName(name)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(widget)
    return area


def clear(layout: QLayout) -> None:
    """Remove and delete everything in a layout."""
    while layout.count():
        item = layout.takeAt(0)
        if item is None:
            return
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()
        else:
            child = item.layout()
            if child is not None:
                clear(child)
