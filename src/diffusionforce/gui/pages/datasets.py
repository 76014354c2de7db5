"""The Datasets place: folders of pictures with captions, what is wrong with them, and what the model will see."""

from collections.abc import Iterator

from PySide6.QtCore import Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QHideEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QVBoxLayout, QWidget

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import dataset_title
from diffusionforce.gui.model.dataset_library import DatasetLibrary, Entry
from diffusionforce.gui.model.dataset_table import FindingLine
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.datasets_dropping import dropped_folders
from diffusionforce.gui.pages.datasets_files import FilesPane
from diffusionforce.gui.pages.datasets_findings import FindingsCard
from diffusionforce.gui.pages.datasets_folders import FoldersPanel
from diffusionforce.gui.pages.datasets_header import DatasetsHeader
from diffusionforce.gui.pages.datasets_inspector import Inspector
from diffusionforce.gui.pages.datasets_list import DatasetList
from diffusionforce.gui.pages.datasets_trigger import TriggerPanel
from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import FIRST_PROFILE, Preferences
from diffusionforce.gui.thumbnails import Thumbnails
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.layout import add, clear, column, holder, row
from diffusionforce.gui.widgets.notices import Banner, Empty
from diffusionforce.gui.widgets.toast import Toast, Toasts

NARROW_PX, CENTRE_PX = 1200, 340
_EMPTY = (
    "Drop a folder of pictures here. Captions are text files with the same name. Your files are only read, and never "
    "changed without asking."
)


