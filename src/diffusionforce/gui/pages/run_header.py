"""The head of a run's page: what it is, what it is doing, and what can be asked of it."""

from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from diffusionforce.gui.model import run_requests
from diffusionforce.gui.model.dataset_title import folder_title
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.run_title import day_and_time, job_title, started
from diffusionforce.gui.pages.page import Header
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip

CHIP_LOOKS = {
    "training": ("ok", "play"),
    "sampling": ("info", "camera"),
    "measuring": ("info", "eye"),
    "preparing": ("info", "clock"),
    "starting": ("info", "clock"),
    "finishing": ("ok", "check"),
    "paused": ("warn", "pause"),
    "stopping": ("warn", "stop"),
}
END_LOOKS = {"ok": ("ok", "ok"), "info": ("info", "stop"), "err": ("err", "err")}
PREVIEW_KEYS, SAVE_KEYS, PAUSE_KEYS = "Ctrl+Shift+P", "Ctrl+S", "Ctrl+P"


class RunHeader(Header):
    """Title, chip and buttons; whoever owns it connects the buttons."""

    def __init__(self, owner: QWidget) -> None:
        """Make the header.

        Args:
            owner: The page on which the shortcuts work.
        """
        super().__init__("", "")
        self.chip = Chip("Starting", "info", "clock")
        self.chips.addWidget(self.chip)
        self.preview = Button("Preview now", "camera", tip=PREVIEW_KEYS)
        self.save = Button("Save now", "download", tip=SAVE_KEYS)
        self.pause = Button("Pause", "pause", tip=PAUSE_KEYS)
        self.stop = Button("Stop", "stop", kind="danger", tip="Asks first. What was learned is saved.")
        self.new_run = Button("New run", "plus")
        self.open_folder = Button("Open folder", "folder")
        self.add_actions(self.preview, self.save, self.pause, self.stop, self.open_folder, self.new_run)
        for keys, button in ((PREVIEW_KEYS, self.preview), (SAVE_KEYS, self.save), (PAUSE_KEYS, self.pause)):
            # Not the button's own shortcut: that goes away whenever its text changes.
            QShortcut(QKeySequence(keys), owner).activated.connect(button.click)

    def show_session(self, session: RunSession, *, compact: bool) -> None:
        """Show what a run is, and what can be asked of it now."""
        model = session.model
        moment = started(session.root)
        title = session.title
        # Which says what is trained on, unless the user named the run.
        dataset = folder_title(model.job.dataset_dir) if model.job and title != job_title(model.job) else ""
        onward = tr("continues from step {step}").format(step=f"{model.begun_at:,}") if model.begun_at else ""
        facts = [tr(day_and_time(moment)) if moment else "", onward, dataset, tr(model.devices.sentence())]
        self.set_title(title, " · ".join(fact for fact in facts if fact))
        tone, icon = CHIP_LOOKS.get(model.phase, ("info", "clock"))
        if model.outcome is not None:
            tone, icon = END_LOOKS[model.outcome.tone]
        self.chip.set(model.phase_words, tone, icon)
        self._show_buttons(model, compact=compact)

    def _show_buttons(self, model: RunModel, *, compact: bool) -> None:
        going = model.outcome is None
        for button in (self.preview, self.save, self.pause, self.stop):
            button.setVisible(going)
        stopping = "The run is stopping." if model.stop_asked else ""
        reasons = {self.preview: run_requests.why_no_preview(model), self.save: run_requests.why_no_save(model)}
        for button in (self.preview, self.save, self.pause, self.stop):
            reason = reasons.get(button, stopping)
            button.allow(not reason, reason=tr(reason))
        waits = model.is_paused or model.pause_asked
        self.pause.set_text("Go on" if waits else "Pause", icon="play" if waits else "pause")
        self.open_folder.setVisible(not going)
        self.preview.set_text("Preview" if compact else "Preview now")
        self.save.set_text("Save" if compact else "Save now")
