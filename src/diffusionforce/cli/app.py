"""Arguments, the choice of a command, and the one place where an error becomes words for the terminal."""

import argparse
import contextlib
import importlib
import os
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import diffusionforce
from diffusionforce.cli import EXIT_INTERRUPTED, checking, engine, forecasting, listing, lora, models, running
from diffusionforce.cli.arguments import add_plan_arguments
from diffusionforce.cli.output import make_streams_fit, silence, write_bytes
from diffusionforce.errors import UserError
from diffusionforce.runs import RunFolder, is_disk_full, shortened
from diffusionforce.wire import Failed, child_environment, encode

EXIT_FAILED, EXIT_BUG = 1, 2


_RUN = """Train a LoRA. Ctrl-C stops after the step and keeps what there is; again, it breaks the step off; a third
time, it ends the trainer at once. Exit code: 0 done or stopped, 1 a problem, 2 a bug, 130 ended at once."""

_FORECAST = """Say what caching, training and sampling will need of each card and of RAM, and which ways to train there
are, the fastest that fits on top. Nothing is loaded or trained, and no graphics card is needed. Exit code: 0 it fits, 1
it does not, or a problem, 2 a bug."""

_BENCHES = {
    "rig": ("diffusionforce.trainer.speed_test", "how fast each card computes and is reached"),
    "pipeline": ("diffusionforce.pipeline.bench", "schedules side by side on random weights"),
    "forecast": ("diffusionforce.trainer.forecast_bench", "forecasts of memory and time beside what the cards show"),
}


class UsageError(UserError):
    """Arguments that are not understood."""


