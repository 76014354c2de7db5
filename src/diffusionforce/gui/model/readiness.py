"""Whether a profile for the real models could start here, as the window tells it, and what its button does."""

from dataclasses import dataclass, replace

from diffusionforce.errors import UserError
from diffusionforce.gui.model import words
from diffusionforce.wire import Failed
from diffusionforce.wire.engine import EngineProgress
from diffusionforce.wire.readiness import Lack, Readiness
from diffusionforce.wire.weights import DownloadProgress

_TITLES: dict[Lack, str] = {
    "engine": "The engine is not here",
    "libraries": "The engine's libraries are not here",
    "card": "There is no graphics card",
    "terms": "The model has terms to accept",
    "files": "Files of the model are not here",
    "settings": "The profile cannot be used",
    "state": "The run cannot be gone on with",
}
_BUTTONS: dict[Lack, str] = {"engine": "Install the engine", "files": "Download the files"}
_HINTS: dict[Lack, str] = {
    "engine": "It trains and forecasts the real models. It is brought once, in the version that was tested."
}
"""In place of the command to type, where there is a button."""
_MODULES: dict[Lack, str] = {
    "engine": "diffusionforce.engines.musubi.command",
    "files": "diffusionforce.engines.musubi.weights_command",
}


@dataclass(frozen=True, kw_only=True)
class ReadinessView:
    """What is known of the present choice.

    Attributes:
        is_checking: Whether it is being looked at.
        lack: What is in the way; empty where nothing is, or it is not known.
        problem: That in a sentence, with what to do.
        command: What to type to put it right, where that is known.
        model: What `models` commands call the model.
        doing: What is being brought, and how far that is; empty while nothing is.
    """

    is_checking: bool = False
    lack: Lack = ""
    problem: UserError | None = None
    command: str = ""
    model: str = ""
    doing: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether nothing is in the way."""
        return self.problem is None and not self.is_checking

    @property
    def title(self) -> str:
        """What is in the way, in a few words."""
        return _TITLES.get(self.lack, "It could not be checked")

    @property
    def button(self) -> str:
        """What the button that puts it right says; empty where it takes more than a button."""
        return _BUTTONS.get(self.lack, "") if self.problem is not None and not self.doing else ""

    @property
    def copyable(self) -> str:
        """The command to offer where there is no button."""
        return self.command if self.lack not in _BUTTONS else ""

    def remedy(self) -> tuple[str, list[str]]:
        """Return the module that puts it right, and its arguments. Call only where there is a button."""
        arguments = ["install"] if self.lack == "engine" else ["download", "--", self.model]
        return _MODULES[self.lack], arguments


CHECKING = ReadinessView(is_checking=True)


def of_answer(answer: Readiness | Failed | UserError) -> ReadinessView:
    """Return what an answer of the child says."""
    if isinstance(answer, UserError):
        return ReadinessView(problem=answer)
    if isinstance(answer, Failed):
        return ReadinessView(problem=UserError(answer.sentence, hint=answer.hint, detail=answer.detail))
    if not answer.lack:
        return ReadinessView(model=answer.model)
    problem = UserError(answer.sentence, hint=_HINTS.get(answer.lack, answer.hint))
    return ReadinessView(lack=answer.lack, problem=problem, command=answer.command, model=answer.model)


def doing(view: ReadinessView, progress: EngineProgress | DownloadProgress | None = None) -> ReadinessView:
    """Return the view while something is brought."""
    return replace(view, doing=_progress_words(progress) if progress is not None else "Starting")


def failed(view: ReadinessView, problem: UserError) -> ReadinessView:
    """Return the view after something could not be brought: why, with the button to try again."""
    return replace(view, doing="", problem=problem)


def _progress_words(progress: EngineProgress | DownloadProgress) -> str:
    if isinstance(progress, DownloadProgress):
        name, total = progress.file.rpartition("/")[2], words.size(progress.total_bytes)
        done = f"{words.size(progress.done_bytes)} of {total}"
        number = f"{progress.number} of {progress.num_files}"
        return f"File {number}, {name}: {done}" if progress.num_files > 1 else f"{name}: {done}"
    if progress.stage == "download":
        total = f" of {words.size(progress.total)}" if progress.total else ""
        return f"Downloading, {words.size(progress.done)}{total}"
    return f"Comparing {progress.done:,} of {progress.total:,} files"
