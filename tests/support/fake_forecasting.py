"""Stands in for the forecasting process: says what it was told to say, after a while.

    python -m tests.support.fake_forecasting ANSWER_FILE [SECONDS] [JOB_FILE]

It is started by path, not by name, so that it needs no import path and is up in a moment.
"""

import sys
import time
from pathlib import Path


def command(answer: Path, job_file: Path, *, delay_s: float = 0.0) -> list[str]:
    """Return the command line of a process that answers with the content of a file."""
    return [sys.executable, "-S", "-E", __file__, str(answer), str(delay_s), str(job_file)]


def _main() -> None:
    answer, delay_s, job_file = sys.argv[1:]
    if not Path(job_file).is_file():
        sys.exit(f"there is no {job_file}")
    time.sleep(float(delay_s))
    sys.stdout.write(Path(answer).read_text(encoding="utf-8"))


if __name__ == "__main__":
    _main()
