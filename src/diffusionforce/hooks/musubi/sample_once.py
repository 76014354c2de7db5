"""15: one pass of samples for one step."""

from typing import Any

from diffusionforce.hooks.hook import Function, Hook, Target
from diffusionforce.hooks.musubi.upstream import REVISION


def sample_once() -> Hook:
    """The hook for one run."""
    asked_by: dict[int, int | None] = {}
    """For every step that was sampled, the epoch that was named first; the trainer asks twice for each pass."""

    def wrap(original: Function) -> Function:
        def should_sample_images(args: Any, steps: int, epoch: int | None = None) -> bool:
            wanted = original(args, steps, epoch)
            return wanted and asked_by.setdefault(steps, epoch) == epoch

        return should_sample_images

    return Hook(
        number=15,
        name="sample-once",
        target=Target(module="musubi_tuner.training.trainer_base", attribute="should_sample_images"),
        reason="The end of an epoch is asked about samples as well as the step that it coincides with.",
        prevents="The same samples are made twice, which takes minutes and shows one of them as two.",
        upstream_revision=REVISION,
        fingerprint="7a08c5aa4fc29e5838bf470949deab1223ad6f6ba23ad3c77f3bebaa1a92d978",
        wrap=wrap,
    )


HOOK = sample_once()
