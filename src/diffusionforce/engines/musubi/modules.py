"""Single modules of the engine, without all that their packages would load with them.

A model's class needs torch and a few small libraries. The `__init__` of its package may import the text encoder and
the autoencoder as well, and with them libraries that take seconds, open the graphics card or are not installed; and the
LoRA module imports a library for the sake of a type annotation. Whoever only wants to look at a model (a forecast, a
benchmark) takes it from here.
"""

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diffusionforce.errors import EngineError

LIBRARIES_HINT = (
    "In the folder of DiffusionForce, run: python3 bootstrap.py engine. In an environment of your own: "
    f'"{sys.executable}" -m pip install -e ".[musubi]"'
)
"""How to install what the engine imports: packages are not always named like what is imported."""

_HEAVY_PACKAGES = ("musubi_tuner.wan.modules",)
_FOR_ANNOTATIONS = {"transformers": ("CLIPTextModel",)}
"""Libraries that a module imports only to name a type, with the names."""


def import_light(name: str, *, source: Path) -> types.ModuleType:
    """Import one module of the engine.

    Args:
        name: Its full name, for example `musubi_tuner.wan.modules.model`.
        source: The folder that holds `musubi_tuner`, as `open_engine` returns it; it is on the import path.

    Raises:
        EngineError: It needs a library that is not installed.
    """
    with _stand_ins(source):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = (error.name or str(error)).partition(".")[0]
            raise EngineError(
                f"The engine needs the library {missing}, which is not installed.",
                hint=LIBRARIES_HINT,
                detail=f"importing {name}: {error!r}",
            ) from error


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
    for name, types_in_it in _FOR_ANNOTATIONS.items():
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            library = types.ModuleType(name)
            for type_name in types_in_it:
                setattr(library, type_name, object)
            sys.modules[name] = library
            put.append(name)
    try:
        yield
    finally:
        for name in put:
            del sys.modules[name]
