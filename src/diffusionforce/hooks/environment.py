"""Environment variables of the process for the time of a run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from diffusionforce.errors import EngineError


@dataclass(kw_only=True)
class EnvironmentHook:
    """Variables that a library reads when it is imported or set up.

    Attributes:
        number: Its number in `docs/hooks.md`.
        name: Short name, the same as the hook's file.
        values: The variables; None takes one away.
        reason: The assumption that the hook lifts, in a sentence.
        prevents: The failure that happens without it, in a sentence.
        upstream_revision: Commit of the engine that it was written for.
    """

    number: int
    name: str
    values: Mapping[str, str | None]
    reason: str
    prevents: str
    upstream_revision: str
    _before: dict[str, str | None] | None = field(default=None, init=False, repr=False)

    @property
    def target(self) -> str:
        """What is replaced, for people and to see that two hooks do not claim the same."""
        return f"environment: {', '.join(self.values)}"

    @property
    def applied(self) -> bool:
        """Whether the hook is in place."""
        return self._before is not None

    def apply(self) -> None:
        """Set the variables.

        Raises:
            EngineError: They are set already.
        """
        if self.applied:
            raise EngineError(f"The hook {self.name} is applied already.")
        self._before = {name: os.environ.get(name) for name in self.values}
        _set(self.values)

    def undo(self) -> None:
        """Put back what was there.

        Raises:
            EngineError: The hook is not applied.
        """
        if self._before is None:
            raise EngineError(f"The hook {self.name} is not applied, so it cannot be undone.")
        _set(self._before)
        self._before = None


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
