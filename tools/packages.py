"""Installing packages into `.venv`: pip and uv run quietly, and their failures turn into sentences.

Standard library only, because this runs before anything is installed. pip's own words about a missing network
are thirty lines of retries; what a person needs is the one sentence that says what to do.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from diffusionforce.environment.failures import HASH_MISMATCH, NO_NETWORK, NO_SPACE

PLATFORM = sys.platform


class SetupError(Exception):
    """Set-up cannot go on; the text is the sentence to show."""


def say(text: str) -> None:
    """Write one line for the person who watches."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def venv_python(folder: Path) -> Path:
    """Return where the interpreter of a virtual environment is."""
    return folder / ("Scripts/python.exe" if PLATFORM == "win32" else "bin/python")


def venv_script(folder: Path, *, name: str) -> Path:
    """Return where a console script of a virtual environment is."""
    return folder / (f"Scripts/{name}.exe" if PLATFORM == "win32" else f"bin/{name}")


def run_quietly(
    command: Sequence[str | Path],
    *,
    title: str,
    log: Path,
    environment: Mapping[str, str] | None = None,
    outcomes: tuple[str, str] = ("done", "failed"),
) -> int:
    """Run a command with its output in the log, showing one line with the time it takes.

    Args:
        command: Program and arguments.
        title: What is being done, for the line that is shown.
        log: File that the output is appended to.
        environment: Variables to set in addition to the present ones.
        outcomes: What to show when the command succeeded, and when it failed.

    Returns:
        The command's exit code.
    """
    started_s = time.monotonic()
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(title, started_s, done), daemon=True)
    with log.open("a", encoding="utf-8") as output:
        output.write(f"\n$ {' '.join(map(str, command))}\n")
        output.flush()
        ticker.start()
        try:
            code = subprocess.call(
                list(map(str, command)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
            )
        finally:
            done.set()
            ticker.join()
    end = "" if sys.stdout.isatty() else f"  {title} "
    say(f"{end}{outcomes[code != 0]} ({time.monotonic() - started_s:.0f} s)")
    return code


def _tick(title: str, started_s: float, done: threading.Event) -> None:
    """Keep the seconds running on a terminal; elsewhere say nothing until the end."""
    if not sys.stdout.isatty():
        return
    while True:
        sys.stdout.write(f"\r  {title} {time.monotonic() - started_s:3.0f} s ")
        sys.stdout.flush()
        if done.wait(1.0):
            return


def install(python: Path, *arguments: str, title: str, log: Path) -> None:
    """Let pip install something.

    Args:
        python: The environment's interpreter.
        arguments: Arguments of `pip install`.
        title: What is being installed, for the line that is shown.
        log: File that pip's output is appended to.

    Raises:
        SetupError: pip failed; the sentence says why.
    """
    start = log.stat().st_size if log.exists() else 0
    command = [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--retries", "2"]
    environment = {"PIP_USER": "0", "PYTHONNOUSERSITE": "1"}
    if run_quietly([*command, *arguments], title=title, log=log, environment=environment) != 0:
        with log.open("rb") as output:
            output.seek(start)
            raise SetupError(failure_sentence(output.read().decode("utf-8", "replace"), log=log))


def failure_sentence(output: str, *, log: Path) -> str:
    """Return what a failed installation means for the person who watches.

    Args:
        output: What pip or uv printed.
        log: Where all of it is kept, for the sentence.
    """
    if NO_SPACE.search(output):
        return "The disk is full. Free some space and run the same command again."
    if HASH_MISMATCH.search(output):
        return f"A downloaded package is not the one that was pinned, so it was not installed; details are in {log}."
    if NO_NETWORK.search(output):
        return (
            "The package index cannot be reached. Connect this machine to the internet (or set up pip's proxy or "
            "mirror) and run the same command again; what was downloaded is kept."
        )
    errors = [line.strip() for line in output.splitlines() if re.match(r"\s*error", line, re.I)]
    reason = f": {errors[-1]}" if errors else "."
    return f"Installing packages failed{reason} All of pip's output is in {log}."


def install_torch(python: Path, *, version: str, nvidia: bool, log: Path, package: str = "torch") -> None:
    """Install the build of PyTorch, or of what is built with it, that suits this machine.

    The package index carries one build per system: without CUDA for Windows and macOS, and with some 3 GB of CUDA
    for Linux. The other builds are on PyTorch's own index, which uv knows by name; where that cannot be reached,
    pip takes what its own sources offer.

    Args:
        python: The environment's interpreter.
        version: Version to install, for example `2.13.0`.
        nvidia: Whether this machine has an NVIDIA card.
        log: File that all output is appended to.
        package: `torch`, or `torchvision` where PyTorch is there.

    Raises:
        SetupError: No build could be installed.
    """
    requirement, title = f"{package}=={version}", f"{_TITLES[package]} {version}"
    default_suits = not nvidia if PLATFORM == "win32" else PLATFORM == "darwin"
    if not default_suits:
        backend = "auto" if nvidia else "cpu"
        uv = [python, "-m", "uv", "pip", "install", "--python", python, "--torch-backend", backend]
        uv += ["--reinstall-package", package, requirement]
        # A dry run with one try tells quickly whether the index answers; the download then gets uv's usual patience.
        impatient = {"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": "20"}
        looking = f"looking for a {'CUDA' if nvidia else 'CPU'} build of {title}:"
        outcomes = ("found", "not found on PyTorch's own index; taking the one that pip finds")
        if run_quietly([*uv, "--dry-run"], title=looking, log=log, environment=impatient, outcomes=outcomes) == 0:
            if run_quietly(uv, title=title, log=log) != 0:
                raise SetupError(failure_sentence(log.read_text(encoding="utf-8", errors="replace"), log=log))
            return
    install(python, requirement, title=title, log=log)


_TITLES = {"torch": "PyTorch", "torchvision": "torchvision"}
