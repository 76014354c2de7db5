"""Rows, columns and holders in one line each."""

from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QResizeEvent
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


class Scroller(QScrollArea):
    """A vertical scroll area that gives its content the height that wrapped labels need at this width.

    A scroll area of Qt asks its content for a smallest height without telling it the width, and wrapped labels then
    name one line too few.
    """

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # No focus, so Tab does not stop at it.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._content = content
        self.setWidget(content)
        content.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the height when the content changed; swallow nothing."""
        if event.type() == QEvent.Type.LayoutRequest and watched is self._content:
            self._fit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the height to the new width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        if self._content.hasHeightForWidth():
            self._content.setMinimumHeight(self._content.heightForWidth(self.viewport().width()))
        else:
            # What was needed before the last wrapped label went must not stay.
            self._content.setMinimumHeight(0)


def scrolling(widget: QWidget, *, name: str = "") -> Scroller:
    """Return a vertical scroll area around a widget; `name` picks its surface in the style sheet."""
    area = Scroller(widget)
    area.setObjectName(name)
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
