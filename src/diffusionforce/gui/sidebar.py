"""The sidebar: the places of the window, a rail of icons when the window is narrow."""

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QButtonGroup, QFrame, QVBoxLayout

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.nav import Logo, NavItem

WIDTH_PX, RAIL_PX = 196, 64


@dataclass(frozen=True)
class Place:
    """One place: its key in code, icon, word and shortcut."""

    key: str
    icon: str
    word: str
    shortcut: str


PLACES = (
    Place("run", "play", "Run", "Ctrl+1"),
    Place("datasets", "images", "Datasets", "Ctrl+2"),
    Place("profiles", "sliders", "Profiles", "Ctrl+3"),
    Place("gallery", "grid", "Gallery", "Ctrl+4"),
    Place("history", "queue", "Queue", "Ctrl+5"),
    Place("rig", "rig", "Rig", "Ctrl+6"),
    Place("settings", "gear", "Settings", "Ctrl+,"),
)

KEYS, KEYS_SHORTCUT = "keys", "F1"
"""The place that lists the keys."""
INSIDE = {KEYS: "settings"}
"""Places without an item of their own, and whose item is marked while they are open."""


class Sidebar(QFrame):
    """Logo, places, and Settings at the bottom."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("side")
        self.setFixedWidth(WIDTH_PX)
        self._logo = Logo()
        self._group = QButtonGroup(self)
        self._items: dict[str, NavItem] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 16, 12, 12)
        layout.setSpacing(2)
        layout.addWidget(self._logo)
        layout.addSpacing(16)
        for place in PLACES:
            item = NavItem(place.icon, tr(place.word), place.shortcut)
            item.setShortcut(place.shortcut)
            item.clicked.connect(lambda _checked=False, key=place.key: self.chosen.emit(key))
            self._items[place.key] = item
            self._group.addButton(item)
            if place.key == "settings":
                layout.addStretch(1)
            layout.addWidget(item, 0, Qt.AlignmentFlag.AlignTop)
        QShortcut(QKeySequence(KEYS_SHORTCUT), self).activated.connect(lambda: self.chosen.emit(KEYS))

    def choose(self, key: str) -> None:
        """Mark a place without reporting it."""
        key = INSIDE.get(key, key)
        self._items[key].setChecked(True)
        for name, item in self._items.items():
            # One stop for Tab; from there the arrow keys go on. Qt sees to that only where somebody clicked.
            item.setFocusPolicy(Qt.FocusPolicy.TabFocus if name == key else Qt.FocusPolicy.NoFocus)

    def item(self, key: str) -> NavItem:
        """Return the item of a place."""
        return self._items[key]

    def set_badge(self, key: str, badge: str, *, tone: str = "ok") -> None:
        """Show a badge at a place, in a tone."""
        self._items[key].set_badge(badge, tone=tone)

    def retranslate(self) -> None:
        """Call the places by their words in the language in use."""
        for place in PLACES:
            self._items[place.key].set_word(tr(place.word))

    def set_rail(self, rail: bool) -> None:
        """Show icons alone, or icons and words."""
        self.setFixedWidth(RAIL_PX if rail else WIDTH_PX)
        self._logo.rail = rail
        self._logo.update()
        for item in self._items.values():
            item.set_rail(rail)
