"""The Datasets place: look at the pictures and captions of a folder, with what was found about them."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QButtonGroup, QFileDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background, dataset_reading
from diffusionforce.gui.model import words
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import add, clear, column, hairline, holder, scrolling
from diffusionforce.gui.widgets.list_item import ListItem
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.notices import Finding as FindingLine
from diffusionforce.gui.widgets.pick_card import dropped_path, is_folder
from diffusionforce.gui.widgets.picture_wall import PictureWall

if TYPE_CHECKING:
    from diffusionforce.datasets import Dataset, Finding

LIST_PX, LIST_COMPACT_PX = 250, 208
MAX_FINDINGS = 5


class DatasetsPage(Page):
    """Shows one folder at a time. Nothing in it is written to."""

    train_asked = Signal(str)

    def __init__(self, preferences: Preferences, store: PictureStore) -> None:
        super().__init__()
        self.body.setContentsMargins(0, 0, 0, 0)
        self._preferences, self._store = preferences, store
        self._choice, self._reading = "", 0
        self._group = QButtonGroup(self)
        self._names = QVBoxLayout()
        self._names.setSpacing(2)
        self._pane = QFrame()
        self._pane.setObjectName("pane")
        self._pane.setFixedWidth(LIST_PX)
        self.header = Header("", "")
        self.add_folder = Button("Choose a folder", "folder")
        self.add_folder.clicked.connect(self._browse)
        self.train = Button("Train with this", "play", kind="primary")
        self.train.clicked.connect(lambda: self.train_asked.emit(self._choice))
        self.header.add_actions(self.add_folder, self.train)
        self._findings = QVBoxLayout()
        self.wall = PictureWall(store)
        self.setAcceptDrops(True)
        self._build()

    def _build(self) -> None:
        names = QVBoxLayout(self._pane)
        names.setContentsMargins(14, 18, 14, 14)
        add(names, Label("Datasets", "title"), 8, self._names, None)
        right = QWidget()
        right.setObjectName("page")
        layout = QVBoxLayout(right)
        layout.setContentsMargins(24, 18, 24, 16)
        layout.setSpacing(14)
        choose = Button("Choose a folder", "folder", kind="primary")
        choose.clicked.connect(self._browse)
        text = (
            "Drop a folder of pictures here, or choose one. Captions are text files with the same name. Your files "
            "are only read, never changed."
        )
        self._empty = Empty("images", "No dataset chosen", text, actions=(choose,))
        self._content = scrolling(holder(column(self._findings, self.wall, None, gap=14)), name="clear")
        add(layout, self.header, (self._content, 1), (self._empty, 1))
        both = QHBoxLayout()
        both.setSpacing(0)
        both.addWidget(self._pane)
        both.addWidget(right, 1)
        self.body.addLayout(both)
        self._content.hide()
        self.train.hide()

    def shown(self) -> None:
        """List the folders again; open the first one the first time."""
        self._fill_names()
        if not self._choice:
            choice = self._preferences.dataset or next(iter(dataset_reading.demo_choices()), "")
            if choice:
                self.choose(choice)

    def _fill_names(self) -> None:
        clear(self._names)
        groups = (
            ("WITH THE APP", dataset_reading.demo_choices()),
            ("MINE", [path for path in self._preferences.recent_datasets if Path(path).is_dir()]),
        )
        for title, choices in groups:
            if choices:
                self._names.addWidget(Label(title, "caption"))
            for choice in choices:
                note = "comes with the app" if choice.startswith("demo:") else choice
                item = ListItem(dataset_reading.title(choice), note, icon="images")
                item.setObjectName(choice)
                item.setChecked(choice == self._choice)
                item.clicked.connect(lambda _checked=False, c=choice: self.choose(c))
                self._group.addButton(item)
                self._names.addWidget(item)

    def _browse(self) -> None:
        path = QFileDialog.getExistingDirectory(self, "Choose a folder of captioned pictures")
        if path:
            self.choose(path)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome a dragged folder."""
        if is_folder(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Show the dropped folder."""
        event.acceptProposedAction()
        self.choose(dropped_path(event))

    def choose(self, choice: str) -> None:
        """Read a dataset on a thread and show it."""
        self._choice = choice
        self._reading += 1
        asked = self._reading
        self._fill_names()
        self.header.set_title(dataset_reading.title(choice), "Checking the pictures")
        self._empty.hide()
        self._content.show()
        self.train.setVisible(True)
        self.train.allow(False, reason="The pictures are being checked.")
        clear(self._findings)
        self.wall.show_items(())

        def progress(done: int, total: int) -> None:
            background.tell(self, self._show_progress, (asked, done, total))

        background.run(
            self,
            lambda: dataset_reading.read(choice, progress=progress),
            done=lambda dataset: self._show(asked, dataset),
            failed=lambda error: self._refuse(asked, error),
        )

    def _show_progress(self, news: tuple[int, int, int]) -> None:
        asked, done, total = news
        if asked == self._reading:
            self.header.set_title(dataset_reading.title(self._choice), f"Checking {done} of {total}")

    def _refuse(self, asked: int, error: UserError) -> None:
        if asked == self._reading:
            self.header.set_title(dataset_reading.title(self._choice), "cannot be trained on")
            self.train.allow(False, reason=error.sentence)
            self._findings.addWidget(Banner("err", error.sentence, error.hint))

    def _show(self, asked: int, dataset: "Dataset") -> None:
        if asked != self._reading:
            return
        self.train.allow(True)
        self._preferences.remember_folder(self._choice)
        self._fill_names()
        note = f"{words.count(len(dataset.items), 'picture')} with captions in {dataset.root}"
        self.header.set_title(dataset_reading.title(self._choice), note)
        if dataset.findings:
            self._findings.addWidget(_findings_card(dataset.findings))
        self.wall.show_items(dataset.items)

    def set_compact(self, compact: bool) -> None:
        """Narrow the list in a narrow window."""
        super().set_compact(compact)
        self._pane.setFixedWidth(LIST_COMPACT_PX if compact else LIST_PX)


def _findings_card(findings: "tuple[Finding, ...]") -> Card:
    card = Card("Worth knowing before training", f"{words.count(len(findings), 'finding')}", gap=0)
    ordered = sorted(findings, key=lambda finding: not finding.left_out)
    for i, finding in enumerate(ordered[:MAX_FINDINGS]):
        if i:
            card.add(hairline())
        tone = "err" if finding.left_out else "warn"
        sentence = f"{finding.sentence} It is left out." if finding.left_out else finding.sentence
        card.add(FindingLine(tone, sentence, finding.hint))
    if len(ordered) > MAX_FINDINGS:
        card.add(Label(f"and {len(ordered) - MAX_FINDINGS} more like these", "muted"))
    return card
