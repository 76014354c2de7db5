"""Runs a program, hands on each line that it says, and ends it when nobody waits for it any more."""

import contextlib
import io
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from diffusionforce.desktop import children

TICK_S = 0.25
END_WAIT_S = 5.0


class Cancelled(Exception):  # noqa: N818 - it is none.
    """The user does not want it any more."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program ended: its exit code, and all that it said."""

    code: int
    output: str


def run(
    command: Sequence[str],
    *,
    take: Callable[[str], None],
    tick: Callable[[], None],
    is_cancelled: Callable[[], bool],
    variables: Mapping[str, str | None] | None = None,
) -> Ended:
    """Run a program to its end.

    Args:
        command: The program and its arguments.
        take: Told each line that it says, on either stream.
        tick: Called several times a second meanwhile.
        is_cancelled: Asked several times a second; the program is killed when it says yes.
        variables: What to set in its environment beside ours; None takes a variable away.

    Raises:
        Cancelled: It was killed.
        OSError: It could not be started.
    """
    environment = {**os.environ, **(variables or {})}
    process = children.start(
        command,
        stdout=children.PIPE,
        stderr=children.STDOUT,
        environment={name: value for name, value in environment.items() if value is not None},
        ends_with_us=True,
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process, lines), name="uv output", daemon=True)
    reader.start()
    said: list[str] = []
    try:
        while (line := _next(lines)) is not None:
            if is_cancelled():
                raise Cancelled
            if line:
                said.append(line)
                take(line.rstrip("\n"))
            tick()
        return Ended(code=process.wait(), output="".join(said))
    finally:
        if process.poll() is None:
            process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_WAIT_S)
        reader.join(END_WAIT_S)


def _read(process: "subprocess.Popen[bytes]", lines: "queue.SimpleQueue[str | None]") -> None:
    assert process.stdout is not None
    with io.TextIOWrapper(process.stdout, encoding="utf-8", errors="replace") as said:
        for line in said:
            lines.put(line)
    lines.put(None)


def _next(lines: "queue.SimpleQueue[str | None]") -> str | None:
    """The next line; empty where none came within a tick, None at the end."""
    try:
        return lines.get(timeout=TICK_S)
    except queue.Empty:
        return ""
