"""The learning rate of every step, and how much time is left."""

import math
from collections import deque
from statistics import median

from diffusionforce.engines.health import UsualRates
from diffusionforce.job import Profile
from diffusionforce.job.profile import TrainingSettings

RATES = UsualRates(model="Pocket", usual=3e-3, lowest=1e-5, highest=3e-2)
_REMEMBERED_STEPS = 20


def learning_rate(settings: TrainingSettings, step: int) -> float:
    """The learning rate of a step.

    Args:
        settings: Rate, warm-up and schedule.
        step: From 1 to `settings.steps`.
    """
    warm_up = min(1.0, step / settings.warmup_steps) if settings.warmup_steps else 1.0
    done = (step - 1) / settings.steps
    fall = 0.5 + 0.5 * math.cos(math.pi * done) if settings.schedule == "cosine" else 1.0
    return settings.learning_rate * warm_up * fall


class TimeLeft:
    """Estimates the rest of a run from its recent steps and sample passes.

    Args:
        num_steps: Steps of the run.
        sample_steps: The steps after which samples are made.
    """

    def __init__(self, *, num_steps: int, sample_steps: frozenset[int]) -> None:
        self._num_steps = num_steps
        self._sample_steps = sample_steps
        self._recent_s: deque[float] = deque(maxlen=_REMEMBERED_STEPS)
        self._pass_s = 0.0

    def note_step(self, seconds: float) -> None:
        """Remember how long a step took."""
        self._recent_s.append(seconds)

    def note_pass(self, seconds: float) -> None:
        """Remember how long a sample pass took."""
        self._pass_s = seconds

    def after(self, step: int) -> float:
        """Seconds from the end of a step to the end of the run."""
        # The median: a step that waited for a busy computer should not frighten anybody.
        steps_s = (self._num_steps - step) * (median(self._recent_s) if self._recent_s else 0.0)
        passes_left = sum(sample_step >= step for sample_step in self._sample_steps)
        return steps_s + passes_left * self._pass_s


def steps_with_samples(profile: Profile) -> frozenset[int]:
    """The steps after which samples are made, 0 and the last included."""
    settings, num_steps = profile.samples, profile.training.steps
    if not settings.prompts:
        return frozenset()
    steps = set(range(settings.every_steps, num_steps, settings.every_steps)) if settings.every_steps else set[int]()
    return frozenset(steps | {num_steps} | ({0} if settings.before_training else set()))
