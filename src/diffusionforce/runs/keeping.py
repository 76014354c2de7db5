"""Which saves of a run stay: the newest, the best, and one every so many steps.

The rule is applied when a new save lies on the disk and has been read back, never before, so that at no moment there
is less than what it promises. The newest save always stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diffusionforce.job.profile import CheckpointSettings


@dataclass(frozen=True, kw_only=True)
class Save:
    """One save of a run.

    Attributes:
        step: Last finished step in it.
        held_out_loss: As of that step; None where it was not measured then.
    """

    step: int
    held_out_loss: float | None = None


def surplus(saves: Sequence[Save], settings: CheckpointSettings) -> frozenset[int]:
    """Return the steps of the saves that no rule keeps.

    Args:
        saves: All that there are, each whole and read back.
        settings: The rules.
    """
    steps = sorted(save.step for save in saves)
    measured = [(save.held_out_loss, save.step) for save in saves if save.held_out_loss is not None]
    kept = set(steps[-settings.keep :])
    kept |= {step for _, step in sorted(measured)[: settings.keep_best]}
    if settings.keep_every_steps:
        kept |= {step for step in steps if step % settings.keep_every_steps == 0}
    return frozenset(steps) - kept
