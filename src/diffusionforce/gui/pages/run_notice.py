"""What stands above the numbers of a run: its progress, the question before stopping, or how it ended."""

import time
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QVBoxLayout, QWidget

from diffusionforce.gui.model import again, words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.log_file import log_with_words
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import clear, row
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.wire import Paused, Stalled

MOST_TICKS = 80


class RunNotice(QWidget):
    """Progress while the run goes on, a banner when it is asked to stop or has ended."""

    stop_confirmed = Signal()
    force_confirmed = Signal()
    gallery_asked = Signal()
    folder_asked = Signal()
    log_asked = Signal()
    again_asked = Signal(object)
    """The settings to start the run again with."""
    onward_asked = Signal(object)
    """The folder of the checkpoint to go on from."""
    run_asked = Signal(Path)
    """Another run is to be seen, which went on from this one."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._step = Label("", "strong")
        self._share = Label("", "body2")
        self._left = Label("", "strong")
        self._so_far = Label("", "body2")
        self._next = Elided("", "muted")
        self._saved = Label("", "muted")
        self.bar = ProgressBar()
        self._progress = Card(gap=8)
        self._progress.body.setContentsMargins(16, 11, 16, 12)
        self._progress.add(
            row(self._step, self._share, None, self._left, self._so_far, gap=10),
            self.bar,
            row((self._next, 1), self._saved),
        )
        self._troubles = QVBoxLayout()
        self._banners = QVBoxLayout()
        self._banners.setSpacing(12)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addLayout(self._troubles)
        layout.addLayout(self._banners)
        layout.addWidget(self._progress)
        self._model: RunModel | None = None
        self._shown_outcome: Outcome | None = None
        self._shown_trouble: Paused | Stalled | None = None
        self._offers_force = False
        self.is_asking = False
        self.next_waits = False
        """Whether a run of the queue starts as soon as this one has ended."""

    def reset(self) -> None:
        """Forget the last run."""
        clear(self._banners)
        self._show_trouble(None)
        self._offers_force = False
        self._shown_outcome, self.is_asking, self._model = None, False, None
        self._progress.show()

    def show_model(self, model: RunModel, *, compact: bool, root: Path | None = None) -> None:
        """Show where a run is.

        Args:
            model: The run.
            compact: Whether there is room for few words only.
            root: Its folder, in which is looked, once it has ended, whether it can go on.
        """
        self._model = model
        if model.trouble is not self._shown_trouble:
            self._show_trouble(model.trouble)
        if model.stop_overdue and not self._offers_force and model.outcome is None:
            self._offer_force()
        if model.outcome is not None:
            if model.outcome is not self._shown_outcome:
                self._show_outcome(model.outcome, model, root)
            return
        at = f"Step {model.step:,} of {model.num_steps:,}" if model.num_steps else "Starting"
        self._step.set_text(at)
        self._share.set_text(words.percent(model.share) if model.step else "")
        self._left.set_text(self._time_left(model, compact=compact))
        self._so_far.set_text(f"{words.duration(model.training_s)} of training so far" if model.training_s else "")
        self._so_far.setVisible(bool(model.training_s) and not compact)
        self.bar.show_share(model.share, ticks=self._ticks(model))
        self._next.set_text(tr(self._next_words(model)))
        self._saved.set_text(self._saved_words(model, compact=compact))

    def _offer_force(self) -> None:
        """Offer to end a run that does not stop."""
        self._offers_force = True
        force = Button("End it now", "stop", kind="danger")
        force.clicked.connect(self.force_confirmed)
        force.clicked.connect(lambda: force.allow(False, reason=tr("The run is being ended.")))
        text = "It was asked to save and stop. Ending it now loses what it trained since the last save."
        self._banners.addWidget(Banner("warn", "The run has not stopped yet", text, actions=(force,)))

    def _show_trouble(self, trouble: Paused | Stalled | None) -> None:
        self._shown_trouble = trouble
        clear(self._troubles)
        if trouble is not None:
            title = "The run waits" if isinstance(trouble, Paused) else "The run seems to hang"
            self._troubles.addWidget(Banner("warn", title, f"{trouble.sentence} {trouble.hint}".strip()))

    @staticmethod
    def _ticks(model: RunModel) -> list[float]:
        """Return where previews are due, as shares; so many that nobody could tell them apart are left out."""
        every = model.job.profile.samples.every_steps if model.job is not None else 0
        if not every or model.num_steps / every > MOST_TICKS:
            return []
        return [step / model.num_steps for step in model.sample_steps[:-1]]

    @staticmethod
    def _time_left(model: RunModel, *, compact: bool) -> str:
        left = model.time_left
        if not left or model.eta_s is None or model.is_paused or compact or model.eta_s < 120:
            return left
        clock = time.strftime("%H:%M", time.localtime(time.time() + model.eta_s))
        return f"{left} · done about {clock}"

    @staticmethod
    def _next_words(model: RunModel) -> str:
        if model.phase in {"sampling", "measuring", "paused", "stopping"}:
            return model.phase_words
        due = model.next_sample_step
        if due is None or not model.job or not model.job.profile.samples.prompts:
            return model.phase_words
        number = due - model.step
        steps = words.count(number, "step")
        if not model.step_s:
            return f"Next previews in {steps}"
        return f"Next previews in {steps} ({words.duration(number * model.step_s)})"

    @staticmethod
    def _saved_words(model: RunModel, *, compact: bool) -> str:
        if not model.saved:
            return "" if compact or model.last_step is None else "Stopping saves what was learned so far."
        since, step = model.seconds_since_save(), f"{model.saved[-1].step:,}"
        told = f"Last save: step {step}." if since is None else f"Last save: step {step}, {words.ago(since)}."
        if compact:
            return told
        return f"{told} Stopping saves step {model.step:,} first." if model.saved[-1].step < model.step else told

    def ask_stop(self) -> None:
        """Ask inline whether to stop; the safe button has the focus."""
        if self.is_asking or self._model is None:
            return
        self.is_asking = True
        stop = Button("Stop and save", "stop", kind="danger")
        keep = Button("Keep training")
        stop.clicked.connect(self._on_stop)
        keep.clicked.connect(self._end_question)
        text = "What was learned until then is saved first, so nothing of it is lost."
        if self.next_waits:
            text = f"{text} The next run of the queue starts then."
        self._banners.addWidget(Banner("warn", "Stop this run?", text, actions=(stop, keep)))
        self._progress.hide()
        keep.setFocus()

    def _on_stop(self) -> None:
        self._end_question()
        self.stop_confirmed.emit()

    def _end_question(self) -> None:
        self.is_asking = False
        clear(self._banners)
        self._progress.setVisible(self._shown_outcome is None)

    def _show_outcome(self, result: Outcome, model: RunModel, root: Path | None) -> None:
        self._shown_outcome, self.is_asking = result, False
        clear(self._banners)
        self._progress.hide()
        actions: list[QWidget] = []
        later = again.successor(model, root) if root is not None else None
        onward = again.continuation(model, root) if root is not None and later is None else None
        if later is not None:
            actions.append(self._lead_to(later))
        if onward is not None:
            actions.append(self._offer_onward(onward))
        if model.samples.num_samples:
            gallery = Button("Open gallery", "grid")
            gallery.clicked.connect(self.gallery_asked)
            actions.append(gallery)
        actions += [self._offer(offer) for offer in again.offers(model)]
        if result.tone == "err" and root is not None and log_with_words(root) is not None:
            log = Button("Open log", "log")
            log.clicked.connect(self.log_asked)
            actions.append(log)
        # The sentence of a crash already names what was kept.
        files = "" if result.kind == "crashed" else self._files_words(model)
        told = (result.sentence, result.hint) if later is None else (result.sentence, later.words)
        text = " ".join(part for part in (*told, files) if part)
        self._banners.addWidget(Banner(result.tone, result.title, text, actions=tuple(actions)))
        if result.detail:
            self._banners.addWidget(DetailCard(result))

    def _offer_onward(self, onward: again.Continuation) -> Button:
        button = Button(onward.label, "play", kind="primary")
        button.clicked.connect(lambda: self.onward_asked.emit(onward.state))
        return button

    def _lead_to(self, later: again.Successor) -> Button:
        button = Button("Open that run", "arrow", kind="primary")
        button.clicked.connect(lambda: self.run_asked.emit(later.root))
        return button

    def _offer(self, offer: again.Offer) -> Button:
        button = Button(offer.label, "play", tip=offer.tip)
        button.clicked.connect(lambda: self.again_asked.emit(offer.settings))
        return button

    @staticmethod
    def _files_words(model: RunModel) -> str:
        if not model.saved:
            return ""
        newest = model.saved[-1]
        return f"Newest LoRA: {newest.path} ({words.size(newest.size_bytes)})."


class DetailCard(Card):
    """Technical text of a problem, folded, with a copy button."""

    def __init__(self, result: Outcome) -> None:
        super().__init__(padding=12, gap=8)
        self._result = result
        self.view = QPlainTextEdit(result.detail)
        self.view.setObjectName("detail")
        self.view.setReadOnly(True)
        self.view.setAccessibleName(tr("Technical detail"))
        self.view.setFixedHeight(170)
        self.view.hide()
        self.fold = Button("Show technical detail", "chev-right", kind="ghost", size="small")
        self.fold.clicked.connect(self._toggle)
        copy = Button("Copy report", "copy", kind="ghost", size="small")
        copy.clicked.connect(lambda: QApplication.clipboard().setText(self.report))
        self.add(row(self.fold, None, copy), self.view)

    @property
    def report(self) -> str:
        """The whole problem as text."""
        result = self._result
        return "\n".join(part for part in (result.title, result.sentence, result.hint, "", result.detail))

    def _toggle(self) -> None:
        opening = self.view.isHidden()
        self.view.setVisible(opening)
        self.fold.set_text(
            "Hide technical detail" if opening else "Show technical detail",
            icon="chev-down" if opening else "chev-right",
        )
