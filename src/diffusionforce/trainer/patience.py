"""How long a run may be silent, by what it is doing.

A step is as long as the forecast says, or as the steps before it were. Loading, caching and samples have no such
measure: one item of a video dataset may take as long as all others together, so they have times of their own, which
grow with what was seen and never shrink.
"""

from collections import deque

from diffusionforce.job import Profile
from diffusionforce.wire import HeldOut, Message, Planned, Preparing, Sample, Step
from diffusionforce.wire.stages import STAGE_WORDS

LEAST_S = 45.0
"""Of a step, however short the others were."""
_STEPS_LONGER = 8
"""How many times as long as the longest of the last steps one may take."""
_NUM_RECENT = 20
_SETTLING_S = 300.0
"""Added for the first step of all and after other work: kernels are compiled, weights come back to the cards."""
_SAVING_S = 300.0
"""Added where a save is due, with the held-out loss that is measured for it."""
_ITEMS_LONGER = 10
_STAGES_S = {"model": 1800.0, "text": 900.0, "pictures": 1800.0, "samples": 900.0, "held_out": 900.0}


class Patience:
    """Follows what a run is doing.

    Args:
        profile: Says when saves and samples are due.
    """

    def __init__(self, profile: Profile) -> None:
        self._samples, self._saves = profile.samples, profile.checkpoints
        self._num_steps = profile.training.steps
        self._recent_s: deque[float] = deque(maxlen=_NUM_RECENT)
        self._planned_s = 0.0
        self._item_s = dict.fromkeys(_STAGES_S, 0.0)
        self.doing = STAGE_WORDS["model"]
        """What the run is doing, in words that begin a sentence."""
        self.allowed_s = _STAGES_S["model"]
        """How long it may take over it without a word."""

    def note(self, message: Message, *, silent_s: float, was_away: bool = False) -> None:
        """Take in a record.

        Args:
            message: The record.
            silent_s: Seconds since the last sign of life before it.
            was_away: Whether the process did not run for some of that time, which then measures nothing.
        """
        match message:
            case Planned():
                self._planned_s = message.step_s or 0.0
            case Preparing():
                self._note_stage(message.stage, item_s=silent_s if message.done else 0.0)
            case Sample():
                self._note_stage("samples", item_s=message.seconds)
                if message.prompt_index + 1 >= message.num_prompts:
                    self._expect_step(message.step, settling_s=_SETTLING_S)
            case HeldOut():
                # Before the first step and after the last there may be samples next, which nobody announces.
                self.allowed_s = max(self.allowed_s, self._stage_s("held_out"))
            case Step():
                if not was_away:  # On Windows the clock of a step goes on while a laptop sleeps.
                    self._recent_s.append(message.seconds)
                self._expect_step(message.step, settling_s=0.0)
            case _:
                pass

    def expect_samples(self) -> None:
        """Allow for samples that were asked for on the way."""
        self.allowed_s += self._stage_s("samples")

    def expect_save(self) -> None:
        """Allow for a save that was asked for on the way."""
        self.allowed_s += _SAVING_S

    @property
    def step_s(self) -> float:
        """Seconds of the longest of the last steps, before the first one by the forecast; 0 where nothing is known."""
        return max(self._recent_s, default=self._planned_s)

    def _expect_step(self, step: int, *, settling_s: float) -> None:
        """Allow for what follows a step: a save and samples where they are due, and the next step."""
        is_last = step >= self._num_steps
        has_samples = is_last or is_due(step, self._samples.every_steps)
        if has_samples and not settling_s:
            self.doing = STAGE_WORDS["samples"]
        else:
            self.doing = f"Step {step + 1}"
        self.allowed_s = max(LEAST_S, _STEPS_LONGER * self.step_s) + settling_s
        if is_last or is_due(step, self._saves.every_steps):
            self.allowed_s += _SAVING_S
        if has_samples:
            self.allowed_s += self._stage_s("samples")

    def _note_stage(self, stage: str, *, item_s: float) -> None:
        self._item_s[stage] = max(self._item_s[stage], item_s)
        self.doing, self.allowed_s = STAGE_WORDS[stage], self._stage_s(stage)

    def _stage_s(self, stage: str) -> float:
        """Seconds of one item of a stage at the most; the time of a sample grows with that of a step as well."""
        by_steps = _ITEMS_LONGER * self._samples.num_steps * self.step_s if stage == "samples" else 0.0
        return max(_STAGES_S[stage], _ITEMS_LONGER * self._item_s[stage], by_steps)


def is_due(step: int, every_steps: int) -> bool:
    """Whether what happens every so many steps happens after this one; 0 is never."""
    return every_steps > 0 and step % every_steps == 0
