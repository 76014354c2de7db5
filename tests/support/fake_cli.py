"""The command line with the fake trainer behind it: `python tests/support/fake_cli.py run pocket-demo ...`."""

import sys
from pathlib import Path

from diffusionforce.cli import child, main


def fake_child_command(job_file: Path) -> list[str]:
    """The command of a trainer process with the fake engine."""
    return [sys.executable, "-X", "utf8", "-m", "tests.support.fake_trainer", str(job_file)]


if __name__ == "__main__":
    child.child_command = fake_child_command
    sys.exit(main())
