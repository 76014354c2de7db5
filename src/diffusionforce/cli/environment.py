"""`diffusionforce env`: build, look at, repair and remove the environment for training.

The window starts this, too, with `--json`: what it shows and what a terminal shows is one and the same.
"""

import argparse
import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from rich.console import Console

from diffusionforce.cli.arguments import user_path
from diffusionforce.cli.output import write_bytes
from diffusionforce.cli.words import memory
from diffusionforce.environment import building, verification
from diffusionforce.environment.application import find_application
from diffusionforce.environment.backends import BACKENDS, NAMES
from diffusionforce.environment.log import BuildLog
from diffusionforce.environment.plan import GB, Plan, drive_words, plan_environment
from diffusionforce.environment.process import Cancelled
from diffusionforce.errors import UserError
from diffusionforce.rig import read_cards
from diffusionforce.wire import to_json
from diffusionforce.wire.environment import (
    BUILD_STEPS,
    EnvironmentLine,
    EnvironmentPlan,
    EnvironmentProgress,
    EnvironmentRecord,
    EnvironmentStatus,
)
from diffusionforce.wire.interpreter import is_from_checkout

EXIT_OK, EXIT_NOT_READY = 0, 1
DESCRIPTION = """Build, check, repair or remove the environment for training: a Python with PyTorch and the trainers'
libraries, in your data folder. The installed application needs it; a source checkout has its own, from bootstrap.py.
Ctrl-C stops; the same command goes on from there. Exit code: 0 it is ready, removed or not needed, 1 it is not, or a
problem, 2 a bug, 130 stopped."""
_STEPS = {
    "venv": "Making the environment",
    "torch": "Installing PyTorch",
    "libraries": "Installing the libraries",
    "check": "Loading everything once",
}
_STATES = {
    "ready": ("is ready", "green"),
    "missing": ("is not there. Build it: diffusionforce env create", "yellow"),
    "unfinished": ("is not finished. Go on: diffusionforce env create", "yellow"),
    "outdated": ("is of another version. Renew it: diffusionforce env create", "yellow"),
    "moved": ("was made for a DiffusionForce elsewhere. Make it anew: diffusionforce env repair", "yellow"),
    "damaged": ("is damaged. Repair it: diffusionforce env repair", "red"),
}
_OUTCOMES = {
    "built": "Built.",
    "repaired": "Repaired: it was made anew.",
    "removed": "Removed, with what was downloaded for it.",
    "not there": "There is no environment; nothing to remove.",
    "was there": "It is there already; nothing to do.",
    "stopped": "Stopped. What was done is kept.",
    "": "",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `env` its commands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="build it, or go on with building it")
    verify = actions.add_parser("verify", help="look for every file and load every library")
    repair = actions.add_parser("repair", help="clear it and build it anew, from what was downloaded before")
    remove = actions.add_parser("remove", help="delete it, with what was downloaded for it")
    status = actions.add_parser("status", help="say how it stands, and what would be built")
    for action in (create, repair, status):
        action.add_argument(
            "--backend", choices=("auto", *BACKENDS), default="auto", help="build of PyTorch; auto chooses by the cards"
        )
        action.add_argument("--wheels", metavar="DIR", help="folder of wheels to install from, without a network")
    for action in (create, verify, repair, remove, status):
        action.add_argument("--json", action="store_true", help="print one JSON record a line")
        action.add_argument("--stop-with-input", action="store_true", help=argparse.SUPPRESS)
        action.set_defaults(execute=run)


def run(options: argparse.Namespace) -> int:
    """Do what is asked, say how far it is, and return the exit code.

    Raises:
        UserError: It cannot be done.
    """
    telling = _Json() if options.json else _Terminal()
    cancelled = threading.Event()
    if options.stop_with_input:
        threading.Thread(target=_watch_input, args=(cancelled,), name="input", daemon=True).start()
    log = BuildLog(f"diffusionforce env {options.action}") if options.action in {"create", "repair"} else None
    try:
        status = _Action(options, telling=telling, log=log, cancelled=cancelled).run()
    except UserError as error:
        if log is not None:
            log.write(f"{error.sentence} {error.hint}")
        raise
    finally:
        telling.end()
    telling.tell(status if log is None else status.model_copy(update={"log": str(log.path)}))
    is_fine = status.state == "ready" or status.outcome in {"removed", "not there"} or _is_spare(status)
    return EXIT_OK if is_fine else EXIT_NOT_READY


def _is_spare(status: EnvironmentStatus) -> bool:
    """Whether it is not there, and nobody asked for it: a source checkout trains without."""
    return status.state == "missing" and not status.outcome and is_from_checkout()


