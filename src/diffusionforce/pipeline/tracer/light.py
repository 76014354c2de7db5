"""PyTorch without its compiler, for a process that traces and ends.

Code that works out shapes asks some modules in passing: whether a function may be compiled, whether a number is what it
is (numbers may be symbols for the compiler), whether a tensor is spread over several processes. Loading them, and a
library for algebra with symbols, takes as long as tracing a model of 14 billion parameters. So until something needs
them, others stand in for them that have what is asked for in passing; anything else brings the real one.

PyTorch itself loads a good deal that no trace asks for, which is a fifth of its start: for that, too, others stand in.
"""

import importlib
import importlib.util
import operator
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_COMPILER, _SHAPES, _ALGEBRA = "torch._dynamo", "torch.fx.experimental.symbolic_shapes", "sympy"
_SPREAD = "torch.distributed.tensor"
_ASKED_FOR_NOTHING = (
    *("torch.ao", "torch.quantization", "torch.nn.intrinsic", "torch.nn.qat", "torch.nn.quantizable"),
    *("torch.nn.quantized", "torch.export", "torch.masked", "torch.distributions", "torch.utils.data"),
    "torch.distributed._meta_registrations",
)
"""Parts that PyTorch loads with itself, and of which nothing is asked then."""


class _Nothing:
    """The type of what there is none of here: symbols, and tensors that are spread over processes."""


class _UnknownError(RuntimeError):
    """What is raised where a number is not known, so never."""


_ABOUT_NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("expect_true", "guard_or_false", "guard_or_true", "guard_size_oblivious"), bool),
    "statically_known_true": bool,
    "sym_and": lambda *parts: all(parts),
    "sym_or": lambda *parts: any(parts),
    "sym_eq": operator.eq,
    "guard_int": int,
    "guarding_hint_or_throw": lambda number: number,
    "has_guarding_hint": lambda _number: True,
    "is_nested_int": lambda _number: False,
    "free_unbacked_symbols": lambda _value: set[Any](),
    "GuardOnDataDependentSymNode": _UnknownError,
}
"""What is asked about numbers; no number is a symbol here."""


class _StandIn(ModuleType):
    """A module as far as code needs it that compiles nothing. Becomes the module when more is asked."""

    def __init__(self, spec: ModuleSpec, parts: Mapping[str, Any]) -> None:
        super().__init__(spec.name)
        self.__spec__ = spec
        if spec.submodule_search_locations is not None:
            self.__path__ = spec.submodule_search_locations
        self.__dict__.update(parts)
        self._is_whole = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self._is_whole:
            raise AttributeError(name)
        if self._has_module(name):
            return importlib.import_module(f"{self.__name__}.{name}")
        self._is_whole = True
        assert self.__spec__ is not None and self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)

    def _has_module(self, name: str) -> bool:
        return "__path__" in self.__dict__ and importlib.util.find_spec(f"{self.__name__}.{name}") is not None


def start_without_compiler() -> None:
    """Put stand-ins in the place of the compiler and what belongs to it, where that is not there already."""
    if "torch" not in sys.modules:
        for name in _ASKED_FOR_NOTHING:
            _stand_in(name, {})
        importlib.import_module("torch")
    # Nothing is compiled here, so nothing has to be kept from it.
    _stand_in(_COMPILER, {"disable": lambda function, *_args, **_options: function, "graph_break": _nothing})
    importlib.import_module(f"{_COMPILER}.config")
    _stand_in(_ALGEBRA, {"Basic": _Nothing})
    _stand_in(_SPREAD, {"DTensor": _Nothing})
    _stand_in(_SHAPES, _ABOUT_NUMBERS)


def _stand_in(name: str, parts: Mapping[str, Any]) -> None:
    spec = _found(name)
    if name in sys.modules or spec is None:
        return
    module = sys.modules[name] = _StandIn(spec, parts)
    package, _, last = name.rpartition(".")
    if package in sys.modules:
        setattr(sys.modules[package], last, module)


def _found(name: str) -> ModuleSpec | None:
    """Where a module is; what it is part of need not be loaded for that, unlike for `importlib.util.find_spec`."""
    top, *others = name.split(".")
    spec = PathFinder.find_spec(top)
    for depth, _ in enumerate(others, 2):
        if spec is None:
            return None
        spec = PathFinder.find_spec(".".join(name.split(".")[:depth]), spec.submodule_search_locations)
    return spec


def _nothing(*_args: Any, **_options: Any) -> None:
    """Nothing is compiled here, so there is nothing to break off."""
