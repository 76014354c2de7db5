"""The header of the datasets page: the name of the open dataset, and what can be done with all of it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.page import Header
from diffusionforce.gui.repair_bench import label_words
from diffusionforce.gui.widgets.buttons import Button

GAPS_PX = 70
"""Between the name and the buttons, and between these."""


class DatasetsHeader(Header):
    """Name, folders, and buttons."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__("", "", note_mode=Qt.TextElideMode.ElideMiddle)
        self._desk = desk
        self._is_compact = False
        self.undo = Button("", "undo", kind="ghost", tip="Undo (Ctrl+Z)")
        self.search = Button("", "search", kind="ghost", tip="Find in names and captions (Ctrl+F)")
        self.folders = Button("", "folder", kind="ghost", size="small", tip="Folders, repeats and sizes")
        self.trigger = Button("Trigger word", "tag", tip="The word that calls the subject")
        self.trigger_icon = Button("", "tag", tip="Trigger word")
        self.again = Button("", "refresh", tip="Check again (F5)")
        self.train = Button("Train with this", "play", kind="primary")
        self.chips.addWidget(self.folders)
        self.add_actions(self.undo, self.search, self.trigger, self.trigger_icon, self.again, self.train)

    def show_desk(self) -> None:
        """Show the open dataset as it is known now."""
        desk, table = self._desk, self._desk.table
        is_open = bool(desk.choice)
        self.setVisible(is_open)
        where = ", ".join(folder.path for folder in desk.folders) if not desk.is_read_only else tr("comes with the app")
        self.set_title(desk.title if is_open else "", where or " ")
        self._fit_buttons()
        busy, reading = desk.is_checking or desk.is_repairing, "The files are being checked."
        self.again.allow(bool(desk.folders) and not busy, reason=reading)
        why = desk.problem.sentence if desk.problem is not None else "Nothing in it can be trained on."
        self.train.allow(
            bool(table.used) or (busy and bool(table.rows)), reason="The files are being read." if busy else why
        )
        for button in (self.trigger, self.trigger_icon):
            button.allow(table.is_checked and is_open, reason=reading)
        self.folders.allow(bool(desk.folders), reason=reading)
        self.show_undo()

    def show_undo(self) -> None:
        """Say what would be undone."""
        label = self._desk.undoable
        self.undo.allow(bool(label), reason="Nothing to undo")
        if label:
            self.undo.setToolTip(tr("Undo: {label} (Ctrl+Z)").format(label=label_words(label)))
        self.undo.setVisible(not self._desk.is_read_only)

    def set_compact(self, compact: bool) -> None:
        """Shorten words in a narrow window."""
        self._is_compact = compact
        self._fit_buttons()

    def _fit_buttons(self) -> None:
        """Say in words what stands in an icon, too, where the name of the dataset leaves room for them."""
        others = (self.folders, self.undo, self.search, self.trigger, self.again, self.train)
        needed = self.title.sizeHint().width() + sum(button.sizeHint().width() for button in others) + GAPS_PX
        says_words = not self._is_compact and needed <= self.width()
        self.trigger.setVisible(says_words)
        self.trigger_icon.setVisible(not says_words)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shorten words in a narrow window."""
        self._fit_buttons()
        super().resizeEvent(event)
