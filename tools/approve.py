"""Renew the approved pictures of the window: `python tools/approve.py`. Look at each of them before you commit it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Draw the screens of `tests/gui/test_approved.py` and keep them; arguments go to pytest, like `-k gallery`."""
    folder = ROOT / "tests/gui/approved"
    folder.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "DIFFUSIONFORCE_APPROVE": str(folder),
        "QT_QPA_PLATFORM": "offscreen",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "tests/gui/test_approved.py", "-k", "looks_as", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
