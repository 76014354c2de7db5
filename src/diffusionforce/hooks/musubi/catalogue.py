"""All hooks on Musubi Tuner, and those that a job needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diffusionforce.hooks.environment import EnvironmentHook
from diffusionforce.hooks.hook import Hook
from diffusionforce.hooks.musubi import (
    autoencoder,
    batch_names,
    block_placement,
    block_routing,
    direct_loading,
    events,
    extra_loras,
    kandinsky_loading,
    kandinsky_samples,
    keeping,
    lean_lora,
    live_prompts,
    lora_placement,
    microbatches,
    model_loading,
    requests,
    resume,
    sample_once,
    sample_room,
    single_process,
    step_again,
    text_encoders,
    wan_experts,
)
from diffusionforce.hooks.registry import AppliedHooks, apply_all
from diffusionforce.hooks.seam import Seam, composed

_ALWAYS: tuple[Seam, ...] = (
    events.HOOK,
    batch_names.HOOK,
    requests.HOOK,
    resume.HOOK,
    keeping.HOOK,
    extra_loras.HOOK,
    live_prompts.HOOK,
    text_encoders.HOOK,
    autoencoder.HOOK,
)
_WHEN_PLACED: tuple[Seam, ...] = (
    model_loading.HOOK,
    block_placement.HOOK,
    lora_placement.HOOK,
    block_routing.HOOK,
    microbatches.HOOK,
    sample_room.HOOK,
)
_WHEN_WHOLE: tuple[Seam, ...] = (step_again.HOOK,)
_FOR: dict[str, tuple[Seam, ...]] = {"kandinsky5": (kandinsky_samples.HOOK,)}
"""For single families, by the engine's name of the script."""
_WHEN_PLACED_FOR: dict[str, tuple[Seam, ...]] = {
    "wan": (wan_experts.HOOK,),
    "kandinsky5": (kandinsky_loading.HOOK,),
}


def every_hook() -> list[EnvironmentHook | Hook | Seam]:
    """All hooks in the order of their numbers."""
    hooks: list[EnvironmentHook | Hook | Seam] = [
        single_process.HOOK,
        sample_once.HOOK,
        direct_loading.HOOK,
        lean_lora.HOOK,
    ]
    hooks += [*_ALWAYS, *_WHEN_WHOLE, *_WHEN_PLACED]
    for seams in (*_FOR.values(), *_WHEN_PLACED_FOR.values()):
        hooks += seams
    return sorted(hooks, key=lambda hook: hook.number)


@dataclass(frozen=True, kw_only=True)
class JobHooks:
    """The hooks of one job."""

    seams: tuple[Seam, ...]
    """Overridden in the trainer's class."""
    replaced: Sequence[EnvironmentHook | Hook]
    """Put in place for the time of the run."""

    def apply(self) -> AppliedHooks:
        """Put the replaced ones in place, all or none, to be taken back at the end of the run.

        Raises:
            EngineError: The engine is not the one that they were written for.
        """
        return apply_all(self.replaced)

    def trainer_class(self, base: type[Any]) -> type[Any]:
        """The engine's trainer class with the overrides.

        Raises:
            EngineError: The engine is not the one that they were written for.
        """
        return composed(base, self.seams)


def hooks_for(*, script: str, home: str, is_placed: bool) -> JobHooks:
    """The hooks that a job needs.

    Args:
        script: The engine's name of the family's script, for example `wan` of `wan_train_network`.
        home: The first device by its full name.
        is_placed: We place the blocks; see `Assignment`.
    """
    placed = _WHEN_PLACED + _WHEN_PLACED_FOR.get(script, ()) if is_placed else _WHEN_WHOLE
    seams = (*_ALWAYS, *_FOR.get(script, ()), *placed)
    replaced: list[EnvironmentHook | Hook] = [
        single_process.single_process(home),
        sample_once.sample_once(),
        lean_lora.lean_lora(),
    ]
    replaced += [direct_loading.direct_loading()] if is_placed else []
    return JobHooks(seams=seams, replaced=replaced)
