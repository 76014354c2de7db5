"""The parser of arguments that every command uses."""

import argparse
from typing import NoReturn

from diffusionforce.errors import UserError


class UsageError(UserError):
    """Arguments that are not understood."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process, so that `--json` holds for its complaints too."""

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{message[0].upper()}{message[1:]}.", hint=f"Try: {self.prog} --help")
