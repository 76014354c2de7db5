"""Cards, and the tile that shows one number."""

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import Stretched, add, column, row


class Card(QFrame):
    """A titled surface with a column of parts. Never put a card into a card."""

    def __init__(self, title: str = "", note: str = "", *, padding: int = 16, gap: int = 12) -> None:
        super().__init__()
        self.setObjectName("card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(padding, padding - 2, padding, padding)
        self.body.setSpacing(gap)
        self.header = QHBoxLayout()
        self.header.setSpacing(8)
        self.title = Label(title, "section")  # Which translates it, and would translate a translation again.
        self.note = Elided(tr(note), "muted")
        if title:
            add(self.header, self.title, (self.note, 1))
            self.body.addLayout(self.header)

    def add(self, *parts: Stretched) -> "Card":
        """Append parts; see `layout.add`."""
        add(self.body, *parts)
        return self


class Tile(QFrame):
    """One number: what it is, its value and unit, one line of context."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName("card")
        self.name = Elided(tr(name), "muted")
        self.value = Label("–", "value")
        self.unit = Label("", "muted")
        self.context = Elided("", "muted")
        layout = column(
            self.name,
            row(self.value, self.unit, None, gap=5),
            self.context,
            gap=2,
            margins=(14, 10, 14, 10),
        )
        self.setLayout(layout)
        self.setMinimumWidth(110)

    def set_name(self, name: str) -> None:
        """Say what the number is; spoken with the next value."""
        self.name.set_text(tr(name))

    def show_value(self, value: str, *, unit: str = "", context: str = "", tone: str = "") -> None:
        """Show a value with its unit and a line of context; `tone` colours the context."""
        context = tr(context)
        self.value.set_text(value)
        self.unit.set_text(unit)
        self.context.set_text(context, tone=tone)
        self.context.update()
        self.setAccessibleName(f"{self.name.text()}: {value} {unit}. {context}")
