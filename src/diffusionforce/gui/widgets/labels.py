"""Labels: plain, shortened with an ellipsis, and an icon that follows the theme."""

import re

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.direction import in_line
from diffusionforce.gui.model.language import tr, unbroken

_LONG_WORD = re.compile(r"\S{16,}")
_BREAKING = re.compile(r"[^\W_]{1,11}[\W_]+|[^\W_]{12}")


def set_property(widget: QWidget, name: str, value: str) -> None:
    """Change a property that the style sheet looks at, and have the widget styled anew."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class Label(QLabel):
    """A label whose look comes from its role (`title`, `muted`, ...) and tone (`ok`, `err`, `g0`, ...).

    It says constant words in the language of the window.
    """

    def __init__(self, text: str = "", role: str = "body", *, tone: str = "", wrap: bool = False) -> None:
        super().__init__(in_line(unbroken(self.in_language(text)) if wrap else self.in_language(text)))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setProperty("tone", tone)
        self.setWordWrap(wrap)

    def in_language(self, text: str) -> str:
        """Return what is shown for a text."""
        return tr(text)

    def set_text(self, text: str, *, tone: str | None = None) -> None:
        """Change the text, and the tone where one is given, without needless repaints."""
        text = in_line(unbroken(self.in_language(text)) if self.wordWrap() else self.in_language(text))
        if text != self.text():
            self.setText(text)
        if tone is not None:
            set_property(self, "tone", tone)


class Elided(Label):
    """A label of unknown length: shortened with an ellipsis where it does not fit, whole in its tool tip.

    It shows names and texts of the user as they are, in any language.
    """

    def __init__(
        self,
        text: str = "",
        role: str = "body",
        *,
        tone: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(text, role, tone=tone)
        self._mode = mode
        self.setMinimumWidth(24)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def in_language(self, text: str) -> str:
        """Return the text as it is."""
        return text

    def shown(self) -> str:
        """Return what is to be seen of the text."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self.width())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the shortened text."""
        painter = paint.begin(self)
        painter.setFont(self.font())
        painter.setPen(self.palette().color(self.foregroundRole()))
        shown = self.shown()
        painter.drawText(QRectF(self.rect()), self.alignment() | Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()
        tip = self.text() if shown.replace("\n", " ") != self.text() else ""
        if tip != self.toolTip():
            self.setToolTip(tip)


class FewLines(Elided):
    """An elided label of a few lines: what is longer is shortened, and whole in the tool tip."""

    def __init__(self, text: str = "", role: str = "body", *, max_lines: int) -> None:
        super().__init__(text, role)
        self._max_lines = max_lines

    def shown(self) -> str:
        """Return what is to be seen of the text."""
        return paint.lines(self.text(), width_px=self.width(), max_lines=self._max_lines, font=self.font())


class Wrapped(Label):
    """A sentence with names of the user's in it, shown whole on as many lines as it needs.

    Names of files have no blanks, and Qt breaks lines nowhere else: one long name would push everything beside it out
    of sight. So they may be broken, after signs that join words where there are some.
    """

    def __init__(self, text: str = "", role: str = "body", *, tone: str = "") -> None:
        super().__init__(text, role, tone=tone, wrap=True)
        self.setMinimumWidth(24)

    def in_language(self, text: str) -> str:
        """Return the text as it is, with places to break it."""
        return _LONG_WORD.sub(lambda word: _breakable(word.group()), text)


def _breakable(word: str) -> str:
    """Return a long word with places where a line may end that nobody sees."""
    return _BREAKING.sub("\\g<0>\u200b", word)


class Icon(QWidget):
    """A line icon; decoration for sighted people, so it has no name of its own."""

    def __init__(self, name: str, tone: str = "text2", size: int = 16) -> None:
        super().__init__()
        self._name, self._tone = name, tone
        self.setFixedSize(QSize(size, size))

    def set(self, name: str, tone: str) -> None:
        """Show another icon."""
        if (name, tone) != (self._name, self._tone):
            self._name, self._tone = name, tone
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the icon in its tone."""
        painter = paint.begin(self)
        icons.paint(painter, self._name, QRectF(self.rect()), theme.colour(self._tone).name())
        painter.end()
