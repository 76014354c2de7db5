"""The command line, `diffusionforce`: starts the same trainer process as the window and never loads torch itself."""

import importlib
from collections.abc import Sequence

EXIT_INTERRUPTED = 130

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code, see `diffusionforce.cli.app.main`.

    The rest is loaded here: that takes a moment, in which a Ctrl-C may already come.
    """
    try:
        return importlib.import_module("diffusionforce.cli.app").main(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
