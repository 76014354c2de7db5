"""The command line, `diffusionforce`: starts the same trainer process as the window and never loads torch itself."""

import gc
import importlib
from collections.abc import Sequence
from types import ModuleType

EXIT_INTERRUPTED = 130

__all__ = ["loaded", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code, see `diffusionforce.cli.app.main`.

    The rest is loaded here: that takes a moment, in which a Ctrl-C may already come.
    """
    try:
        return loaded("diffusionforce.cli.app").main(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def loaded(module: str) -> ModuleType:
    """Load a module with the garbage collector at rest: loading makes many things and leaves none behind.

    The window takes a sixth less time to start this way.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        if was_enabled:
            gc.enable()
