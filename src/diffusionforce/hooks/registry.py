"""Applying hooks together: all of them or none, in order, and taken back in reverse.

A run with half of its hooks is worse than one that does not start, because it trains something else than it shows.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from diffusionforce.errors import EngineError


class Applicable(Protocol):
    """What can be put in place for a run and taken back: a `Hook`, or an `EnvironmentHook`."""

    @property
    def name(self) -> str:
        """Short name."""
        ...

    @property
    def target(self) -> object:
        """What it replaces; its text says where."""
        ...

    def apply(self) -> None:
        """Put it in place."""
        ...

    def undo(self) -> None:
        """Take it back."""
        ...


class AppliedHooks:
    """Hooks that are in place; a context manager that takes them back.

    Args:
        hooks: The applied hooks, in the order in which they were applied.
    """

    def __init__(self, hooks: Sequence[Applicable]) -> None:
        self._hooks = list(hooks)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hooks that are in place, in the order in which they were applied."""
        return tuple(hook.name for hook in self._hooks)

    def undo_all(self) -> None:
        """Take the hooks back, the last one first. Nothing happens the second time.

        Raises:
            EngineError: A target was replaced after its hook; that hook and those before it stay in place.
        """
        while self._hooks:
            self._hooks[-1].undo()
            self._hooks.pop()

    def __enter__(self) -> "AppliedHooks":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.undo_all()


def apply_all(hooks: Sequence[Applicable]) -> AppliedHooks:
    """Apply hooks in order, all or none.

    Args:
        hooks: What to apply.

    Returns:
        The applied hooks, to be undone at the end of the run.

    Raises:
        EngineError: Two of them have the same name or target, or one of them cannot be applied; those that were
            applied before it are taken back.
    """
    _check_claims(hooks)
    applied = AppliedHooks(())
    for index, hook in enumerate(hooks):
        try:
            hook.apply()
        except BaseException:
            # Not only refusals: a hook that fails with a bug of its own, or a Ctrl-C, must not leave half of them.
            applied.undo_all()
            raise
        applied = AppliedHooks(hooks[: index + 1])
    return applied


def _check_claims(hooks: Sequence[Applicable]) -> None:
    by_target: dict[str, Applicable] = {}
    names: set[str] = set()
    for hook in hooks:
        other = by_target.setdefault(str(hook.target), hook)
        if other is not hook:
            raise EngineError(f"The hooks {other.name} and {hook.name} both claim {hook.target}.")
        if hook.name in names:
            raise EngineError(f"The hook {hook.name} is listed twice.")
        names.add(hook.name)
