"""Modules of the tests and tools that run in a process of their own, and what they said."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.trainer_process import ROOT


def output_of(module: str, *arguments: str, timeout_s: float) -> str:
    """Run a module to its end, which must be a good one, and return its standard output."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def answer_of(module: str, folder: Path, *, timeout_s: float) -> Any:
    """Run a module in a folder, and return the JSON of its last line."""
    return json.loads(output_of(module, str(folder), timeout_s=timeout_s).splitlines()[-1])
