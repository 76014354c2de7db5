"""One overridden method: where the engine's trainer is a class, a hook is a subclass of it and replaces nothing.

An override depends on the code that calls it as much as a wrapper does: it is written for the arguments, the order of
calls and the return value of one revision. So it states the source of the method that it overrides and refuses any
other, like a `Hook`. There is nothing to undo: the engine's own class stays as it is.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diffusionforce.errors import EngineError
from diffusionforce.hooks.fingerprint import HINT, require_source
from diffusionforce.hooks.hook import Target


@dataclass(frozen=True, kw_only=True)
class Seam:
    """Overridden methods of the engine's trainer that lift one assumption.

    Attributes:
        number: Its number in `docs/hooks.md`. Where several override a method, the one with the higher number is
            called first, and so has the last word on what comes back.
        name: Short name, the same as the hook's file.
        overrides: The methods, with the `source_fingerprint` of each.
        reason: The assumption that the hook lifts, in a sentence.
        prevents: The failure that happens without it, in a sentence.
        upstream_revision: Commit of the engine that it was written for.
        mixin: Class with the overrides; it calls what it overrides with `super()`.
    """

    number: int
    name: str
    overrides: tuple[tuple[Target, str], ...]
    reason: str
    prevents: str
    upstream_revision: str
    mixin: type[Any]

    def verify(self) -> None:
        """Refuse an engine whose methods are not those that the overrides were written for.

        Raises:
            EngineError: A method is another one, or is not there.
        """
        for target, expected in self.overrides:
            function = inspect.getattr_static(target.owner(), target.name, None)
            if not callable(function):
                raise EngineError(f"{target} is not there to be overridden.", hint=HINT)
            require_source(
                function,
                expected=expected,
                target=target,
                hook_name=self.name,
                upstream_revision=self.upstream_revision,
            )


def composed(base: type[Any], seams: Sequence[Seam]) -> type[Any]:
    """Make the trainer class of a job.

    Args:
        base: The engine's trainer of the model's family.
        seams: What is overridden, in any order.

    Returns:
        A subclass of `base` with all overrides.

    Raises:
        EngineError: A method is not the one that a hook was written for, or two hooks have the same name or number.
    """
    for what in ("name", "number"):
        values = [getattr(seam, what) for seam in seams]
        if len(set(values)) < len(values):
            raise EngineError(f"Two hooks have the same {what}: {values}.")
    for seam in seams:
        seam.verify()
    mixins = [seam.mixin for seam in sorted(seams, key=lambda seam: seam.number, reverse=True)]
    return type(f"Hooked{base.__name__}", (*mixins, base), {})
