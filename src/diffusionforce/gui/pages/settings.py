"""The Settings place. There is no Save button: a change counts at once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QUrl, Signal, qVersion
from PySide6.QtGui import QDesktopServices, QHideEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QHBoxLayout

import diffusionforce
from diffusionforce.gui import theme
from diffusionforce.gui.model import language
from diffusionforce.gui.model.language import LANGUAGES, noted, tr
from diffusionforce.gui.pages.gallery import COMFY_KEY
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pages.settings_cards import FIELD_PX, HubCard, UpdatesCard, setting
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.rig_watch import RigWatch
from diffusionforce.gui.theme import Choice
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import column, hairline, holder, scrolling
from diffusionforce.gui.widgets.path_line import PathLine
from diffusionforce.gui.widgets.segmented import Segmented
from diffusionforce.gui.widgets.toast import Toasts
from diffusionforce.gui.widgets.toggle import Toggle
from diffusionforce.job import own_profiles_dir, shipped_dir
from diffusionforce.runs import data_dir, runs_root

CHOICES: tuple[Choice, ...] = ("system", "dark", "light")
ALONE: tuple[Literal["go_on", "stop"], ...] = ("go_on", "stop")
MAX_PX = 860
FOLDERS = (
    ("Data", "Everything the app keeps."),
    ("Runs", "One folder a run, with previews, LoRA files and log."),
    ("Own profiles", "One TOML file each."),
    ("Models", "What was downloaded."),
    ("Built-in profiles", "They come with the app."),
)


class SettingsPage(Page):
    """Look, language, token, folders, engine, first steps, reset, and what this program is."""

    language_changed = Signal()
    first_steps_asked = Signal()
    environment_asked = Signal()
    keys_asked = Signal()

    def __init__(self, preferences: Preferences, watch: RigWatch, *, is_training: Callable[[], bool]) -> None:
        """Build the page.

        Args:
            preferences: What the window remembers.
            watch: Who looks at the machine.
            is_training: Whether a run goes on in this window; engine and environment are left alone then.
        """
        super().__init__()
        self._preferences, self._watch, self._is_training = preferences, watch, is_training
        self.toasts = Toasts()

    def build(self) -> Iterator[None]:
        """Build the header, then card after card."""
        parts = column(None, gap=14)
        inner = holder(parts)
        inner.setMaximumWidth(MAX_PX)
        self.body.addWidget(Header("Settings", "Changes are saved as you make them."))
        self.body.addWidget(scrolling(inner, name="clear"), 1)
        self.body.addWidget(self.toasts)
        for make in (
            self._look_card,
            self._hub_card,
            lambda: _folders(self._preferences),
            self._updates_card,
            self._help_card,
            _about,
        ):
            yield
            parts.insertWidget(parts.count() - 1, make())

    def _look_card(self) -> Card:
        preferences = self._preferences
        self.theme = Segmented(("System", "Dark", "Light"), CHOICES.index(preferences.theme))
        self.theme.chosen.connect(self._on_theme)
        codes = list(LANGUAGES)
        self.language = Segmented(tuple(LANGUAGES.values()), codes.index(language.current()))
        self.language.chosen.connect(lambda index: self._on_language(codes[index]))
        look = Card("Window", gap=12)
        look.add(setting("Theme", "Follows the system unless you choose.", self.theme), hairline())
        look.add(setting("Language", "Of the window; logs stay English.", self.language))
        self.tells = Toggle(tr("Tell when a run ends"))
        self.tells.setChecked(preferences.tells_of_ends)
        self.tells.clicked.connect(self._on_tells)
        told = setting("Tell when a run ends", "The system says it while another window is in front.", self.tells)
        look.add(hairline(), told)
        self.when_alone = Segmented(("Goes on", "Saves and stops"), ALONE.index(preferences.when_alone))
        self.when_alone.chosen.connect(self._on_when_alone)
        note = noted("What runs started from now on do if the window crashes. Closing the window asks.")
        return look.add(hairline(), setting("A run without its window", note, self.when_alone))

    def _hub_card(self) -> Card:
        self.hub = HubCard(self._preferences)
        return self.hub

    def _updates_card(self) -> Card:
        self.updates = UpdatesCard(self._watch, is_training=self._is_training)
        self.updates.environment_asked.connect(self.environment_asked)
        return self.updates

    def _help_card(self) -> Card:
        card = Card("Help and reset", gap=12)
        self.first_steps = Button("Open first steps", "arrow")
        self.first_steps.clicked.connect(self.first_steps_asked)
        self.reset = Button("Reset the window", "undo")
        self.reset.clicked.connect(self._on_reset)
        card.add(setting("First steps", "Looks at your rig and trains the demo, step by step.", self.first_steps))
        self.keys = Button("Show the keys", "arrow", tip="F1")
        self.keys.clicked.connect(self.keys_asked)
        card.add(hairline(), setting("Keys", "The short ways through every place, without a mouse.", self.keys))
        note = noted("Forgets theme, language, sizes and last choices. Runs, profiles and the token stay.")
        return card.add(hairline(), setting("Reset", note, self.reset))

    def shown(self) -> None:
        """Look at what is outside the window."""
        self.hub.shown()
        self.updates.shown()

    def hideEvent(self, event: QHideEvent) -> None:
        """Let go of what only this page needs; with the window, everything ends."""
        super().hideEvent(event)
        if self.is_complete:
            self.updates.engine.rest(for_good=not self.window().isVisible())

    def _on_theme(self, index: int) -> None:
        self._preferences.theme = CHOICES[index]
        self._preferences.save()
        self._apply_theme()

    def _apply_theme(self) -> None:
        app = QApplication.instance()
        if isinstance(app, QApplication):
            theme.apply(app, self._preferences.theme)

    def _on_tells(self, wanted: bool) -> None:
        self._preferences.tells_of_ends = wanted
        self._preferences.save()

    def _on_when_alone(self, index: int) -> None:
        self._preferences.when_alone = ALONE[index]
        self._preferences.save()

    def _on_language(self, code: str) -> None:
        if code != language.current():
            self._preferences.language = code
            self._preferences.save()
            language.use(code)
            self.updates.engine.rest(for_good=True)
            self.language_changed.emit()

    def _on_reset(self) -> None:
        before = self._preferences.reset()
        kept = before.get("hub_token")
        if kept:
            self._preferences.restore({"hub_token": kept})
        self._take_preferences()
        title, text = tr("The window is as at its first start"), tr("Sizes follow when it opens again.")
        self.toasts.say("ok", title, text, action=tr("Undo"), do=lambda: self._undo_reset(before))

    def _undo_reset(self, before: dict[str, object]) -> None:
        self._preferences.restore(before)
        self._take_preferences()

    def _take_preferences(self) -> None:
        self._preferences.save()
        self.theme.choose(CHOICES.index(self._preferences.theme))
        self._apply_theme()
        self.tells.setChecked(self._preferences.tells_of_ends)
        self.when_alone.choose(ALONE.index(self._preferences.when_alone))
        self.language.choose(list(LANGUAGES).index(self._preferences.language))
        self._on_language(self._preferences.language)


def _folders(preferences: Preferences) -> Card:
    card = Card("Folders", "DIFFUSIONFORCE_HOME moves the first four", gap=12)
    paths = (data_dir(), runs_root(), own_profiles_dir(), data_dir() / "models", shipped_dir("profiles"))
    for i, ((name, note), path) in enumerate(zip(FOLDERS, paths, strict=True)):
        if i:
            card.add(hairline())
        shown = PathLine(str(path), name=tr(name))
        shown.setFixedWidth(FIELD_PX)
        show = Button("", "folder", tip="Open the folder")
        show.setAccessibleName(f"{tr('Open the folder')}: {tr(name)}")
        show.clicked.connect(lambda _checked=False, p=path: _open(p))
        card.add(setting(name, note, shown, show))
    return card.add(hairline(), _comfy_line(preferences))


def _comfy_line(preferences: Preferences) -> QHBoxLayout:
    shown = PathLine(preferences.text(COMFY_KEY), name="ComfyUI")
    shown.setPlaceholderText(tr("not chosen"))
    shown.setFixedWidth(FIELD_PX)
    choose = Button("", "folder", tip="Choose the folder of ComfyUI")

    def browse() -> None:
        path = QFileDialog.getExistingDirectory(choose, tr("Choose the folder of ComfyUI"), shown.path)
        if path:
            preferences.set_text(COMFY_KEY, path)
            preferences.save()
            shown.show_path(path)

    choose.clicked.connect(browse)
    return setting("ComfyUI", "LoRA files are copied to its models/loras.", shown, choose)


def _open(path: Path) -> None:
    existing = next(place for place in (path, *path.parents) if place.is_dir())
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(existing)))


def _about() -> Card:
    card = Card("About", gap=6)
    text = tr(
        "DiffusionForce {version}, Apache-2.0. It trains LoRAs of diffusion transformers over two graphics cards. "
        "Qt {qt} (LGPL-3.0). The bundled fonts Inter and JetBrains Mono are under the SIL Open Font License."
    )
    return card.add(Label(text.format(version=diffusionforce.__version__, qt=qVersion()), "body2", wrap=True))
