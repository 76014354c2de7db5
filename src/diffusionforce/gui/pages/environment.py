"""The page of the training environment: setting it up, its log, checking, repairing and removing it."""

from collections.abc import Callable, Iterator

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QApplication

from diffusionforce.gui.environment_desk import EnvironmentDesk
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.engine_line import BUSY_REASON, EngineLine
from diffusionforce.gui.pages.environment_setup import EnvironmentSetup
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.layout import column, holder, scrolling
from diffusionforce.gui.widgets.log_view import LogView
from diffusionforce.gui.widgets.notices import Banner

MAX_PX = 1240
LOG_PX = 190
FLUSH_MS = 150


class EnvironmentPage(Page):
    """Shows everything about the environment."""

    back_asked = Signal()
    run_asked = Signal()

    def __init__(self, desk: EnvironmentDesk, *, is_training: Callable[[], bool]) -> None:
        """Build the page.

        Args:
            desk: Who does it.
            is_training: Whether a run goes on in this window; the environment that it uses is left alone then.
        """
        super().__init__()
        self.desk, self._is_training = desk, is_training
        self._pending: list[str] = []
        self._flush = QTimer(self)
        self._flush.setSingleShot(True)
        self._flush.setInterval(FLUSH_MS)
        self._flush.timeout.connect(self._show_lines)

    def build(self) -> Iterator[None]:
        """Build the header, what is said over everything, the set-up, the log and the line of the engine."""
        self._build_header()
        parts = column(None, gap=14)
        inner = holder(parts)
        inner.setMaximumWidth(MAX_PX)
        self.body.addWidget(self.header)
        self.body.addWidget(scrolling(inner, name="clear"), 1)
        yield
        self._checkout = Banner(
            "info",
            "This copy runs from its source",
            "Its own Python has PyTorch and trains; bootstrap.py set it up, and renews it. What is built here is for "
            "the installed application, and is not used by this window.",
        )
        parts.insertWidget(0, self._checkout)
        self._checkout.setVisible(not self.desk.is_ours)
        self.question = self._make_question()
        self.question.hide()
        parts.insertWidget(1, self.question)
        self.setup = EnvironmentSetup(self.desk, leads_on=self.desk.is_ours)
        self.setup.leave_asked.connect(self.run_asked)
        parts.insertWidget(2, self.setup)
        yield from self.setup.build()
        parts.insertWidget(3, self._make_log_card())
        self._log_card.setVisible(bool(self.desk.lines) or self.desk.view.is_busy)
        yield
        self.engine = EngineLine(is_training=self._is_training)
        parts.insertWidget(4, Card("Engine", "for the real models; the demo needs none").add(self.engine))
        self.desk.changed.connect(self._show)
        self.desk.line_said.connect(self._on_line)
        self._pending.extend(self.desk.lines)
        self._show_lines()
        self._show()

    def _build_header(self) -> None:
        self.header = Header("Training environment", "PyTorch and the libraries that train. Brought once, kept apart.")
        self.back = Button("Settings", "chev-left", kind="ghost")
        self.back.clicked.connect(self.back_asked)
        self.repair = Button("Repair", "refresh", tip="Clears it, and builds it anew from what was downloaded")
        self.repair.clicked.connect(lambda: self.desk.start("repair"))
        self.remove = Button("Remove", "trash", tip="Deletes it, with what was downloaded")
        self.remove.clicked.connect(lambda: self._ask(True))
        self.header.add_actions(self.back, self.repair, self.remove)

    def _make_log_card(self) -> Card:
        self.log = LogView()
        self.log.setFixedHeight(LOG_PX)
        self.copy = Button("Copy log", "copy", size="small")
        self.copy.clicked.connect(self._copy)
        self._log_card = Card("Log", "what uv says, word by word")
        self._log_card.header.addWidget(self.copy)
        self._log_card.add(self.log)
        return self._log_card

    def _make_question(self) -> Banner:
        self.confirm = Button("Remove it", "trash", kind="danger")
        self.confirm.clicked.connect(self._on_confirmed)
        self.keep = Button("Keep it")
        self.keep.clicked.connect(lambda: self._ask(False))
        text = "Nothing can be trained without it, and setting it up again downloads everything. Runs and models stay."
        return Banner("warn", "Remove the training environment?", text, actions=(self.keep, self.confirm))

    def shown(self) -> None:
        """Look at it anew."""
        self._ask(False)
        self.desk.look()
        self.engine.shown()

    def hideEvent(self, event: QHideEvent) -> None:
        """Let go of what only this page needs; with the window, everything ends."""
        super().hideEvent(event)
        if self.is_complete:
            self.engine.rest(for_good=not self.window().isVisible())

    def _ask(self, asks: bool) -> None:
        self.question.setVisible(asks)

    def _on_confirmed(self) -> None:
        self._ask(False)
        self.desk.start("remove")

    def _show(self) -> None:
        view = self.desk.view
        if view.is_busy and not self.desk.lines:
            self._pending.clear()
            self.log.forget()
        is_there = view.status is not None and view.state != "missing"
        reason = tr(BUSY_REASON) if self._is_training() else tr("Nothing is there yet.") if not is_there else ""
        reason = tr("Something is being done already.") if view.is_busy else reason
        for button in (self.repair, self.remove):
            button.allow(not reason, reason=reason)
        self._log_card.setVisible(bool(self.desk.lines) or view.is_busy)
        self.copy.allow(bool(self.desk.lines), reason=tr("Nothing was said yet."))

    def _on_line(self, line: str) -> None:
        self._pending.append(line)
        if not self._flush.isActive():
            self._flush.start()

    def _show_lines(self) -> None:
        if self._pending:
            self.log.add_lines(self._pending)
            self._pending.clear()
            self._show()

    def _copy(self) -> None:
        QApplication.clipboard().setText(self.desk.told())
