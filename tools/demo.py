"""The demo: a run of the pocket profile in the terminal, and the window on it where there is a display.

Standard library only, like everything that runs before the environment is known to work.
"""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from packages import PLATFORM, SetupError, say, venv_python, venv_script


def has_display() -> bool:
    """Return whether a window could be seen by whoever runs this."""
    if os.environ.get("CI") or os.environ.get("SSH_CONNECTION"):
        return False
    if PLATFORM in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def run_demo(extra: Sequence[str], *, venv: Path, out: Path | None, window: bool) -> int:
    """Train the pocket demo in the terminal, with the window on it where there is a display.

    The run itself ends by saying where samples and LoRA lie.

    Args:
        extra: Further options of `diffusionforce run`.
        venv: The environment that everything was installed into.
        out: The run folder to make; None makes one where the window looks for runs.
        window: Whether to open the window on the run.

    Returns:
        The exit code of the run.
    """
    program = venv_script(venv, name="diffusionforce")
    run_dir = out.expanduser().absolute() if out else new_run_dir(venv)
    run = subprocess.Popen([program, "run", "pocket-demo", "--out", run_dir, *extra])
    shown = None
    while (code := _wait(run)) is None:
        if window and shown is None and _is_there(run_dir):
            shown = _open_window(program, run_dir=run_dir, log=venv / "window.log")
    # A run that was stopped early left nothing to show.
    if code == 0 and (shown is None or shown.poll()) and _is_there(run_dir):
        say(f"To see it in the window: {_typed(program, 'gui', '--run', run_dir)}")
    return code


def _is_there(run_dir: Path) -> bool:
    return (run_dir / "run.json").exists()


def _typed(*parts: "str | Path") -> str:
    """Return a command as one types it, with quotes where they are needed."""
    texts = [str(part) for part in parts]
    return subprocess.list2cmdline(texts) if PLATFORM == "win32" else shlex.join(texts)


def _open_window(program: Path, *, run_dir: Path, log: Path) -> "subprocess.Popen[bytes]":
    """Open the window on a run, with its output in a log: the terminal is busy drawing progress."""
    with log.open("ab") as output:
        # Its own session: closing the terminal or pressing Ctrl-C in it leaves the window open.
        return subprocess.Popen(
            [program, "gui", "--run", run_dir], stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


def new_run_dir(venv: Path) -> Path:
    """Return a free place for the demo's run, where the window looks for runs."""
    question = "from diffusionforce.runs import new_run_dir; print(new_run_dir('pocket-demo'))"
    command = [venv_python(venv), "-X", "utf8", "-c", question]
    answer = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if answer.returncode != 0:
        raise SetupError(f"The environment in {venv} does not work. Delete that folder and run the same command again.")
    return Path(answer.stdout.strip())


def _wait(run: "subprocess.Popen[bytes]") -> int | None:
    """Return the exit code of the run, or None after half a second."""
    try:
        return run.wait(0.5)
    except subprocess.TimeoutExpired:
        return None
    except KeyboardInterrupt:
        return None  # The run got the signal too: it stops cleanly and keeps what it has.
