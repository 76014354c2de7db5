"""The speed test: its last result as a table, how far a new one is, and what went wrong."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout

from diffusionforce.errors import UserError
from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model import rig_words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row
from diffusionforce.rig import Card as GraphicsCard
from diffusionforce.wire import Failed
from diffusionforce.wire.interpreter import is_environment_needed
from diffusionforce.wire.speed import SpeedProgress, SpeedTest, read_speed_record

MODULE = "diffusionforce.trainer.speed_test"
UNTESTED = "Not tested yet. The test takes a minute or less; forecasts of speed then come from your own cards."
UNTESTED_PROCESSOR = "Not tested yet. The test takes a few seconds."


class SpeedCard(Card):
    """Runs the test in a child and shows it."""

    measured = Signal(object)
    changed = Signal()

    def __init__(self) -> None:
        super().__init__("Speed test", " ", gap=8)
        self._child: AnswerChild | None = None
        self._shown: tuple[SpeedTest | None, Sequence[GraphicsCard]] = (None, ())
        self._table = QGridLayout()
        self._table.setHorizontalSpacing(14)
        self._table.setVerticalSpacing(7)
        self._what = Label("", "small")
        self.bar = ProgressBar(height=8, name="Speed test")
        self._cancel = Button("Cancel", size="small")
        self._cancel.clicked.connect(self.cancel)
        self._progress = holder(column(self._what, self.bar, row(None, self._cancel), gap=6))
        self._progress.hide()
        self._problem = column(gap=4)
        self.add(self._problem, self._progress, self._table, None)

    @property
    def is_running(self) -> bool:
        """Whether a test is under way."""
        return self._child is not None

    def start(self) -> None:
        """Start a test."""
        if self._child is not None:
            return
        clear(self._problem)
        if is_environment_needed():
            self._on_answered(UserError("The training environment is not set up yet.", hint="Settings lead there."))
            return
        self._child = AnswerChild(self)
        self._child.said.connect(self._on_said)
        self._child.answered.connect(self._on_answered)
        self._child.start(MODULE, ["rig", "--json"])
        self._what.set_text("Starting")
        self.bar.show_share(0.0)
        self._progress.show()
        self._show_again()
        self.changed.emit()

    def cancel(self) -> None:
        """End the test without a result."""
        if self._child is not None:
            self._child.cancel()
            self._end()

    def _on_said(self, line: bytes) -> None:
        try:
            record = read_speed_record(line)
        except ValueError:
            return
        if isinstance(record, SpeedProgress):
            self._what.set_text(record.what)
            self.bar.show_share((record.done + 0.5) / max(1, record.total))

    def _on_answered(self, answer: bytes | UserError) -> None:
        self._end()
        try:
            record = answer if isinstance(answer, UserError) else read_speed_record(answer)
        except ValueError as error:
            record = UserError("The answer of the speed test was not understood.", detail=str(error))
        if isinstance(record, SpeedTest):
            self.measured.emit(record)
        else:
            sentence, hint = (record.sentence, record.hint) if isinstance(record, UserError | Failed) else ("", "")
            text = Label(f"{sentence} {hint}".strip() or "The speed test ended early.", "small", wrap=True)
            self._problem.addLayout(row(Icon("err", "err", 15), (text, 1)))

    def _end(self) -> None:
        if self._child is not None:
            self._child.deleteLater()
            self._child = None
        self._progress.hide()
        self._show_again()
        self.changed.emit()

    def _show_again(self) -> None:
        self.show_test(*self._shown)

    def show_test(self, test: SpeedTest | None, cards: Sequence[GraphicsCard]) -> None:
        """Show a result, or that there is none."""
        self._shown = (test, cards)
        clear(self._table)
        self.note.set_text(tr(rig_words.tested_when(test)) if test is not None else "")
        if test is None and self.is_running:
            return
        if test is None:
            self._table.addWidget(Label(UNTESTED if cards else UNTESTED_PROCESSOR, "body2", wrap=True), 0, 0)
            return
        index_of = {card.uuid: card.index for card in cards}
        self._table.setColumnStretch(0, 1)
        for column_index, device in enumerate(test.devices, start=1):
            index = index_of.get(device.uuid)
            name = f"GPU {index}" if index is not None else device.name
            self._add_right(
                Label(name, "strong", tone=f"g{min(index, 3)}" if index is not None else ""), 0, column_index
            )
        for row_index, (name, values) in enumerate(rig_words.speed_rows(test), start=1):
            self._table.addWidget(Label(name, "small"), row_index, 0)
            for column_index, value in enumerate(values, start=1):
                self._add_right(Label(value), row_index, column_index)

    def _add_right(self, label: Label, row_index: int, column_index: int) -> None:
        label.setAlignment(label.alignment().AlignRight | label.alignment().AlignVCenter)
        self._table.addWidget(label, row_index, column_index)
