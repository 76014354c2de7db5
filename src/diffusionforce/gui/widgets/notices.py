"""Messages inside the page: banner, finding, empty state. None of them blocks the window."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QWidget

from diffusionforce.gui import theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, column, row

SEVERITIES = {"err": "Problem", "warn": "Worth fixing", "info": "Good to know", "ok": "Fine"}


class Banner(QFrame):
    """What happened, what it means, and the buttons that help."""

    def __init__(self, tone: str, title: str, text: str = "", *, icon: str = "", actions: tuple[QWidget, ...] = ()):
        super().__init__()
        title, text = tr(title), tr(text)
        self.setObjectName("banner")
        self.setProperty("tone", tone)
        self.setAccessibleName(f"{title} {text}".strip())
        self.title = Label(title, "strong", wrap=True)
        self.text = Label(text, "body2", wrap=True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = row(gap=12, margins=(16, 12, 12, 12))
        layout.addWidget(Icon(icon or tone, tone, 20), 0, Qt.AlignmentFlag.AlignTop)
        add(layout, (column(self.title, self.text, gap=2), 1))
        for action in actions:
            layout.addWidget(action, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(layout)
        # Not before it has a parent: a label that is shown by itself is a window, and takes the focus.
        self.text.setVisible(bool(text))


class Finding(QWidget):
    """One line of a list of findings: icon by severity, what it is, what it means."""

    def __init__(self, tone: str, title: str, text: str = "", *, wrap: bool = False) -> None:
        super().__init__()
        title, text = tr(title), tr(text)
        self.setObjectName("clear")
        self.setAccessibleName(f"{tr(SEVERITIES[tone])}: {title}. {text}".strip())
        layout = row(gap=12, margins=(0, 8, 0, 8))
        layout.addWidget(Icon(tone, tone, 18), 0, Qt.AlignmentFlag.AlignTop)
        texts = column(Label(title, "strong", wrap=True) if wrap else Elided(title, "strong"), gap=1)
        if text:
            texts.addWidget(Label(text, "small", wrap=True) if wrap else Elided(text, "small"))
        add(layout, (texts, 1))
        self.setLayout(layout)


class Empty(QWidget):
    """A page with nothing to show yet: says what will appear, and offers the next step."""

    WIDTH = 380

    def __init__(self, icon: str, title: str, text: str, *, actions: tuple[Button, ...] = ()) -> None:
        super().__init__()
        self.setObjectName("clear")
        title, text = tr(title), tr(text)
        centre = Qt.AlignmentFlag.AlignHCenter
        words = Label(text, "body2", wrap=True)
        words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        words.setFixedWidth(self.WIDTH)
        # A wrapped label that is aligned in a layout gets too little height, so it is measured here.
        flags = Qt.TextFlag.TextWordWrap.value
        needed = QFontMetrics(theme.font(13)).boundingRect(0, 0, self.WIDTH, 999, flags, text)
        words.setMinimumHeight(needed.height() + 6)
        layout = column(gap=8)
        layout.addStretch(2)
        layout.addWidget(Icon(icon, "text3", 40), 0, centre)
        layout.addWidget(Label(title, "section"), 0, centre)
        layout.addWidget(words, 0, centre)
        add(layout, 4, row(None, *actions, None))
        layout.addStretch(3)
        self.setLayout(layout)
