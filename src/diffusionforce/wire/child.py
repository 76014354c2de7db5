"""How a parent starts the trainer process: the same words from the window and the command line."""

import os
import sys
from pathlib import Path


def child_command(job_file: Path) -> list[str]:
    """Return the command line of a trainer process.

    `-P` keeps a `random.py` in the folder from which the user starts us out of the import path.

    Args:
        job_file: The job; the child has read it before it says `hello`.
    """
    return [sys.executable, "-P", "-X", "utf8", "-m", "diffusionforce.trainer", str(job_file)]


def child_environment() -> dict[str, str]:
    """Return the environment of a trainer process: this one's, with UTF-8 and a core left free for the window.

    A thread count that the user has set himself stays.
    """
    environment = dict(os.environ)
    environment["PYTHONUTF8"] = "1"
    environment.setdefault("OMP_NUM_THREADS", str(max(1, _num_cores() - 1)))
    return environment


def _num_cores() -> int:
    """Return how many cores this process may use; containers and `taskset` often allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
