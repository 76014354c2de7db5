"""25: what the last finished step came to is saved where the next one breaks off.

A step breaks off when the run is stopped while it waits for memory, when memory runs out for good, or when a number is
none. The LoRA is then still as the step before left it, but the trainer saves after a step only, by a function inside
of its loop. So that function is called from here, with random numbers and losses put back to the end of that step: the
run goes on from there as from a checkpoint that was asked for.
"""

import gc
import importlib
import inspect
from typing import Any

import torch

from diffusionforce.errors import DivergedError
from diffusionforce.hooks.musubi.requests import StopAsked
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.aside import drop_locals
from diffusionforce.pipeline.shortage import shortage_of


class Keeping(EngineTrainer):
    """Saves what is finished before a run ends within a step."""

    def process_batch(self, args: Any, accelerator: Any, *rest: Any, **named: Any) -> tuple[Any, dict[str, float]]:
        """Run it; what it raises is raised when what was finished has been saved."""
        try:
            return super().process_batch(args, accelerator, *rest, **named)
        except (StopAsked, DivergedError):
            self.keep_finished(args, accelerator)
            raise
        except (RuntimeError, MemoryError) as error:
            if shortage_of(error) is not None:
                drop_locals(error)
                self.keep_finished(args, accelerator)
            raise

    def keep_finished(self, args: Any, accelerator: Any) -> None:
        """Save the LoRA and the state of the last finished step, unless they are saved."""
        step = self.return_to_finished()
        if step <= self.saved_step:
            return
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        loop, files = _loop_of_the_trainer(), importlib.import_module("musubi_tuner.utils.train_utils")
        loop["optimizer_eval_fn"]()
        args.save_every_n_steps = step  # By it the trainer looks for older states to remove: there are none.
        name = files.get_step_ckpt_name(args.output_name, step)
        loop["save_model"](name, accelerator.unwrap_model(loop["network"]), step, loop["epoch"])
        files.save_and_remove_state_stepwise(args, accelerator, step)


def _loop_of_the_trainer() -> dict[str, Any]:
    """The variables of the trainer's loop, in which we are."""
    frame = inspect.currentframe()
    while frame is not None and "save_model" not in frame.f_locals:
        frame = frame.f_back
    assert frame is not None, "steps are taken inside of the loop"
    return frame.f_locals


HOOK = Seam(
    number=25,
    name="keeping",
    overrides=(
        method("process_batch", "ee21ea13a00cc5864d078dc8b52aad66840d7a2753e5f47eead609405fbc089c"),
        method("_run_training_loop", "6187d0a5ef6d04590766411397c6ea98a8417f842a4205730f19204dbdae63c0"),
    ),
    reason="Between two saves nothing is kept of a run that ends.",
    prevents="Stopping a run that waits for memory, or one that runs out of it, loses everything since the last save.",
    upstream_revision=REVISION,
    mixin=Keeping,
)
