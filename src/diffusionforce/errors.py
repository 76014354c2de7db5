"""The errors a user may meet: one sentence that says what is wrong, a hint that says what to do, hidden detail.

A library traceback tells a developer where the program was; it does not tell a user what to change. Every
problem that a user can cause or cure is raised as a subclass of `UserError`, and whoever shows it (command
line, window, telemetry) shows its sentence and hint and keeps the detail behind a button. Any other exception
is a bug of ours and keeps its traceback.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Change:
    """Settings with which a job would do what it cannot do as it is; somebody computed that.

    Attributes:
        words: What changes, and what comes of it, for people.
        settings: New values by the dotted names of settings, for example `{"lora.rank": 8}`.
    """

    words: str
    settings: Mapping[str, bool | int | float | str]


class UserError(Exception):
    """A problem in words that the person in front of the screen can act on.

    Args:
        sentence: What is wrong, with the file, field or number that it is about. One sentence, full stop.
        hint: What to do about it. Empty when the sentence already says so.
        detail: Technical text for a bug report, shown only on request.
        changes: Settings that would help, each computed, the ones that change least first.
    """

    def __init__(self, sentence: str, *, hint: str = "", detail: str = "", changes: Sequence[Change] = ()) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.detail = detail
        self.changes = tuple(changes)

    def __str__(self) -> str:
        return f"{self.sentence} {self.hint}".strip()


class ProfileError(UserError):
    """A profile or job file that cannot be read, or that holds a value we refuse."""


class DatasetError(UserError):
    """A dataset folder with nothing to train on, or with a file that cannot be used."""


class RunFolderError(UserError):
    """A run folder that cannot be made, is taken, or cannot be read."""


class WeightsError(UserError):
    """Model weights that are missing, incomplete or not of the model that the profile names."""


class EngineError(UserError):
    """A training engine that is not installed, or is not the one that was pinned."""


class NotForecastError(EngineError):
    """A job whose memory cannot be forecast; it may be trained all the same."""


class DeviceError(UserError):
    """A device that is not there, or that cannot hold what the plan gives it."""


class DivergedError(UserError):
    """A training whose loss is no longer a number."""


class CardMemoryError(UserError):
    """A card, or the computer, that ran out of memory while training.

    Args:
        sentence: Which one, and what was being done.
        hint: What to do.
        detail: Numbers, and the traceback.
        device: Its name, for example `cuda:1`; empty if it is not known.
        wanted_bytes: How much more was asked for; None if it is not known.
        held_bytes: The most that the training had taken of it until then; None if it is not known.
        changes: As for every error.
    """

    def __init__(
        self,
        sentence: str,
        *,
        hint: str = "",
        detail: str = "",
        device: str = "",
        wanted_bytes: int | None = None,
        held_bytes: int | None = None,
        changes: Sequence[Change] = (),
    ) -> None:
        super().__init__(sentence, hint=hint, detail=detail, changes=changes)
        self.device = device
        self.wanted_bytes = wanted_bytes
        self.held_bytes = held_bytes


class DiskError(UserError):
    """Not enough free disk space, or a disk that refuses to be written."""


class SetupError(UserError):
    """An environment for training that cannot be built, or is not as it was built."""


class ProtocolError(UserError):
    """A trainer process that speaks another version of the protocol than its reader."""
