"""The engine for the real models as the window tells it: whether it is here, what to do, how far that is."""

from dataclasses import dataclass, replace

from diffusionforce.errors import UserError
from diffusionforce.gui.model import words
from diffusionforce.wire import Failed
from diffusionforce.wire.engine import EngineProgress, EngineRecord, EngineStatus


@dataclass(frozen=True, kw_only=True)
class EngineView:
    """What is shown of the engine.

    Attributes:
        tone: `ok`, `info`, `warn` or `err`.
        title: What is so.
        text: What it means, or what to do.
        action: What the button does, `install` or `verify`; empty while something is being done.
        share: How far that is, 0 to 1; None where it is not known, or nothing is being done.
    """

    tone: str
    title: str
    text: str = ""
    action: str = ""
    share: float | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is being done."""
        return not self.action


LOOKING = EngineView(tone="info", title="Looking for the engine")


def of_record(record: EngineRecord, *, action: str) -> EngineView:
    """Return what a record of the child says.

    Args:
        record: The record.
        action: What the child was asked: `status`, `install` or `verify`.
    """
    match record:
        case EngineProgress():
            return _progress(record)
        case EngineStatus():
            return _status(record, action=action)
        case Failed():
            text = record.hint
            return EngineView(tone="err", title=record.sentence, text=text, action="install")


def of_problem(problem: UserError) -> EngineView:
    """Return the view of a child that said nothing."""
    return EngineView(tone="err", title=problem.sentence, text=problem.hint, action="install")


def begun(action: str) -> EngineView:
    """Return the view of something that has just been asked for."""
    titles = {"install": "Installing the engine", "verify": "Comparing every file with what was pinned"}
    return replace(LOOKING, title=titles.get(action, LOOKING.title))


def _progress(record: EngineProgress) -> EngineView:
    if record.stage == "download":
        title = f"Downloading, {words.size(record.done)}"
        title += f" of {words.size(record.total)}" if record.total else ""
    else:
        title = f"Comparing {record.done:,} of {record.total:,} files"
    share = record.done / record.total if record.total else None
    return EngineView(tone="info", title=title, share=share)


def _status(status: EngineStatus, *, action: str) -> EngineView:
    name = f"{status.name} {status.version}"
    if status.state == "missing":
        text = (
            "The real models need it. It is brought from its authors at the pinned version, and checked file by file."
        )
        return EngineView(tone="warn", title=f"{name} is not installed", text=text, action="install")
    if status.state == "damaged":
        wrong = len(status.modified) + len(status.missing) + len(status.extra)
        text = f"{words.count(wrong, 'file')} not as pinned. Repairing brings the right ones back."
        return EngineView(tone="err", title=f"{name} is damaged", text=text, action="install")
    outcomes = {
        "installed": "Installed, and every file compared.",
        "repaired": "Repaired: it was damaged.",
        "was there": "It was installed already; nothing to do.",
    }
    looked = (
        "Every byte of it is as pinned." if action == "verify" else "The version that this DiffusionForce is made for."
    )
    amount = f"{words.count(status.num_files, 'file')}, {words.size(status.size_bytes)}."
    text = f"{outcomes.get(status.outcome, looked)} {amount}"
    return EngineView(tone="ok", title=f"{name} is installed", text=text, action="verify")
