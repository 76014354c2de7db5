"""The log of the last attempt at the environment, for whoever wants to know more, or is asked for it."""

import contextlib
import datetime
from pathlib import Path

from diffusionforce.job import data_dir
from diffusionforce.wire.environment import EnvironmentLine, EnvironmentProgress

NAME = "environment.log"


def log_path() -> Path:
    """Return the file of the log, which need not exist."""
    return data_dir() / NAME


class BuildLog:
    """Writes what is said and which steps begin, each with its time. A disk that refuses it loses it.

    Args:
        title: What is being done, for the first line.
    """

    def __init__(self, title: str) -> None:
        self.path = log_path()
        self._step = ""
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("", encoding="utf-8")
        self.write(title)

    def take(self, record: EnvironmentProgress | EnvironmentLine) -> None:
        """Take in what was reported."""
        if isinstance(record, EnvironmentLine):
            self.write(record.text)
        elif record.step != self._step:
            self._step = record.step
            self.write(f"# {record.step}")

    def write(self, text: str) -> None:
        """Write a line."""
        now = datetime.datetime.now().strftime("%H:%M:%S")
        with contextlib.suppress(OSError), self.path.open("a", encoding="utf-8") as file:
            file.write(f"{now} {text}\n")