class WindowError(UserError):
    """A window that cannot be opened here."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process, so that `--json` holds for its complaints too."""

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{message[0].upper()}{message[1:]}.", hint=f"Try: {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0: done, stopped or shown. 1: a problem to act on. 2: a bug of ours. 130: Ctrl-C ended us, or, pressed three
    times, the trainer.

    Args:
        arguments: What follows the program's name; None takes it from the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    make_streams_fit()
    try:
        code = _execute(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        silence(sys.stdout)  # Whoever read our output has read enough.
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except UserError as error:
        problem, code = error, EXIT_FAILED
    except OSError as error:
        problem, code = _in_words(error), EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - the command line's one door: every end is told.
        problem, code = _bug(error), EXIT_BUG
    _tell(problem, as_json="--json" in given, with_detail=code == EXIT_BUG)
    return code


def _execute(given: Sequence[str]) -> int:
    if given[:1] == ["bench"] and given[1:2] and given[1] in _BENCHES:
        return _bench(given[1:])  # Its arguments are its own; argparse would claim those that look like options.
    options = parser().parse_args(given)
    return options.execute(options)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each command's function is in `execute`."""
    top = Parser(prog="diffusionforce", description="Train a LoRA of a diffusion transformer over your graphics cards.")
    top.add_argument("--version", action="version", version=f"DiffusionForce {diffusionforce.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    run = commands.add_parser("run", help="train", description=_RUN)
    run.add_argument(
        "profile", nargs="?", metavar="PROFILE", help="a profile, built in or your own, or the path of a .toml file"
    )
    run.add_argument("--dataset", metavar="DIR", help="folder of pictures with a .txt caption beside each")
    run.add_argument("--trigger", metavar="WORD", help="the word in your captions that calls your subject")
    run.add_argument("--steps", metavar="N", help="optimiser steps, instead of the profile's")
    run.add_argument("--resume", metavar="RUN", help="go on from where this run saved its state, in a new run folder")
    run.add_argument("--again", metavar="RUN", help="do what this run did from the beginning, in a new run folder")
    add_plan_arguments(run)
    run.add_argument("--out", metavar="DIR", help="the run folder to make, instead of one in your data folder")
    run.add_argument("--devices", metavar="LIST", help="auto, cpu, or cards in order, like cuda:0,cuda:1")
    run.add_argument("--json", action="store_true", help="print the telemetry, one JSON record a line")
    run.set_defaults(execute=running.run)

    forecasting.add_arguments(commands.add_parser("forecast", help="say what a training needs", description=_FORECAST))

    checking.add_arguments(
        commands.add_parser("check", help="look for what is wrong with a dataset", description=checking.DESCRIPTION)
    )

    profiles = commands.add_parser("profiles", help="list the built-in profiles and your own")
    profiles.set_defaults(execute=listing.show_profiles)

    runs = commands.add_parser("runs", help="list the runs in your data folder, the newest first")
    runs.add_argument("--json", action="store_true", help="print one JSON record a run")
    runs.set_defaults(execute=listing.show_runs)

    doctor = commands.add_parser("doctor", help="look at the machine and say what works and what to do")
    doctor.add_argument("--json", action="store_true", help="print the findings as one JSON record")
    doctor.set_defaults(execute=listing.show_rig)

    engine.add_arguments(commands.add_parser("engine", help="install the engine for the real models, and look at it"))

    models.add_arguments(
        commands.add_parser("models", help="show, find and download models", description=models.DESCRIPTION)
    )

    lora.add_arguments(commands.add_parser("lora", help="look at LoRA files"))

    gui = commands.add_parser("gui", help="open the window")
    gui.add_argument("--run", metavar="DIR", help="open it on this run")
    gui.set_defaults(execute=_open_window)

    bench = commands.add_parser("bench", help="measure on this machine", description="Measure on this machine.")
    benches = bench.add_subparsers(metavar="WHAT", required=True)
    for name, (_, what) in _BENCHES.items():
        benches.add_parser(name, help=what)
    return top


def _open_window(options: argparse.Namespace) -> int:
    run = RunFolder.open(Path(options.run)).root if options.run is not None else None
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform == "linux" and not any(os.environ.get(name) for name in displays):
        raise WindowError(
            "There is no display to open the window on.",
            hint="Train in the terminal instead: diffusionforce run PROFILE. Runs are listed by: diffusionforce runs.",
        )
    try:
        # By name, because every other command must start without Qt.
        window = importlib.import_module("diffusionforce.gui.app")
    except ImportError as error:
        raise WindowError(
            f"The window cannot be opened: {error}.",
            hint="Install what is missing; training in the terminal works without it.",
            detail=traceback.format_exc(),
        ) from error
    return window.main(run)


def _bench(arguments: Sequence[str]) -> int:
    module, _ = _BENCHES[arguments[0]]
    command = [sys.executable, "-P", "-X", "utf8", "-m", module, *arguments]
    return subprocess.run(command, check=False, env=child_environment()).returncode


def _in_words(error: OSError) -> UserError:
    """Return the user error for a file, or our output, that the system refuses."""
    detail = "".join(traceback.format_exception(error))
    if error.filename is None and is_disk_full(error):  # Files are named.
        silence(sys.stdout)
        return UserError(f"The output cannot be written: {error.strerror}.", detail=detail)
    if isinstance(error.filename, str | os.PathLike):
        name = shortened(Path(error.filename))
        return UserError(f"{name} cannot be used: {error.strerror}.", hint="Check the path.", detail=detail)
    return UserError(f"The system refused something that we need: {error.strerror or error}.", detail=detail)


def _bug(error: Exception) -> UserError:
    words = (str(error).strip().splitlines() or ["no message"])[0][:200]
    return UserError(
        f"This is a bug in DiffusionForce ({type(error).__name__}: {words}).",
        hint="Please report it, with the detail.",
        detail="".join(traceback.format_exception(error)),
    )


def _tell(error: UserError, *, as_json: bool, with_detail: bool) -> None:
    if as_json:
        write_bytes(encode(Failed(sentence=error.sentence, hint=error.hint, detail=error.detail)))
    else:
        lines = (error.detail.rstrip() if with_detail else "", error.sentence, error.hint)
        with contextlib.suppress(OSError):  # There is no further place to tell it.
            sys.stderr.write("".join(f"{line}\n" for line in lines if line))
            sys.stderr.flush()
