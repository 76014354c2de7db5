"""The parser of arguments that every command uses."""

import argparse
import difflib
from typing import Any, NoReturn

from diffusionforce.errors import UserError


class UsageError(UserError):
    """Arguments that are not understood."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process, so that `--json` holds for its complaints too."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        close = difflib.get_close_matches(str(value), known, n=1)
        meant = f"; did you mean {close[0]}?" if close else f"; it is one of: {', '.join(known)}"
        name = action.metavar or action.dest
        self.error(f"there is no {str(name).lower()} {value!r}{meant}")

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            UsageError: Always.
        """
        end = "" if message.endswith("?") else "."
        raise UsageError(f"{message[0].upper()}{message[1:]}{end}", hint=f"Try: {self.prog} --help")
