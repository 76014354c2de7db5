"""Before against after: two steps of one prompt under a slider, prompts to choose from at the right.

Of clips, both sides show the same frame and share one transport.
"""

from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QPixmap
from PySide6.QtWidgets import QButtonGroup, QComboBox, QVBoxLayout, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.clips import Clip, ClipStore, Transport, is_clip, pixmap
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.compare_slider import CompareSlider
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.list_item import ListItem
from diffusionforce.gui.widgets.sample_grid import step_words
from diffusionforce.gui.widgets.seek_bar import TransportBar

EDGE_PX, CLIP_EDGE_PX, THUMB_PX, LIST_PX = 1600, 640, 160, 264


class ComparePane(QWidget):
    """Compares two steps of one prompt."""

    screen_asked = Signal()
    """To the whole screen, or back into the page."""

    def __init__(self, store: PictureStore, clips: ClipStore) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._store, self._clip_store = store, clips
        self._clips: tuple[Clip | None, Clip | None] = (None, None)
        self.transport = Transport(self)
        self.transport.moved.connect(self._show_pictures)
        self._bar = TransportBar(self.transport)
        self._bar.hide()
        self._revision = -1
        self._table, self._root = SampleTable(), Path()
        self._row = 0
        self._is_whole = False
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
        store.arrived.connect(self._on_arrived)
        clips.arrived.connect(self._on_clip)

    @Slot(str)
    def _on_arrived(self, _path: str) -> None:
        if self.isVisible():
            self._show_pair()

    @Slot(str)
    def _on_clip(self, _path: str) -> None:
        if self.isVisible():
            self._take_clips()

    def _build(self) -> None:
        for combo, name in ((self.left, "Left side"), (self.right, "Right side")):
            combo.setAccessibleName(name)
            combo.setMinimumWidth(150)
            combo.activated.connect(lambda _index: self._show_pair())
        prompts = Card("Prompts", gap=6)
        inner = holder(column(self._list, None, gap=0))
        prompts.add((scrolling(inner, name="clear"), 1))
        prompts.setFixedWidth(LIST_PX)
        choice = row(Label("Left"), self.left, Icon("arrow"), Label("Right"), self.right, None)
        hint = Label("← → handle · ↑ ↓ prompt · + − 0 or the wheel: nearer · F11 whole screen", "muted")
        self.all_of_it = Button("Show all of it", "x", kind="ghost", size="small", tip="0")
        self.all_of_it.clicked.connect(self.slider.show_all)
        self.all_of_it.hide()
        self.slider.zoomed.connect(lambda: self.all_of_it.setVisible(self.slider.zoom.is_near))
        foot = row((self._prompt, 1), self.all_of_it, hint, gap=12)
        picture = holder(column((self.slider, 1), self._bar, foot, gap=10))
        self._prompts_card = prompts
        self.setLayout(column(choice, (holder(row((picture, 1), prompts, gap=14)), 1), gap=12))
        self.setFocusProxy(self.slider)

    def show_table(self, table: SampleTable, root: Path) -> None:
        """Take another table, or the same one after it has grown; the choice stays where it can."""
        is_same = table is self._table and root == self._root and table.revision == self._revision
        if is_same and not self.isVisible():
            return
        self._table, self._root, self._revision = table, root, table.revision
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
            note = "no trigger: should not change" if leaks else seed
            item = ListItem(sample_row.prompt, tr(note), icon="image")
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

    def _sides(self) -> tuple[int, int]:
        return int(self.left.currentData() or 0), int(self.right.currentData() or 0)

    def _paths(self) -> list[Path | None]:
        return [self._table.path(self._root, self._row, step) for step in self._sides()]

    def _show_pair(self) -> None:
        if not self._items:
            return
        self._take_clips()
        self._prompt.set_text(self._table.rows[self._row].prompt)
        for i, item in enumerate(self._items):
            path = self._table.path(self._root, i, self._sides()[1])
            thumb = self._store.get(path, edge_px=THUMB_PX) if path is not None else None
            if thumb is not None:
                item.set_picture(thumb)
            item.setChecked(i == self._row)

    def _take_clips(self) -> None:
        paths = self._paths()
        move = [path if path is not None and is_clip(path) else None for path in paths]
        before = self._clips
        left, right = (self._clip_store.get(p, edge_px=CLIP_EDGE_PX) if p is not None else None for p in move)
        self._clips = (left, right)
        self._bar.setVisible(any(path is not None for path in move))
        if self._clips != before:
            self.transport.take(*self._clips)
        self._show_pictures()

    def _show_pictures(self) -> None:
        pictures: list[QPixmap | None] = []
        for path, clip in zip(self._paths(), self._clips, strict=True):
            if clip is not None:
                pictures.append(pixmap(clip, self.transport.index))
            else:
                pictures.append(self._store.get(path, edge_px=EDGE_PX) if path is not None else None)
        first, second = (step_words(step) for step in self._sides())
        self.slider.show_pair(pictures[0], pictures[1], labels=(first, second))

    def as_picture(self) -> QPixmap | None:
        """Return both sides beside each other, with their labels, None while one is not there."""
        pictures = self.slider.pictures
        if pictures is None:
            return None
        return side_by_side(pictures, [step_words(step) for step in self._sides()])

    def set_whole(self, whole: bool) -> None:
        """Leave the whole screen to the pictures, or not."""
        self._is_whole = whole
        self._prompts_card.setVisible(not whole)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Play and step clips; go to the whole screen and back."""
        match Qt.Key(event.key()):
            case Qt.Key.Key_F11:
                self.screen_asked.emit()
            case Qt.Key.Key_Escape if self._is_whole:
                self.screen_asked.emit()
            case Qt.Key.Key_Space if self._bar.isVisible():
                self.transport.toggle()
            case Qt.Key.Key_Comma | Qt.Key.Key_Period if self._bar.isVisible():
                self.transport.pause()
                self.transport.step(1 if event.key() == Qt.Key.Key_Period else -1)
            case _:
                super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing plays unseen."""
        self.transport.pause()
        super().hideEvent(event)

    def setFocus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:
        """Give the focus to the slider."""
        self.slider.setFocus(reason)


def side_by_side(pictures: tuple[QPixmap, QPixmap], labels: list[str]) -> QPixmap:
    """Return two pictures in one, each with its label over it."""
    gap, head = 8, 36
    width, height = max(p.width() for p in pictures), max(p.height() for p in pictures)
    result = QPixmap(2 * width + gap, height + head)
    result.fill(theme.colour("bg"))
    painter = paint.begin(result)
    for index, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
        left = index * (width + gap)
        painter.drawPixmap(
            paint.contained(QRectF(left, head, width, height), *_size(picture)), picture, _whole(picture)
        )
        box = QRectF(left, 0, width, head)
        paint.text(painter, box, label, font=theme.font(15, 600), colour="text", align=paint.CENTRE)
    painter.end()
    return result


def _size(picture: QPixmap) -> tuple[float, float]:
    return float(picture.width()), float(picture.height())


def _whole(picture: QPixmap) -> QRectF:
    return QRectF(picture.rect())
