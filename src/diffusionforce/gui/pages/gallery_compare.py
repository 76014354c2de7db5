"""Before against after: two steps of one prompt under a slider, prompts to choose from at the right."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QButtonGroup, QComboBox, QVBoxLayout, QWidget

from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.compare_slider import CompareSlider
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row
from diffusionforce.gui.widgets.list_item import ListItem
from diffusionforce.gui.widgets.sample_grid import step_words

EDGE_PX, THUMB_PX, LIST_PX = 1600, 160, 264


class ComparePane(QWidget):
    """Compares two steps of one prompt."""

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._store = store
        self._table, self._root = SampleTable(), Path()
        self._row = 0
        self._known: tuple[object, ...] = ()
        self.left, self.right = QComboBox(), QComboBox()
        self.slider = CompareSlider()
        self.slider.prompt_moved.connect(lambda move: self.choose(row=self._row + move))
        self._prompt = Elided("", "body2")
        self._list = QVBoxLayout()
        self._list.setSpacing(2)
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(lambda index: self.choose(row=index))
        self._items: list[ListItem] = []
        self._build()
        store.arrived.connect(lambda _path: self._show_pair())

    def _build(self) -> None:
        for combo, name in ((self.left, "Left side"), (self.right, "Right side")):
            combo.setAccessibleName(name)
            combo.setMinimumWidth(150)
            combo.activated.connect(lambda _index: self._show_pair())
        prompts = Card("Prompts", gap=6)
        prompts.add(self._list, None)
        prompts.setFixedWidth(LIST_PX)
        choice = row(Label("Left"), self.left, Icon("arrow"), Label("Right"), self.right, None)
        hint = Label("Drag, or press ← and →. Up and down change the prompt.", "muted")
        foot = row((self._prompt, 1), hint, gap=12)
        picture = holder(column((self.slider, 1), foot, gap=10))
        self.setLayout(column(choice, (holder(row((picture, 1), prompts, gap=14)), 1), gap=12))
        self.setFocusProxy(self.slider)

    def show_table(self, table: SampleTable, root: Path) -> None:
        """Take another table, or the same one after it has grown; the choice stays where it can."""
        self._table, self._root = table, root
        steps = sorted(table.drawn_steps)
        known = (str(root), tuple(steps), tuple(sample_row.prompt for sample_row in table.rows))
        if known != self._known:
            self._known = known
            self._fill_steps(steps)
            self._fill_prompts()
        self._show_pair()

    def _fill_steps(self, steps: list[int]) -> None:
        for combo, default in ((self.left, 0), (self.right, len(steps) - 1)):
            was_last = combo.currentIndex() == combo.count() - 1
            before = combo.currentData()
            combo.clear()
            for step in steps:
                combo.addItem(step_words(step), step)
            keeps = before in steps and not (combo is self.right and was_last)
            combo.setCurrentIndex(steps.index(before) if keeps else default)

    def _fill_prompts(self) -> None:
        clear(self._list)
        self._items = []
        for i, sample_row in enumerate(self._table.rows):
            leaks = self._table.lacks_trigger(sample_row)
            seed = f"seed {sample_row.seed}" if sample_row.seed is not None else ""
            note = "without the trigger: shows leak" if leaks else seed
            item = ListItem(sample_row.prompt, note, icon="image")
            self._group.addButton(item, i)
            self._items.append(item)
            self._list.addWidget(item)
        self._row = min(self._row, max(0, len(self._items) - 1))

    def choose(self, *, row: int, right_step: int | None = None) -> None:
        """Choose the prompt, and the step at the right where one is given."""
        self._row = max(0, min(len(self._table.rows) - 1, row))
        index = self.right.findData(right_step) if right_step is not None else -1
        if index >= 0:
            self.right.setCurrentIndex(index)
        self._show_pair()

    def _show_pair(self) -> None:
        if not self._items:
            return
        sides: list[int] = [int(self.left.currentData() or 0), int(self.right.currentData() or 0)]
        pictures = []
        for step in sides:
            path = self._table.path(self._root, self._row, step)
            pictures.append(self._store.get(path, edge_px=EDGE_PX) if path is not None else None)
        labels = (step_words(sides[0]), step_words(sides[1]))
        self.slider.show_pair(pictures[0], pictures[1], labels=labels)
        self._prompt.set_text(self._table.rows[self._row].prompt)
        for i, item in enumerate(self._items):
            path = self._table.path(self._root, i, sides[1])
            thumb = self._store.get(path, edge_px=THUMB_PX) if path is not None else None
            if thumb is not None:
                item.set_picture(thumb)
            item.setChecked(i == self._row)

    def setFocus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:
        """Give the focus to the slider."""
        self.slider.setFocus(reason)
