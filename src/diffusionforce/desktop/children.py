"""Starts other programs: never through a shell, always in UTF-8, and without a console that flashes up on Windows.

Windows opens a console for every console program whose parent has none, and Python reads and writes in an old code page
there unless told otherwise. Both show only on other people's computers, so everything that is started goes through here
(what the window starts goes through Qt, which does the same).
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from diffusionforce.desktop.lifetime import adopt, ending_with_us

DEVNULL, PIPE, STDOUT = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
CREATE_NO_WINDOW = 0x08000000


def start(
    command: Sequence[str],
    *,
    stdin: int | IO[Any] | None = DEVNULL,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    environment: Mapping[str, str] | None = None,
    own_session: bool = False,
    ends_with_us: bool = False,
) -> "subprocess.Popen[bytes]":
    """Start a program.

    Args:
        command: The program and its arguments.
        stdin: Its input; nothing unless given.
        stdout: Its output; ours unless given.
        stderr: Its errors; ours unless given.
        environment: Its variables; ours unless given.
        own_session: Whether Ctrl-C in our terminal, and the end of it, are nothing to it.
        ends_with_us: Whether it ends with us even where we are killed; see `lifetime`.

    Raises:
        OSError: It cannot be started.
    """
    process = subprocess.Popen(
        ending_with_us(command) if ends_with_us else list(command),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=utf8_environment(environment),
        start_new_session=own_session and os.name != "nt",
        creationflags=flags(own_session=own_session),
    )
    if ends_with_us:
        adopt(process.pid)
    return process


def run(
    command: Sequence[str],
    *,
    given: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    is_captured: bool = True,
    timeout_s: float | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end, or to ours, and return its exit code with what it said.

    Args:
        command: The program and its arguments.
        given: What it reads; nothing unless given.
        environment: Its variables; ours unless given.
        is_captured: Whether what it says is kept; else it goes where ours goes.
        timeout_s: How long it may take.

    Raises:
        subprocess.TimeoutExpired: It took longer, and was killed.
        OSError: It cannot be started.
    """
    said = PIPE if is_captured else None
    with start(
        command,
        stdin=DEVNULL if given is None else PIPE,
        stdout=said,
        stderr=said,
        environment=environment,
        ends_with_us=True,
    ) as process:
        try:
            output, errors = process.communicate(given, timeout=timeout_s)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, output, errors)


def utf8_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return variables, ours unless given, with which a Python reads and writes UTF-8."""
    return {**(os.environ if environment is None else environment), "PYTHONUTF8": "1"}


def flags(*, own_session: bool = False) -> int:
    """Return the flags with which Windows starts a program; 0 elsewhere.

    Args:
        own_session: As for `start`.
    """
    if sys.platform != "win32":
        return 0
    return windows_flags(ctypes.WinDLL("kernel32").GetConsoleWindow, own_session=own_session)


def windows_flags(console_window: Callable[[], int | None], *, own_session: bool) -> int:
    """Return the flags for a parent with or without a console: one that has shares it, as a terminal expects.

    Args:
        console_window: Returns the window of our console, nothing where we have none.
        own_session: As for `start`.
    """
    group = 0x00000200 if own_session else 0  # CREATE_NEW_PROCESS_GROUP
    return group | (0 if console_window() else CREATE_NO_WINDOW)
