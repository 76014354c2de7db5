"""Where the model is cut between two cards, in the plan of a run: a bar to drag, and what every cut would mean."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from diffusionforce.gui.model.forecast_cuts import CutView
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cut_bar import CutBar
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, column, hairline, row


class CutPanel(QWidget):
    """Shows a `CutView` and lets it be moved; not there where nothing can be cut."""

    moved = Signal(int)
    """The first card is to have so many blocks, while that is still being dragged."""
    picked = Signal(str)
    """The name of the way with the cut that was chosen; empty for the fastest one."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._view: CutView | None = None
        self.bar = CutBar()
        self.best = Button("Fastest cut", "undo", kind="ghost", size="small")
        self._left, self._right = Label("", "strong"), Label("", "strong")
        self._mark = Icon("ok", "ok", 15)
        self._outlook, self._range = Label("", "small", wrap=True), Elided("", "muted")
        self.bar.valueChanged.connect(self._on_moved)
        self.bar.chosen.connect(self._on_chosen)
        self.best.clicked.connect(self.bar.go_to_best)
        head = row(Label("Where the model is cut", "strong"), (self._range, 1), self.best, gap=10)
        layout = column(gap=6)
        add(layout, hairline(), 4, head, row(self._left, None, self._right), self.bar)
        add(layout, row(self._mark, (self._outlook, 1), gap=8))
        self.setLayout(layout)
        self.hide()

    def show_view(self, view: CutView | None, *, dimmed: bool) -> None:
        """Show where a model could be cut; `dimmed` while the forecast of another choice is being made."""
        self._view = view
        self.setVisible(view is not None)
        if view is not None:
            self.bar.show_view(view, dimmed=dimmed)
            self._range.set_text(tr(view.range_words))
            self._show()

    def _show(self) -> None:
        view, first = self._view, self.bar.value()
        if view is None:
            return
        left, right = view.heads(first)
        self._left.set_text(left, tone=f"g{min(view.cards[0], 3)}")
        self._right.set_text(right, tone=f"g{min(view.cards[1], 3)}")
        fits = view.at(first).fits
        self._mark.set("ok" if fits else "err", "ok" if fits else "err")
        self._outlook.set_text(view.outlook(first))
        self.bar.setAccessibleName(tr("Where the model is cut"))
        self.bar.setAccessibleDescription(tr(view.spoken(first)))
        self.best.allow(first != view.best, reason="The model is cut there already.")

    def _on_moved(self, first: int) -> None:
        self._show()
        self.moved.emit(first)

    def _on_chosen(self, first: int) -> None:
        if self._view is not None:
            self.picked.emit("" if first == self._view.best else self._view.name_at(first))
