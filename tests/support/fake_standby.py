"""Stands in for the process that makes one forecast after another: answers each line that names a job, in turn.

It is started by path, not by name, so that it needs no import path and is up in a moment.
"""

import json
import sys
import time
from pathlib import Path

DIES = "dies"


def command(answer: Path, *, delay_s: float = 0.0) -> list[str]:
    """Return the command line of a process that answers every job with the content of a file, after a while.

    Args:
        answer: The file. While it holds `DIES`, a job is the end of the process.
        delay_s: How long an answer takes.
    """
    return [sys.executable, "-S", "-E", __file__, str(answer), str(delay_s)]


def _main() -> None:
    answer, delay_s = Path(sys.argv[1]), float(sys.argv[2])
    for line in sys.stdin:
        job_file = json.loads(line)
        if job_file is None:
            continue
        text = answer.read_text(encoding="utf-8")
        if text == DIES:
            sys.exit(3)
        time.sleep(delay_s)
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
