"""Signs that a training goes wrong, told while something can be done about it.

A loss that leaps, a LoRA that no gradient reaches, a learning rate that no LoRA of the model survives: each ends in a
file that does nothing or draws noise, hours later.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diffusionforce.errors import DivergedError
from diffusionforce.job import Profile
from diffusionforce.wire import Warn

_DECAY = 0.95
_SPIKE = 4.0
"""Times the average that a loss must reach to be a leap; single losses vary by a factor of two."""
_STEPS_TO_LEAP = 3
"""In a row that must be so high: a single one may be a picture or a noise level that is hard."""
_STEPS_TO_KNOW = 20
_STEPS_BETWEEN_WARNINGS = 50
_STEPS_WITHOUT_GRADIENT = 5
_EARLY_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class UsualRates:
    """Learning rates by which LoRAs of a model learn something and survive it."""

    model: str
    """Its name for people."""
    usual: float
    """What suits most."""
    lowest: float
    highest: float


def about_learning_rate(profile: Profile, *, rates: UsualRates | None) -> Warn | None:
    """A warning if the learning rate is far from what works.

    Args:
        profile: The settings.
        rates: What works; None where nobody knows.
    """
    rate = profile.training.learning_rate
    if rates is None or rates.lowest <= rate <= rates.highest:
        return None
    ends_in = "breaks a LoRA within a few steps" if rate > rates.highest else "changes next to nothing"
    return Warn(
        sentence=f"training.learning_rate is {rate:g}, which {ends_in}.",
        hint=f"Most LoRAs of {rates.model} are trained with about {rates.usual:g}.",
    )


def broken_down(
    profile: Profile, *, what: str, step: int, rate: float, rates: UsualRates | None, files: Sequence[str]
) -> DivergedError:
    """The end of a run by a number that is none, before it changed anything.

    Args:
        profile: The settings.
        what: What is none, for example `the loss is nan`.
        step: The step that it happened in.
        rate: Its learning rate.
        rates: Learning rates that work; None where nobody knows.
        files: Its pictures; empty where nobody knows them.
    """
    lines = [f"Likely: {'; '.join(likely_causes(profile, step=step, rate=rate, rates=rates))}."]
    lines += [f"The pictures of that step: {named(files)}."] if files else []
    return DivergedError(
        f"The training broke down at step {step}: {what}.",
        hint="\n".join(lines),
        detail=f"learning rate {rate:g}, training.learning_rate {profile.training.learning_rate:g}",
    )


def with_kept(error: DivergedError, *, kept: str, path: str) -> DivergedError:
    """The end of a run that broke down, with what there is of it.

    Args:
        error: What ended it.
        kept: What is saved, in a sentence.
        path: The last LoRA file; empty where there is none.
    """
    lines = [error.hint, kept]
    lines += [f"Go on from it with other settings, or begin anew: {path}."] if path else []
    return DivergedError(error.sentence, hint="\n".join(lines), detail=error.detail, changes=error.changes)


def likely_causes(profile: Profile, *, step: int, rate: float, rates: UsualRates | None) -> list[str]:
    """What may have made a number infinite, the likeliest first; the arguments are those of `broken_down`."""
    training, lora = profile.training, profile.lora
    causes: list[str] = []
    is_fast = rates is not None and rate > rates.highest
    if rates is not None and is_fast:
        causes.append(f"training.learning_rate is {training.learning_rate:g}: try {rates.usual:g}")
    if training.max_grad_norm == 0:
        causes.append("gradients are not clipped: set training.max_grad_norm to 1")
    if lora.alpha > 8 * lora.rank:
        causes.append(f"lora.alpha is {lora.alpha / lora.rank:g} times lora.rank: set both to the same")
    if step <= _EARLY_STEPS and not training.warmup_steps:
        causes.append("there is no warm-up: set training.warmup_steps to 10 or more")
    if not is_fast:
        causes.append("one of these pictures or captions is damaged, or the learning rate is a little too high")
    return causes


def named(files: Sequence[str], *, most: int = 4) -> str:
    """Names of files for a sentence, each once."""
    names = list(dict.fromkeys(files))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


class HealthWatch:
    """Looks at the losses and gradients of a run's steps.

    Args:
        average: Running average of the losses before; None where there were none.
        count: How many losses there were.
    """

    def __init__(self, *, average: float | None = None, count: int = 0) -> None:
        self.average = average
        self.count = count
        self._warned_step: int | None = None
        self._usual: float | None = None
        self._num_high = 0
        self._num_without_gradient = 0

    def note(self, step: int, *, loss: float, grad_norm: float, files: Sequence[str] = ()) -> Iterator[Warn]:
        """Take in a step, and give what the user should know.

        Args:
            step: Its number.
            loss: Its loss.
            grad_norm: Norm of its gradients before clipping; not a number where nobody measured it.
            files: Its pictures; empty where nobody knows them.
        """
        yield from self._spike(step, loss, files)
        self.average = loss if self.average is None else _DECAY * self.average + (1 - _DECAY) * loss
        self.count += 1
        self._num_without_gradient = self._num_without_gradient + 1 if grad_norm == 0 else 0
        if self._num_without_gradient == _STEPS_WITHOUT_GRADIENT:
            yield Warn(
                sentence=f"The LoRA learns nothing: no gradient has reached it for {_STEPS_WITHOUT_GRADIENT} steps.",
                hint="Stop, and look at lora.dropout, lora.alpha and model.precision.",
                step=step,
            )

    def _spike(self, step: int, loss: float, files: Sequence[str]) -> Iterator[Warn]:
        if not self._num_high:
            self._usual = self.average if self.count >= _STEPS_TO_KNOW else None
        usual = self._usual
        if usual is None or not math.isfinite(loss) or loss <= _SPIKE * usual:
            self._num_high = 0
            return
        self._num_high += 1
        is_new = self._warned_step is None or step - self._warned_step >= _STEPS_BETWEEN_WARNINGS
        if self._num_high >= _STEPS_TO_LEAP and is_new:
            self._warned_step = step
            pictures = f" The pictures of that step: {named(files)}." if files else ""
            yield Warn(
                sentence=f"The loss leapt to {loss:.3g} by step {step}, from about {usual:.3g}.",
                hint="If it stays there, stop, and go on from an earlier checkpoint with a lower learning "
                f"rate.{pictures}",
                step=step,
            )
