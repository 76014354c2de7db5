"""The Settings place. There is no Save button: a change counts at once."""

from pathlib import Path

from PySide6.QtCore import QUrl, qVersion
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

import diffusionforce
from diffusionforce.gui import theme
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.theme import Choice
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import add, column, hairline, holder, row, scrolling
from diffusionforce.gui.widgets.segmented import Segmented
from diffusionforce.job import shipped_dir
from diffusionforce.runs import data_dir, runs_root

CHOICES: tuple[Choice, ...] = ("system", "dark", "light")
MAX_PX = 860


class SettingsPage(Page):
    """Theme, folders, and what this program is."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self.theme = Segmented(("System", "Dark", "Light"), CHOICES.index(preferences.theme))
        self.theme.chosen.connect(self._on_theme)
        look = Card("Look", gap=12)
        look.add(_setting("Theme", "Follows the system unless you choose.", self.theme))
        inner = holder(column(look, _folders(), _about(), None, gap=14))
        inner.setMaximumWidth(MAX_PX)
        content = holder(row((inner, 1), (holder(column()), 0)))
        add(self.body, Header("Settings", "Changes count as you make them."), (scrolling(content, name="clear"), 1))

    def _on_theme(self, index: int) -> None:
        choice = CHOICES[index]
        self._preferences.theme = choice
        self._preferences.save()
        app = QApplication.instance()
        if isinstance(app, QApplication):
            theme.apply(app, choice)


def _setting(name: str, note: str, *widgets: QWidget):
    layout = row((column(Label(name, "strong"), Label(note, "small", wrap=True), gap=1), 1), gap=8)
    add(layout, *widgets)
    return layout


def _folders() -> Card:
    card = Card("Folders", "DIFFUSIONFORCE_HOME moves the first two", gap=12)
    folders = (
        ("Data", "Everything the app keeps.", data_dir()),
        ("Runs", "One folder a run, with samples, LoRA files and log.", runs_root()),
        ("Profiles", "The built-in ones.", shipped_dir("profiles")),
    )
    for i, (name, note, path) in enumerate(folders):
        if i:
            card.add(hairline())
        shown = QLineEdit(str(path))
        shown.setReadOnly(True)
        shown.setCursorPosition(0)
        shown.setAccessibleName(f"{name} folder")
        shown.setFixedWidth(320)
        shown.setToolTip(str(path))
        show = Button("", "folder", tip=f"Open the {name.lower()} folder")
        show.clicked.connect(lambda _checked=False, p=path: _open(p))
        card.add(_setting(name, note, shown, show))
    return card


def _open(path: Path) -> None:
    existing = next(place for place in (path, *path.parents) if place.is_dir())
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(existing)))


def _about() -> Card:
    card = Card("About", gap=6)
    text = (
        f"DiffusionForce {diffusionforce.__version__}, Apache-2.0. It trains LoRAs of diffusion transformers over two "
        f"graphics cards. Qt {qVersion()} (LGPL-3.0). The bundled fonts Inter and JetBrains Mono are under the SIL "
        "Open Font License."
    )
    return card.add(Label(text, "body2", wrap=True))
