"""`diffusionforce gui`. Apart from the other commands, so that the window need not wait until those are loaded."""

import argparse
import os
import sys
import traceback

from diffusionforce.cli import loaded
from diffusionforce.cli.arguments import named_run
from diffusionforce.cli.parsing import Parser
from diffusionforce.errors import UserError


class WindowError(UserError):
    """A window that cannot be opened here."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Give the command its arguments."""
    command.add_argument("--run", metavar="DIR", help="open it on this run")
    command.set_defaults(execute=_open_window)


def parser() -> argparse.ArgumentParser:
    """Return a parser that knows this command only."""
    top = Parser(prog="diffusionforce")
    add_arguments(top.add_subparsers(metavar="COMMAND", required=True).add_parser("gui"))
    return top


def _open_window(options: argparse.Namespace) -> int:
    run = named_run(options.run, option="--run").root if options.run is not None else None
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform == "linux" and not any(os.environ.get(name) for name in displays):
        raise WindowError(
            "There is no display to open the window on.",
            hint="Train in the terminal instead: diffusionforce run PROFILE. Runs are listed by: diffusionforce runs.",
        )
    try:
        # By name, because every other command must start without Qt.
        loaded("diffusionforce.gui.feature_scan").switch_off()
        window = loaded("diffusionforce.gui.app")
    except ImportError as error:
        raise WindowError(
            f"The window cannot be opened: {error}.",
            hint="Install what is missing; training in the terminal works without it.",
            detail=traceback.format_exc(),
        ) from error
    return window.main(run)
