"""The engine for the real models as a line of a card: what is there, whether it is right, the button that helps."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from diffusionforce.gui.engine_desk import EngineDesk
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import column, holder, row

BUSY_REASON = "Not while a run goes on."


class EngineLine(QWidget):
    """Shows the engine, and has it installed and verified.

    Args:
        is_training: Whether a run goes on in this window; the engine is left alone then.
    """

    def __init__(self, *, is_training: Callable[[], bool]) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._is_training = is_training
        self.desk = EngineDesk(self)
        self.desk.changed.connect(self._show)
        self._has_looked = False
        self._icon, self.headline = Icon("info", "info", 16), Label("", "strong", wrap=True)
        self.detail = Label("", "small", wrap=True)
        self.bar = ProgressBar(height=6, name=tr("Installing the engine"))
        self.bar.hide()
        self.act = Button("Install", "download")
        self.act.clicked.connect(self._act)
        self.cancel = Button("Cancel")
        self.cancel.clicked.connect(self._cancel)
        engine = row((column(self.headline, self.detail, self.bar, gap=3), 1), self.act, self.cancel, gap=8)
        self.setLayout(row(self._icon, (holder(engine), 1), gap=12))
        self._show()

    def shown(self) -> None:
        """Look at the engine, the first time."""
        if not self._has_looked:
            self._has_looked = True
            self.desk.ask("status")

    def rest(self, *, for_good: bool) -> None:
        """Give up looking at the engine, because nobody looks at it; an installation goes on, unless it is for good."""
        if self.desk.is_busy and (for_good or self.desk.action != "install"):
            self.desk.cancel()
            self._has_looked = False

    def _act(self) -> None:
        if not self._is_training():
            self.desk.ask(self.desk.view.action or "status")

    def _cancel(self) -> None:
        self.desk.cancel()
        self.desk.ask("status")

    def _show(self) -> None:
        view = self.desk.view
        self._icon.set(view.tone, view.tone)
        self.headline.set_text(view.title)
        self.detail.set_text(view.text)
        self.detail.setVisible(bool(view.text))
        self.bar.setVisible(view.share is not None)
        if view.share is not None:
            self.bar.show_share(view.share)
        words = {"install": tr("Install"), "verify": tr("Verify")}
        self.act.setVisible(not view.is_busy)
        self.act.set_text(words.get(view.action, ""), icon="download" if view.action == "install" else "check")
        self.act.allow(not self._is_training(), reason=tr(BUSY_REASON))
        self.cancel.setVisible(view.is_busy and self.desk.is_busy)
