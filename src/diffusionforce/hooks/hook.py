"""One hook: what it replaces, why, and how to take it back.

The obvious way to patch, assigning to an attribute, fails silently: when the patched code changes upstream the
patch still applies and does the wrong thing, when two patches meet the second hides the first, and nobody can tell
afterwards what was patched. So a hook states the source it was written for and refuses any other, leaves its name
on the wrapper, and keeps what it needs to undo itself.
"""

import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias

from diffusionforce.errors import EngineError
from diffusionforce.hooks.fingerprint import HINT, require_source

Function: TypeAlias = Callable[..., Any]

# The mark that a wrapper carries: the name of its hook.
MARK = "__diffusionforce_hook__"
_MISSING = object()


@dataclass(frozen=True, kw_only=True)
class Target:
    """A place that a hook replaces.

    Attributes:
        module: Module to import, for example `musubi_tuner.training.trainer_base`.
        attribute: Function in it, with its class if it has one, for example `NetworkTrainer.load_vae`.
    """

    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"

    def owner(self) -> ModuleType | type[Any]:
        """Return the module or class that holds the function.

        Raises:
            EngineError: It is not there.
        """
        try:
            owner: Any = importlib.import_module(self.module)
            for name in self.attribute.split(".")[:-1]:
                owner = getattr(owner, name)
        except (ImportError, AttributeError) as error:
            raise EngineError(f"{self} is not there to be hooked: {error}.", hint=HINT) from error
        return owner

    @property
    def name(self) -> str:
        """The function's name in its owner."""
        return self.attribute.rpartition(".")[2]


@dataclass(kw_only=True)
class Hook:
    """One replaced function.

    Attributes:
        name: Short name, the same as the hook's file, for example `place-lora-on-block-device`.
        target: What is replaced.
        reason: The assumption that the hook lifts, in a sentence.
        prevents: The failure that happens without it, in a sentence.
        upstream_revision: Commit of the engine that it was written for.
        fingerprint: `source_fingerprint` of the target at that commit.
        wrap: Takes the original and returns what is called instead. The wrapper takes the same arguments, calls
            the original, and lets its exceptions pass.
        number: Its number in `docs/hooks.md`.
    """

    name: str
    target: Target
    reason: str
    prevents: str
    upstream_revision: str
    fingerprint: str
    wrap: Callable[[Function], Function]
    number: int = 0
    _wrapper: Any = field(default=None, init=False, repr=False)
    _before: Any = field(default=_MISSING, init=False, repr=False)

    @property
    def applied(self) -> bool:
        """Whether the hook is in place."""
        return self._wrapper is not None

    def apply(self) -> None:
        """Replace the target.

        Raises:
            EngineError: The hook is applied already, another hook has claimed the target, or the target's source
                is not the one that the hook was written for. The target is as it was.
        """
        if self.applied:
            raise EngineError(f"The hook {self.name} is applied already.")
        owner = self.target.owner()
        # Looked up in the owner's own namespace: what it holds there is what has to come back, a `staticmethod` as
        # a whole, and nothing at all where the function is inherited.
        before = vars(owner).get(self.target.name, _MISSING)
        original = self._original(owner, before)
        wrapper = self.wrap(original)
        _copy_identity(original, wrapper)
        setattr(wrapper, MARK, self.name)
        rewrapped = _in_same_descriptor(before, wrapper)
        setattr(owner, self.target.name, rewrapped)
        self._wrapper, self._before = rewrapped, before

    def undo(self) -> None:
        """Put the target back.

        Raises:
            EngineError: The hook is not applied, or somebody replaced the target after it.
        """
        if not self.applied:
            raise EngineError(f"The hook {self.name} is not applied, so it cannot be undone.")
        owner = self.target.owner()
        if vars(owner).get(self.target.name) is not self._wrapper:
            raise EngineError(f"{self.target} was replaced after the hook {self.name}, which cannot be undone.")
        if self._before is _MISSING:
            delattr(owner, self.target.name)
        else:
            setattr(owner, self.target.name, self._before)
        self._wrapper, self._before = None, _MISSING

    def _original(self, owner: ModuleType | type[Any], before: Any) -> Function:
        """Return the function under the target, having checked that it is the one this hook was written for."""
        found = before if before is not _MISSING else inspect.getattr_static(owner, self.target.name, None)
        function = _inside_descriptor(found)
        if not callable(function):
            raise EngineError(f"{self.target} is not there to be hooked: it is no function.", hint=HINT)
        claimed_by = getattr(function, MARK, None)
        if claimed_by is not None:
            raise EngineError(f"The hooks {claimed_by} and {self.name} both claim {self.target}.")
        require_source(
            function,
            expected=self.fingerprint,
            target=self.target,
            hook_name=self.name,
            upstream_revision=self.upstream_revision,
        )
        return function


def _inside_descriptor(found: Any) -> Any:
    """Return the function inside a `staticmethod` or `classmethod`, and anything else as it is."""
    return getattr(found, "__func__", found)


def _in_same_descriptor(before: Any, wrapper: Function) -> Any:
    """Return the wrapper as a `staticmethod` or `classmethod` if what stood there before was one."""
    descriptors: tuple[Any, ...] = (staticmethod, classmethod)
    return next((descriptor(wrapper) for descriptor in descriptors if isinstance(before, descriptor)), wrapper)


def _copy_identity(original: Function, wrapper: Function) -> None:
    """Give a wrapper the name and signature of the original.

    `functools.wraps` would also set `__wrapped__`, which the engine follows when it unwraps a model, and so would
    take the hook off in the middle of a run.
    """
    signature = inspect.signature(original)
    functools.update_wrapper(wrapper, original)
    del wrapper.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
    wrapper.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
