"""The Profiles place: the built-in profiles and every setting of each, in plain words. Files are edited by hand."""

from pathlib import Path

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QButtonGroup, QFrame, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui.model import plan_words
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.profile_list import in_order
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import add, clear, column, holder, scrolling
from diffusionforce.gui.widgets.list_item import ListItem
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.job import Profile, builtin_profiles, read_profile

LIST_PX, LIST_COMPACT_PX = 288, 240


class ProfilesPage(Page):
    """Shows the profiles."""

    use_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.body.setContentsMargins(0, 0, 0, 0)
        self._profiles: dict[str, Profile | UserError] = {}
        self._paths: dict[str, Path] = builtin_profiles()
        self._name = ""
        self._group = QButtonGroup(self)
        self._pane = QFrame()
        self._pane.setObjectName("pane")
        self._pane.setFixedWidth(LIST_PX)
        self.header = Header("", "")
        self.use = Button("Use in a run", "arrow", kind="primary")
        self.use.clicked.connect(lambda: self.use_asked.emit(self._name))
        self.show_file = Button("Open file", "external")
        self.show_file.clicked.connect(self._open_file)
        self.header.add_actions(self.show_file, self.use)
        self._content = QVBoxLayout()
        self._content.setSpacing(12)
        self._build()
        if self._paths:
            self.choose("pocket-demo" if "pocket-demo" in self._paths else next(iter(self._paths)))

    def _build(self) -> None:
        pane = QVBoxLayout(self._pane)
        pane.setContentsMargins(14, 18, 4, 14)
        pane.setSpacing(2)
        names = column(gap=2, margins=(0, 0, 10, 0))
        add(pane, Label("Profiles", "title"), 10, Label("BUILT IN", "caption"), 2)
        for name, path in self._paths.items():
            try:
                profile: Profile | UserError = read_profile(path)
            except UserError as error:
                profile = error
            self._profiles[name] = profile
        for name, profile in in_order(self._profiles):
            title = profile.title if isinstance(profile, Profile) else name
            item = ListItem(title, _runs_here(profile), icon=_icon(profile), mark="lock")
            item.clicked.connect(lambda _checked=False, n=name: self.choose(n))
            self._group.addButton(item)
            item.setObjectName(name)
            names.addWidget(item)
        names.addStretch(1)
        pane.addWidget(scrolling(holder(names), name="clear"), 1)
        right = QWidget()
        right.setObjectName("page")
        layout = QVBoxLayout(right)
        layout.setContentsMargins(24, 18, 24, 16)
        layout.setSpacing(14)
        inner = holder(column(self._content, None, gap=0))
        inner.setMaximumWidth(1100)
        add(layout, self.header, (scrolling(inner, name="clear"), 1))
        both = QHBoxLayout()
        both.setSpacing(0)
        both.addWidget(self._pane)
        both.addWidget(right, 1)
        self.body.addLayout(both)

    def choose(self, name: str) -> None:
        """Show a profile."""
        self._name = name
        for button in self._group.buttons():
            button.setChecked(button.objectName() == name)
        clear(self._content)
        profile = self._profiles[name]
        self.use.setVisible(isinstance(profile, Profile))
        if isinstance(profile, UserError):
            self.header.set_title(name, "")
            self._content.addWidget(Banner("err", profile.sentence, profile.hint))
            return
        self.header.set_title(profile.title, f"{name}.toml, read-only: copy the file to change it")
        self._content.addWidget(Label(profile.description, "body2", wrap=True))
        refusal = Plan(profile_name=name, profile=profile).refusal()
        if refusal is not None:
            self._content.addWidget(Banner("warn", refusal.sentence, refusal.hint))
        for title, facts in plan_words.facts(profile):
            self._content.addWidget(_section(title, facts))
        if profile.samples.prompts:
            self._content.addWidget(_prompts(profile))

    def _open_file(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._paths[self._name])))

    def set_compact(self, compact: bool) -> None:
        """Narrow the list in a narrow window."""
        super().set_compact(compact)
        self._pane.setFixedWidth(LIST_COMPACT_PX if compact else LIST_PX)


def _section(title: str, facts: list[tuple[str, str]]) -> Card:
    card = Card(title, gap=10)
    grid = QGridLayout()
    grid.setHorizontalSpacing(20)
    grid.setVerticalSpacing(10)
    for i, (name, value) in enumerate(facts):
        grid.addLayout(column(Label(name, "muted"), Elided(value), gap=2), i // 3, i % 3)
    for i in range(3):
        grid.setColumnStretch(i, 1)
    return card.add(grid)


def _prompts(profile: Profile) -> Card:
    card = Card("Preview prompts", gap=8)
    for prompt in profile.samples.prompts:
        trigger = profile.dataset.trigger
        leaks = bool(trigger) and trigger.lower() not in prompt.lower()
        note = "without the trigger word: shows leak" if leaks else ""
        card.add(column(Elided(prompt), *([Label(note, "caption", tone="warn")] if leaks else []), gap=1))
    return card


def _icon(profile: Profile | UserError) -> str:
    if isinstance(profile, UserError):
        return "err"
    if profile.model.engine == "pocket":
        return "bolt"
    return "film" if profile.samples.num_frames > 1 else "image"


def _runs_here(profile: Profile | UserError) -> str:
    if isinstance(profile, UserError):
        return "cannot be read"
    return "runs on any computer" if profile.model.engine == "pocket" else "engine not installed"
