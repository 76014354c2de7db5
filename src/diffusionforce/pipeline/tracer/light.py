"""PyTorch without its compiler, for a process that traces and ends.

Fake tensors read three settings of the compiler, and reading them loads all of it, which takes as long as tracing a
model of 14 billion parameters. So until something needs the compiler itself, a module stands in for it that has the
two functions which other parts of PyTorch call in passing; anything else brings the real one.
"""

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch

_COMPILER = "torch._dynamo"


class _StandIn(ModuleType):
    """The compiler's package as far as code needs it that compiles nothing. Becomes the package when more is asked."""

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(_COMPILER)
        self.__spec__, self.__path__ = spec, spec.submodule_search_locations or []
        self._is_whole = False

    @staticmethod
    def disable(function: Callable[..., Any], *_args: Any, **_options: Any) -> Callable[..., Any]:
        """Nothing is compiled here, so nothing has to be kept from it."""
        return function

    @staticmethod
    def graph_break(*_args: Any, **_options: Any) -> None:
        """Nothing is compiled here, so there is nothing to break off."""

    def __getattr__(self, name: str) -> Any:
        is_module = importlib.util.find_spec(f"{_COMPILER}.{name}") is not None
        if name.startswith("__") or is_module or self._is_whole:
            raise AttributeError(name)  # Of modules, the import system loads those that it does not find.
        self._is_whole = True
        assert self.__spec__ is not None and self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def start_without_compiler() -> None:
    """Put the stand-in in the compiler's place, unless the compiler is there already."""
    spec = importlib.util.find_spec(_COMPILER)
    if _COMPILER not in sys.modules and spec is not None:
        stand_in = _StandIn(spec)
        sys.modules[_COMPILER] = stand_in
        torch._dynamo = stand_in  # pyright: ignore[reportAttributeAccessIssue]
