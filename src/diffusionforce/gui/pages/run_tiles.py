"""The row of numbers over the loss chart: one number, one unit, one line of context each."""

from PySide6.QtWidgets import QHBoxLayout, QWidget

from diffusionforce.gui.model import held_out, words
from diffusionforce.gui.model.forecast_ways import step_seconds
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.losses import TILE_STEPS
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.widgets.cards import Tile

_VERDICTS = {
    "falling": ("still falling", "ok"),
    "flat": ("flat", ""),
    "rising": ("rising: later files may be overfitted", "warn"),
}

NEXT_TO_NOTHING = 0.001
"""Share of the full learning rate."""


class RunTiles(QWidget):
    """Loss, held-out loss, learning rate, step time, pictures seen."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self.loss = Tile(f"Loss, last {TILE_STEPS} steps")
        self.held_out = Tile("Held-out loss")
        self.held_out.setToolTip(tr(held_out.WHAT_FOR))
        self.rate = Tile("Learning rate")
        self.step_time = Tile("Step time")
        self.seen = Tile("Pictures seen")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        for tile in (self.loss, self.held_out, self.rate, self.step_time, self.seen):
            layout.addWidget(tile, 1)

    def show_model(self, model: RunModel, *, compact: bool) -> None:
        """Show the numbers of a run."""
        losses = model.losses
        num_averaged = min(len(losses.raw) or TILE_STEPS, TILE_STEPS)
        self.loss.set_name(f"Loss, last {num_averaged} steps" if num_averaged > 1 else "Loss")
        self.loss.show_value(words.loss(losses.recent), context=self._loss_context(model, compact=compact))
        value = losses.held_out[-1][1] if losses.held_out else None
        context, tone = self._held_out_context(model, compact=compact)
        self.held_out.show_value(words.loss(value), context=context, tone=tone)
        self.rate.show_value(self._rate(model), context=self._rate_context(model))
        seconds = model.step_s
        total = f"{words.duration(model.training_s)} of training" if model.training_s else "after the first step"
        if model.planned is not None and model.planned.step_s is not None:
            total = f"forecast was {step_seconds(model.planned.step_s)}"
        shown, unit = ("–", "") if seconds is None else (f"{seconds:.2f}", "s")
        self.step_time.show_value(shown, unit=unit, context=total)
        self.seen.show_value(f"{model.num_pictures_seen:,}" if model.step else "–", context=self._seen_context(model))

    @staticmethod
    def _loss_context(model: RunModel, *, compact: bool) -> str:
        change = model.losses.recent_change
        if change is None:
            return f"at step {model.step:,}" if model.step else "after the first step"
        if compact:
            return f"{'down' if change < 0 else 'up'} {words.percent(abs(change))}"
        return f"{'down' if change < 0 else 'up'} {words.percent(abs(change))} on the {TILE_STEPS} before"

    @staticmethod
    def _held_out_context(model: RunModel, *, compact: bool) -> tuple[str, str]:
        losses = model.losses
        if not losses.held_out:
            return "on pictures never trained on" if model.last_step is None else "not measured in this run", ""
        text, tone = _VERDICTS.get(losses.verdict, ("before training", ""))
        fall = losses.held_out_fall
        if fall is not None and losses.verdict != "rising" and (not compact or model.outcome is not None):
            change = f"{words.percent(abs(fall))} {'below' if fall >= 0 else 'above'} the start"
            text = f"{text}, {change}" if losses.verdict and model.outcome is None else change
        return text, tone

    @staticmethod
    def _rate(model: RunModel) -> str:
        """Return the learning rate; that of the last steps of a schedule is next to nothing, with a row of noughts."""
        if model.last_step is None:
            return "–"
        rate, full = model.last_step.learning_rate, model.job.profile.training.learning_rate if model.job else 0.0
        return "≈ 0" if 0 < rate < full * NEXT_TO_NOTHING else words.small_number(rate)

    @staticmethod
    def _rate_context(model: RunModel) -> str:
        if model.job is None:
            return ""
        training = model.job.profile.training
        full = words.small_number(training.learning_rate)
        if model.step < training.warmup_steps:
            return f"rising to {full}"
        return "constant" if training.schedule == "constant" else f"falling from {full}"

    @staticmethod
    def _seen_context(model: RunModel) -> str:
        if model.job is None:
            return ""
        batch = model.job.profile.training.batch_size * model.job.profile.training.gradient_accumulation
        return f"{words.count(batch, 'picture')} a step"
