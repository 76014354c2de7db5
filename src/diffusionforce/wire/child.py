"""How a parent starts the trainer process: the same words from the window and the command line."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

from diffusionforce.wire.interpreter import apart_flag, child_python, own_python

PASSING_JOB_NAME = "passing.job.toml"
"""A job file of this name exists to be handed over: the trainer deletes it, and its folder, once it has read it."""
JOBS_IN_INPUT = "-"
"""Stands for a job file where jobs come as lines of the input."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command line of a process that runs a module of ours, where there is PyTorch if it is anywhere.

    A process that crashes says on its standard error where it was.

    Args:
        module: The module, with its package.
        arguments: Its arguments.
    """
    return _command(child_python(), module, *arguments)


def own_command(module: str, *arguments: str) -> list[str]:
    """Return the command line of a process that runs a module of ours in our own Python.

    Args:
        module: The module, with its package. It builds what `module_command` would use, so it cannot run in there.
        arguments: Its arguments.
    """
    return _command(own_python(), module, *arguments)


def _command(python: str, module: str, *arguments: str) -> list[str]:
    return [python, apart_flag(), "-X", "utf8", "-X", "faulthandler", "-m", module, *arguments]


def child_command(job_file: Path) -> list[str]:
    """Return the command line of a trainer process.

    Args:
        job_file: The job; the child has read it before it says `hello`.
    """
    return module_command("diffusionforce.trainer", str(job_file))


def forecast_command(
    job_file: Path | None, *, rig: str = "", ram_gib: float | None = None, measures: bool = False
) -> list[str]:
    """Return the command line of a process that forecasts a job and answers with one JSON object.

    Args:
        job_file: The job. The child leaves the file where it is. None: jobs come as lines of its input, see
            `forecast_request`, and each is answered with a line.
        rig: Cards of a rig that is not here; empty takes those that are.
        ram_gib: RAM of that rig, in units of 2^30 bytes; None takes what such rigs usually have.
        measures: Whether the cards that are here are measured first, which takes some seconds and is remembered.
    """
    where = JOBS_IN_INPUT if job_file is None else str(job_file)
    command = module_command("diffusionforce.trainer.forecasting", where)
    command += [f"--rig={rig}"] if rig else []
    command += ["--measure"] if measures else []
    return command + ([f"--ram={ram_gib}"] if ram_gib is not None else [])


def forecast_request(job_file: Path | None) -> bytes:
    """Return the line with which a forecasting process is given a job; whoever gives another has given up the former.

    Args:
        job_file: The job; None only gives up the former.
    """
    return json.dumps(None if job_file is None else str(job_file)).encode() + b"\n"


def requested_job(line: bytes) -> Path | None:
    """Return the job in a line of `forecast_request`.

    Raises:
        ValueError: It is none.
    """
    asked = json.loads(line)
    if asked is None or isinstance(asked, str):
        return None if asked is None else Path(asked)
    raise ValueError(f"{line!r} asks for nothing")


def child_environment() -> dict[str, str]:
    """Return the environment of a trainer process: this one's, with UTF-8 and threads that sleep when idle.

    By default OpenMP's threads spin while they wait, and on a computer that is busy with other things they keep each
    other from working. The setting counts only if it is there before torch is loaded.

    CUDA numbers cards by their speed unless told otherwise; by their addresses, as the driver does, a card has one
    number everywhere. A card takes some thousand kernels before it has run them, and then lets the thread wait that
    starts them: one thread that feeds two cards is held up by the one while the other has nothing to do, so cards shall
    take more. PyTorch takes memory of a card in pieces that grow, where the system has such: pieces of fixed sizes fill
    up with holes that no tensor fits in. What the user has set stays.
    """
    environment = dict(os.environ)
    environment["PYTHONUTF8"] = "1"
    # Files of weights in PyTorch's own format may come from anywhere; with this they could run code as they are read.
    environment.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    environment.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    environment.setdefault("CUDA_SCALE_LAUNCH_QUEUES", "4x")
    if sys.platform == "linux":
        environment.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    return environment


@contextlib.contextmanager
def interrupts_held_back() -> Generator[None]:
    """Start a child in here, and Ctrl-C waits in it until it calls `let_interrupts_through`.

    Ctrl-C reaches both of us, and in the second that a child takes to load it would end in a traceback. On Windows
    nothing is held back.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_interrupts_through() -> None:
    """Take Ctrl-C from now on, and one that has been held back at once.

    Raises:
        KeyboardInterrupt: One was.
    """
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
