"""14: stop, save and sample when somebody asks, in the trainer's own way and between two steps."""

from typing import Any

from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam


class StopAsked(Exception):  # noqa: N818 - a request, not an error
    """Somebody asked the run to stop; what it has is saved."""


class Requests(EngineTrainer):
    """Makes the step at which something is asked for one at which the trainer would do it anyway."""

    def __init__(self) -> None:
        super().__init__()
        self._usual: dict[str, Any] = {}
        """Options of the trainer that were changed for one step."""
        self._is_stopping = False

    def on_post_optimizer_step(
        self, args: Any, accelerator: Any, network: Any, transformer: Any, sync_gradients: bool, global_step: int
    ) -> None:
        """Look whether something is asked for; the trainer saves and samples right after this call."""
        super().on_post_optimizer_step(args, accelerator, network, transformer, sync_gradients, global_step)
        if not sync_gradients:
            return
        step, listener = global_step + 1, self.assignment.listener
        self._is_stopping = listener.stop_requested
        # Asked for first: a request must be taken even where the run stops.
        wants_save, wants_sample = listener.take_save_request(), listener.take_sample_request()
        if wants_save or self._is_stopping:
            self._for_one_step(args, save_every_n_steps=step)
        if self._is_stopping:
            self._for_one_step(args, save_state=True, sample_every_n_steps=None, sample_every_n_epochs=None)
        elif wants_sample:
            self._for_one_step(args, sample_every_n_steps=step)

    def process_batch(self, args: Any, accelerator: Any, *rest: Any, **named: Any) -> tuple[Any, dict[str, float]]:
        """Stop here if that was asked for, now that everything is saved.

        Raises:
            StopAsked: It was.
        """
        for name, value in self._usual.items():
            setattr(args, name, value)
        self._usual.clear()
        if self._is_stopping:
            raise StopAsked
        return super().process_batch(args, accelerator, *rest, **named)

    def sample_image_inference(self, accelerator: Any, args: Any, *rest: Any, **named: Any) -> None:
        """Make a sample, unless the run is to stop."""
        if not self.assignment.listener.stop_requested:
            super().sample_image_inference(accelerator, args, *rest, **named)

    def _for_one_step(self, args: Any, **changes: Any) -> None:
        for name, value in changes.items():
            self._usual.setdefault(name, getattr(args, name))
            setattr(args, name, value)


HOOK = Seam(
    number=14,
    name="requests",
    overrides=(
        method("on_post_optimizer_step", "90e8d995bb685d2b1a26656456fc878df73dffc3625238a0e4c8557c40d4580e"),
        method("process_batch", "ee21ea13a00cc5864d078dc8b52aad66840d7a2753e5f47eead609405fbc089c"),
        method("sample_image_inference", "f34e16fa25d41dd05bc74a29547c88d39187af9397e38cd2aea5181e2863d35a"),
        method("_run_training_loop", "6187d0a5ef6d04590766411397c6ea98a8417f842a4205730f19204dbdae63c0"),
    ),
    reason="A run ends when its steps are done, or when it is killed.",
    prevents="Stopping a run loses everything since the last checkpoint.",
    upstream_revision=REVISION,
    mixin=Requests,
)
