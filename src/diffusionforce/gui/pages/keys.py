"""The page that lists the keys of all places."""

from collections.abc import Iterator

from PySide6.QtCore import Signal

from diffusionforce.gui.model.key_list import KEY_GROUPS, KeyGroup
from diffusionforce.gui.model.language import key_names, tr
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import Stretched, column, holder, row, scrolling

MAX_PX = 1240


class KeysPage(Page):
    """Shows what can be done with keys."""

    back_asked = Signal()

    def build(self) -> Iterator[None]:
        """Build the header and the cards, in two columns of about the same height, in the order of the places."""
        header = Header("Keys", "Everything can be done without a mouse. These are the short ways.")
        self.back = Button("Settings", "chev-left", kind="ghost")
        self.back.clicked.connect(self.back_asked)
        header.add_actions(self.back)
        halves = column(None, gap=14), column(None, gap=14)
        inner = holder(row(*((half, 1) for half in halves), gap=14))
        inner.setMaximumWidth(MAX_PX)
        self.body.addWidget(header)
        self.body.addWidget(scrolling(inner, name="clear"), 1)
        half = (len(KEY_GROUPS) + 1) // 2
        for i, group in enumerate(KEY_GROUPS):
            yield
            halves[i // half].insertWidget(i % half, _card(group))


def _card(group: KeyGroup) -> Card:
    card = Card(group.title, gap=8)
    for keys, words in group.keys:
        chip = Chip(key_names(keys))
        label = Label(words, "body2", wrap=True)
        # A screen reader that comes to the words says the keys, too.
        label.setAccessibleName(f"{tr(words)}: {key_names(keys)}")
        line: list[Stretched] = [(label, 1), chip]
        card.add(row(*line, gap=12))
    return card