class DatasetsPage(Page):
    """Shows one dataset at a time."""

    train_asked = Signal(str)

    def __init__(self, preferences: Preferences, _store: PictureStore) -> None:
        super().__init__()
        self.body.setContentsMargins(0, 0, 0, 0)
        self.setAcceptDrops(True)
        self._preferences = preferences
        self.library = DatasetLibrary()
        for folder in reversed(preferences.recent_datasets):
            self.library.add(folder)
        self.desk = DatasetDesk(self.library, self)
        self.thumbnails = Thumbnails(self)
        self._is_narrow: bool | None = None
        self._offer: tuple[Toast, int] | None = None
        """The message that offers to undo the last step, and how many steps there were then."""
        self._is_new = False
        """Whether the dataset was opened, and it is not known yet whether it can be trained on."""
        self.toasts = Toasts(margins=(0, 0, 0, 8))

    def build(self) -> Iterator[None]:
        """Build the three panes, each at its width from the first."""
        self.list = DatasetList(self.library, self.thumbnails)
        self.inspector = Inspector(self.desk, self.thumbnails)
        self._fit(self.list, self.inspector)
        self.body.addLayout(row(self.list, (self._build_centre(), 1), self.inspector, gap=0))
        yield
        self.header = DatasetsHeader(self.desk)
        self._centre.insertWidget(0, self.header)
        self.header.hide()
        self.trigger_panel, self.folders_panel = TriggerPanel(self.desk), FoldersPanel(self.desk)
        add(self._inside, self.trigger_panel, self.folders_panel)
        yield
        self.findings = FindingsCard(self.desk)
        self._inside.addWidget(self.findings)
        yield
        yield from self.inspector.build()
        self.files = FilesPane(self.desk, self.thumbnails, self.inspector)
        self._inside.addWidget(self.files, 1)
        yield from self.files.build()
        self._connect()
        self._fit(self.header, self.inspector, self.files, self.findings)
        self._is_narrow = self._narrows
        self._look_through_profile()
        yield
        self._show()

    def _build_centre(self) -> QWidget:
        choose = Button("Choose a folder", "folder", kind="primary")
        choose.clicked.connect(self.list.browse)
        self._empty = Empty("images", "No datasets yet", _EMPTY, actions=(choose,))
        self._empty.hide()
        self._problem = QVBoxLayout()
        self._inside = column(gap=12)
        self._content = holder(self._inside)
        self._content.hide()
        centre = QWidget()
        centre.setObjectName("page")
        # Less than its parts ask for, so that the window can be made so small that they become narrow.
        centre.setMinimumSize(CENTRE_PX, CENTRE_PX)
        self._centre = QVBoxLayout(centre)
        self._centre.setContentsMargins(22, 18, 18, 8)
        self._centre.setSpacing(14)
        self._rest = holder(column())
        add(self._centre, self._problem, (self._content, 1), (self._empty, 1), (self._rest, 1), self.toasts)
        return centre

    def _connect(self) -> None:
        desk, header, files = self.desk, self.header, self.files
        desk.opened.connect(self._on_opened)
        desk.changed.connect(self._show)
        desk.captions_changed.connect(self._on_captions)
        desk.said.connect(self._say)
        for panel in (self.trigger_panel, self.folders_panel):
            panel.turned.connect(self._make_room)
        self.list.chosen.connect(self.choose)
        self.list.removed.connect(self._remove)
        header.undo.clicked.connect(desk.undo)
        header.again.clicked.connect(desk.check_again)
        header.folders.clicked.connect(lambda: self._turn(self.folders_panel))
        for button in (header.trigger, header.trigger_icon):
            button.clicked.connect(lambda: self._turn(self.trigger_panel))
        header.search.clicked.connect(files.open_search)
        header.train.clicked.connect(lambda: self.train_asked.emit(desk.choice))
        self.findings.files_asked.connect(files.show_kind)
        self.findings.write_asked.connect(self._write_captions)
        for keys, deed in (
            ("Ctrl+Z", desk.undo),
            ("Ctrl+O", self.list.browse),
            ("F5", desk.check_again),
            ("Ctrl+F", files.open_search),
            ("Ctrl+S", self.inspector.save),
        ):
            QShortcut(QKeySequence(keys), self, deed)

    def shown(self) -> None:
        """List the datasets again; open one the first time."""
        self._look_through_profile()
        if not self.desk.choice:
            own = [entry.choice for entry in self.library.own]
            last = self._preferences.dataset
            choice = last or next(iter([*own, *dataset_title.demo_choices()]), "")
            if choice:
                self.choose(choice)
        self.list.show_choice(self.desk.choice)

    def _look_through_profile(self) -> None:
        # Without a choice, through the profile that a new run begins with.
        self.desk.use_profile(self._preferences.profile or FIRST_PROFILE)
        self.inspector.seen.offer_sizes(self.desk.view.size)

    def choose(self, choice: str) -> None:
        """Open a dataset: `demo:NAME`, a folder or a set."""
        self.inspector.save()
        if not choice.startswith("demo:"):
            self.library.add(choice)
        self.desk.open(choice)

    def _remove(self, choice: str) -> None:
        title = self.library.title(choice)
        removed, was_open = self.library.remove(choice), choice == self.desk.choice
        self._preferences.forget_folder(choice)
        if was_open:
            self.choose(next(iter([entry.choice for entry in self.library.own] + dataset_title.demo_choices()), ""))
        self.list.show_choice(self.desk.choice)
        text = tr("Its files stay where they are.")
        name = tr("Removed from the list: {title}").format(title=title)
        self.toasts.say("info", name, text, action="Undo", do=lambda: self._restore(removed, opens=was_open))

    def _restore(self, removed: Entry, *, opens: bool) -> None:
        self.library.restore(removed)
        if opens:
            self.choose(removed.choice)
        self.list.show_choice(self.desk.choice)

    def _on_opened(self) -> None:
        self._withdraw_offer()
        self._is_new = True
        self.files.reset()
        self.thumbnails.forget()
        self.trigger_panel.hide()
        self.folders_panel.hide()
        self.list.show_choice(self.desk.choice)
        self._show()

    def _show(self) -> None:
        """Show the open dataset as it is known now."""
        desk = self.desk
        is_open, table = bool(desk.choice), desk.table
        self._empty.setVisible(not is_open)
        self.inspector.setVisible(is_open and desk.problem is None)
        self._content.setVisible(is_open and desk.problem is None)
        self._rest.setVisible(is_open and desk.problem is not None)
        clear(self._problem)
        if desk.problem is not None:
            self._problem.addWidget(self._banner())
            self.inspector.show_rows([])
        self.header.show_desk()
        self.findings.show_desk()
        self.files.show_counts()
        if table.is_checked and is_open and desk.problem is None:
            self._preferences.remember_folder(desk.choice)
            self.list.show_choice(desk.choice)
            self._offer_to_plan()
        self.files.fill()

    def _offer_to_plan(self) -> None:
        """Have the next run planned with what was opened here, where it is the user's own."""
        if self._is_new and self.desk.table.used and self.isVisible():
            self._is_new = False
            self._preferences.opened_dataset = "" if self.desk.choice.startswith("demo:") else self.desk.choice

    def _banner(self) -> Banner:
        error = self.desk.problem
        assert error is not None
        find = Button("Find folder", "folder", size="small")
        find.clicked.connect(self.list.browse)
        remove = Button("Remove from the list", kind="ghost", size="small")
        remove.clicked.connect(lambda: self._remove(self.desk.choice))
        return Banner("err", error.sentence, error.hint, actions=(find, remove))

    def _write_captions(self, line: FindingLine) -> None:
        self.files.show_kind(line.kind.key)
        self.inspector.focus_caption()

    def _turn(self, panel: TriggerPanel | FoldersPanel) -> None:
        if panel.isVisible():
            panel.hide()
        else:
            for other in (self.trigger_panel, self.folders_panel):
                other.hide()
            panel.open()

    def _make_room(self) -> None:
        """Let a panel stand in the place of the findings: there is no room for both in a low window."""
        self.findings.setVisible(self.trigger_panel.isHidden() and self.folders_panel.isHidden())

    def _on_captions(self) -> None:
        if self._offer is not None and self._offer[1] != self.desk.num_steps:
            self._withdraw_offer()
        self.header.show_undo()
        self.findings.show_desk()
        self.files.take_captions()

    def _say(self, tone: str, title: str, text: str, undoable: bool) -> None:
        if tone != "err":
            self._withdraw_offer()
        if undoable:
            offer = self.toasts.say(tone, title, text, action="Undo", do=self.desk.undo)
            offer.left.connect(lambda: self._forget_offer(offer))
            self._offer = offer, self.desk.num_steps
        else:
            self.toasts.say(tone, title, text)

    def _forget_offer(self, offer: Toast) -> None:
        if self._offer is not None and self._offer[0] is offer:
            self._offer = None

    def _withdraw_offer(self) -> None:
        """Let the message go that offers to undo a step: now it would be another step, or of another dataset."""
        if self._offer is not None:
            self._offer[0].leave()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome folders, and files by the folder that they lie in."""
        if self.is_complete and dropped_folders(event.mimeData()):
            self.list.show_dropping(True)
            event.acceptProposedAction()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """Forget what was dragged."""
        self.list.show_dropping(False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the folders and open the first; into the folders of the open dataset where these are shown."""
        self.list.show_dropping(False)
        folders = dropped_folders(event.mimeData())
        if not folders:
            return
        event.acceptProposedAction()
        if self.folders_panel.isVisible():
            for folder in folders:
                self.folders_panel.take(folder)
            return
        for folder in folders:
            self.library.add(folder)
        self.choose(folders[0])

    def hideEvent(self, event: QHideEvent) -> None:
        """Save what was typed; end a check when the window closes."""
        if self.is_complete:
            self.inspector.save()
        if not self.window().isVisible():
            self.desk.stop()
        super().hideEvent(event)

    def set_compact(self, compact: bool) -> None:
        """Shorten words and narrow panes in a narrow window."""
        super().set_compact(compact)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow the panes where three of them would be too many for the width."""
        super().resizeEvent(event)
        self._arrange()

    @property
    def _narrows(self) -> bool:
        return self.compact or self.width() < NARROW_PX

    def _arrange(self) -> None:
        narrow = self._narrows
        if self.is_complete and narrow != self._is_narrow:
            self._is_narrow = narrow
            self._fit(self.list, self.header, self.inspector, self.files, self.findings)

    def _fit(self, *parts: DatasetList | DatasetsHeader | Inspector | FilesPane | FindingsCard) -> None:
        for part in parts:
            part.set_compact(self._narrows)
