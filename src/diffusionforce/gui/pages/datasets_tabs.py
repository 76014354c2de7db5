"""Two tabs of the page beside the pictures: the shapes of the pictures, and the captions as a whole."""

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import training_size, words
from diffusionforce.gui.model.dataset_words import used_words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.datasets_bulk import BulkEdit
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import add, column, holder, scrolling
from diffusionforce.gui.widgets.shape_bars import ShapeBars
from diffusionforce.gui.widgets.tag_bars import TagBars

MAX_TAGS = 2000
BULK_PX = 300


class ShapesTab(QWidget):
    """How many pictures have which shape, and what cropping does to them."""

    def __init__(self, desk: DatasetDesk, *, size: Callable[[], tuple[int, int]]) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._desk, self._size = desk, size
        self.card = Card("Shapes of the pictures", " ", gap=8)
        self.bars = ShapeBars()
        self.summary = Label("", "body2", wrap=True)
        self.card.add(self.summary, 2, self.bars)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scrolling(holder(column(self.card, None)), name="clear"))

    def refresh(self) -> None:
        """Count the shapes of the pictures that are trained on."""
        size = self._size()
        counts = self._desk.table.shapes(lambda row: self._desk.view.size_of(row, size))
        whole = sum(count.num for count in counts)
        self.card.note.set_text(
            tr(used_words(whole, len(self._desk.table.counted), num_clips=self._desk.table.num_clips))
        )
        cropped = sum(count.cropped_share * count.num for count in counts) / max(1, whole)
        blurry = sum(count.num_blurry for count in counts)
        own = sum(bool(folder.width) for folder in self._desk.folders)
        at = training_size.words(size) if not own else "the size of its folder"
        text = (
            f"Every picture is scaled to cover {at} and cropped around its middle: "
            f"{words.percent(cropped)} of the average picture is cut off."
        )
        if blurry:
            number = words.count(blurry, "picture")
            one, many = f"{number} is blown up, which teaches blur.", f"{number} are blown up, which teaches blur."
            text = " ".join((text, one if blurry == 1 else many))
        self.summary.set_text(text if whole else "The shapes appear here when the check is done.")
        self.bars.show_counts(counts)


class CaptionsTab(QWidget):
    """How often each part of the captions comes, and edits of all of them."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._desk = desk
        self.tags = TagBars()
        self.list_card = Card("What captions say", " ", gap=8)
        self.list_card.add((self.tags, 1))
        self.bulk = BulkEdit(desk)
        self.edit_card = Card("Edit all captions", gap=8)
        self.edit_card.add((scrolling(self.bulk, name="clear"), 1))
        self.edit_card.setFixedWidth(BULK_PX)
        self.tags.chosen.connect(self.bulk.take_words)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        add(layout, (self.list_card, 1), self.edit_card)

    def refresh(self) -> None:
        """Count the parts of the captions."""
        pictures = self._desk.table.captioned
        tags = self._desk.book.tags(pictures)
        parts = words.count(len(tags), "part")
        self.list_card.note.set_text(tr(parts))
        self.tags.show_tags(tags[:MAX_TAGS])
        self.bulk.show_pictures(pictures)

    def set_compact(self, compact: bool) -> None:
        """Narrow the edit in a narrow window."""
        self.edit_card.setFixedWidth(236 if compact else BULK_PX)
