"""Every check of the project, in one command: `python tools/check.py`, with `--fast` to leave slow tests out.

All checks run even when one fails, so that one round shows everything; the tests come last, because they take
longest and because their summary is what people look for. Many of them start processes and windows and give them
time; the few that fail beside others run again alone, and count as failed only when they fail there too.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
MAX_AGAIN = 3


def main() -> int:
    """Run the checks; return 0 when all of them passed."""
    parser = argparse.ArgumentParser(description="Run every check of the project.")
    parser.add_argument("--fast", action="store_true", help="leave out the tests that are marked slow")
    options = parser.parse_args()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what goes into the background so, and tests that press Ctrl-C would wait for nothing.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    environment = check_environment()
    failed = [title for title, command in checks(fast=options.fast) if not passes(title, command, environment)]
    if failed == ["tests"] and passes("tests that failed, alone", again(), environment):
        failed = []
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}\n")
    return 1 if failed else 0


def checks(*, fast: bool) -> list[tuple[str, list[str]]]:
    """Return the checks in order: title and command.

    Args:
        fast: Leave out the tests that are marked slow.
    """
    workers = min(os.cpu_count() or 1, 8)
    tests = [str(BIN / "pytest"), "-q", "-n", str(workers), "--dist", "loadfile"]
    return [
        ("ruff check", [str(BIN / "ruff"), "check", "."]),
        ("ruff format", [str(BIN / "ruff"), "format", "--check", "."]),
        ("import contracts", [str(BIN / "lint-imports"), "--no-logo"]),
        ("pyright", [str(BIN / "pyright")]),
        ("tests", [*tests, *(["-m", "not slow"] if fast else [])]),
    ]


def again() -> list[str]:
    """Return the command that repeats the tests that failed: one after the other, on a machine that has calmed down.

    More than `MAX_AGAIN` failures in it are no accident, and it ends there.
    """
    return [str(BIN / "pytest"), "-q", "--last-failed", "--last-failed-no-failures", "none", f"--maxfail={MAX_AGAIN}"]


def check_environment() -> dict[str, str]:
    """Return the environment the checks run in.

    Windows are never shown, and each test process computes on one thread: the processes share the cores already,
    and OpenMP threads that wait for each other spin.
    """
    defaults = {"QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1", "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return {**defaults, **os.environ}


def passes(title: str, command: list[str], environment: dict[str, str]) -> bool:
    """Run one check with its output shown, and return whether it passed."""
    sys.stdout.write(f"\n== {title}\n")
    sys.stdout.flush()
    started_s = time.monotonic()
    code = subprocess.call(command, cwd=ROOT, env=environment)
    if title != "tests":
        sys.stdout.write(f"{title}: {'passed' if code == 0 else 'FAILED'} ({time.monotonic() - started_s:.0f} s)\n")
        sys.stdout.flush()
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