class _Action:
    """One call of the command.

    Args:
        options: What was asked for.
        telling: Told everything.
        log: Told everything, too, if there is one.
        cancelled: Set when nobody wants it any more.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        telling: "_Json | _Terminal",
        log: BuildLog | None,
        cancelled: threading.Event,
    ) -> None:
        self._options, self._telling, self._log, self._cancelled = options, telling, log, cancelled
        self._application = find_application()

    def run(self) -> EnvironmentStatus:
        """Do it, and return how the environment stands then."""
        match self._options.action:
            case "remove":
                is_removed = building.remove()
                return self._look("removed" if is_removed else "not there")
            case "verify":
                return self._verify()
            case "status":
                status = self._look("")
                # What is not needed, nobody has to know the size of; a program is told all the same.
                if self._options.json or not _is_spare(status):
                    self._telling.tell(self._plan().told())
                return status
            case action:
                return self._build(anew=action == "repair")

    def _build(self, *, anew: bool) -> EnvironmentStatus:
        plan = self._plan()
        self._telling.tell(plan.told())
        build = building.Build(plan, report=self._report, is_cancelled=self._cancelled.is_set)
        try:
            did = build.run(anew=anew)
        except Cancelled:
            return self._look("stopped")
        return self._look("was there" if not did else "repaired" if anew else "built")

    def _verify(self) -> EnvironmentStatus:
        try:
            return verification.verify(self._application, report=self._report, is_cancelled=self._cancelled.is_set)
        except Cancelled:
            return self._look("stopped")

    def _plan(self) -> Plan:
        wheels = self._options.wheels
        return plan_environment(
            self._application,
            cards=read_cards(),
            backend=self._options.backend,
            wheels=user_path(wheels, option="--wheels") if wheels is not None else None,
        )

    def _look(self, outcome: str) -> EnvironmentStatus:
        return verification.look().model_copy(update={"outcome": outcome})

    def _report(self, record: EnvironmentProgress | EnvironmentLine) -> None:
        if self._log is not None:
            self._log.take(record)
        self._telling.tell(record)


class _Json:
    """Tells everything as JSON, a record a line."""

    def tell(self, record: EnvironmentRecord) -> None:
        write_bytes(to_json(record) + b"\n")

    def end(self) -> None:
        """Nothing is left open."""


class _Terminal:
    """Tells it to a person: what is done on standard output, how far it is on a terminal's last line."""

    def __init__(self) -> None:
        self._console = Console()
        self._step = ""
        self._is_building = False
        self._width = 0

    def tell(self, record: EnvironmentRecord) -> None:
        match record:
            case EnvironmentPlan():
                self._is_building = True
                for line in plan_lines(record):
                    self._console.print(line, soft_wrap=True, markup=False)
            case EnvironmentProgress():
                self._show(record)
            case EnvironmentStatus():
                self._show_status(record)
            case _:
                return

    def end(self) -> None:
        """Leave the last line as if nothing had been there."""
        self._rewrite("")

    def _show(self, progress: EnvironmentProgress) -> None:
        if progress.step != self._step:
            self._step = progress.step
            self._rewrite("")
            number = f"{BUILD_STEPS.index(progress.step) + 1} of {len(BUILD_STEPS)}  " if self._is_building else ""
            self._console.print(f"{number}{_STEPS[progress.step]}", highlight=False)
        self._rewrite(progress_words(progress))

    def _rewrite(self, words: str) -> None:
        if sys.stderr.isatty() and (words or self._width):
            sys.stderr.write(f"\r{words:<{self._width}}\r{words}")
            sys.stderr.flush()
            self._width = len(words)

    def _show_status(self, status: EnvironmentStatus) -> None:
        if status.outcome:
            self._console.print(_OUTCOMES[status.outcome], highlight=False)
        if status.outcome in {"removed", "not there"}:
            return
        if _is_spare(status):
            words = "This copy runs from its source and trains with its own PyTorch: it needs no environment."
            self._console.print(words, style="green", soft_wrap=True, highlight=False)
            return
        words, style = _STATES[status.state]
        build = f": PyTorch {status.torch_version}, {NAMES[status.backend]}" if status.state == "ready" else ""
        line = f"The environment in {status.folder} {words}{build}"
        self._console.print(line, style=style, soft_wrap=True, highlight=False)
        for problem in status.problems:
            self._console.print(f"  {problem}", soft_wrap=True, highlight=False, markup=False)


def plan_lines(plan: EnvironmentPlan) -> Iterator[str]:
    """Say what is going to be built, a sentence a line."""
    yield f"PyTorch {plan.torch_version} ({NAMES[plan.backend]}). {plan.reason}"
    source = f"from {plan.wheels}" if plan.wheels else f"about {plan.download_bytes / GB:.1f} GB to download"
    yield f"{source[0].upper()}{source[1:]}, about {plan.needed_bytes / GB:.0f} GB in {plan.folder}."
    yield f"{drive_words(plan.drive)} has {plan.free_bytes / GB:.0f} GB free."


def progress_words(progress: EnvironmentProgress) -> str:
    """Return how far a step is, for example `torch: 1.2 GB of 2.4 GB, 24 MB a second`; empty if it cannot be said."""
    if progress.step == "check":
        return f"{progress.package} ({progress.done} of {progress.total})" if progress.package else ""
    if not progress.total_bytes or not progress.package:
        return ""
    speed = f", {memory(progress.bytes_per_s)} a second" if progress.bytes_per_s else ""
    return f"{progress.package}: {memory(progress.done_bytes)} of {memory(progress.total_bytes)}{speed}"


def _watch_input(cancelled: threading.Event) -> None:
    """Wait until whoever started us lets go of our input, on purpose or because it is gone."""
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    cancelled.set()
