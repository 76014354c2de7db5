"""Single modules of the engine, without all that their packages would load with them.

A model's class needs torch and a few small libraries. The `__init__` of its package may import the text encoder and
the autoencoder as well, and with them libraries that take seconds, open the graphics card or are not installed; and the
LoRA module imports a library for the sake of a type annotation. Whoever only wants to look at a model (a forecast, a
benchmark) takes it from here.
"""

import importlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffusionforce.errors import EngineError
from diffusionforce.wire.interpreter import is_from_checkout, repair_hint

LIBRARIES_HINT = (
    "In the folder of DiffusionForce, run: python3 bootstrap.py engine. In an environment of your own: "
    f'"{sys.executable}" -m pip install -e ".[musubi]"'
    if is_from_checkout()
    else repair_hint()
)
"""How to install what the engine imports: packages are not always named like what is imported."""

_ENGINE = "musubi_tuner."
_HEAVY_PACKAGES = ("musubi_tuner.wan.modules",)
_FOR_ANNOTATIONS = {"transformers": ("CLIPTextModel",)}
"""Libraries that a module imports only to name a type, with the names."""
_CALLED_LATER = {"accelerate": ("init_empty_weights",)}
"""Libraries of which a module imports functions that it calls when it loads weights. They come when they are called."""


def import_light(
    name: str, *, source: Path, without: Mapping[str, Mapping[str, Any]] | None = None
) -> types.ModuleType:
    """Import one module of the engine.

    Args:
        name: Its full name, for example `musubi_tuner.wan.modules.model`.
        source: The folder that holds `musubi_tuner`, as `open_engine` returns it; it is on the import path.
        without: Modules that others stand in for, with what is taken from them; anything else in them is an empty
            class. What the engine imports meanwhile is forgotten again, so that a training loads it as it is.

    Raises:
        EngineError: It needs a library that is not installed.
    """
    with _stand_ins(source), _replaced(without or {}):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = (error.name or str(error)).partition(".")[0]
            raise EngineError(
                f"The engine needs the library {missing}, which is not installed.",
                hint=LIBRARIES_HINT,
                detail=f"importing {name}: {error!r}",
            ) from error


class _StandIn(types.ModuleType):
    """A module that has whatever is taken from it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@contextmanager
def _replaced(without: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Put other modules in the place of some, and afterwards everything back as it was."""
    if not without:
        yield
        return
    before = dict(sys.modules)
    for name, parts in without.items():
        module = _StandIn(name)
        module.__path__ = []
        module.__dict__.update(parts)
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name in without or name.startswith(_ENGINE)]:
            if name not in before:
                _forget(name)
        sys.modules.update({name: before[name] for name in without if name in before})


def _forget(name: str) -> None:
    """Let a module be imported again, also by `from PACKAGE import NAME`."""
    del sys.modules[name]
    package, _, last = name.rpartition(".")
    if package in sys.modules:
        sys.modules[package].__dict__.pop(last, None)


def _later(library: str, name: str) -> Callable[..., Any]:
    """A function of a library, which is loaded when it is called."""
    return lambda *args, **kwargs: getattr(importlib.import_module(library), name)(*args, **kwargs)


@contextmanager
def _stand_ins(source: Path) -> Iterator[None]:
    """Put empty packages where the heavy ones would be; afterwards they can be loaded as they are."""
    put: list[str] = []
    for name in _HEAVY_PACKAGES:
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(source.joinpath(*name.split(".")))]
            sys.modules[name] = package
            put.append(name)
    parts = {name: dict.fromkeys(taken, object) for name, taken in _FOR_ANNOTATIONS.items()}
    parts |= {name: {function: _later(name, function) for function in taken} for name, taken in _CALLED_LATER.items()}
    for name, taken in parts.items():
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__dict__.update(taken)
            put.append(name)
    try:
        yield
    finally:
        for name in put:
            del sys.modules[name]
