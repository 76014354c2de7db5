"""The child process that tells the window whether a job could start: one JSON object.

Looking takes a second or two: the engine's files are compared with what they were, and headers of weights are read.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from diffusionforce.engines.musubi.engine import first_problem
from diffusionforce.errors import UserError
from diffusionforce.job import Job, builtin_profiles, own_profiles, read_job
from diffusionforce.wire import Failed, let_interrupts_through, to_json
from diffusionforce.wire.interpreter import is_from_checkout
from diffusionforce.wire.readiness import Readiness

EXIT_OK, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130
_COMMANDS = {
    "engine": "diffusionforce engine install",
    "libraries": "python3 bootstrap.py engine" if is_from_checkout() else "diffusionforce env repair",
    "terms": "diffusionforce models accept {model}",
    "files": "diffusionforce models download {model}",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Look, answer, and return the exit code: 0 after `readiness`, 1 after `failed`, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job_file", type=Path)
    options = parser.parse_args(arguments)
    try:
        let_interrupts_through()
        _send(readiness_of(read_job(options.job_file)))
    except UserError as error:
        _send(Failed(sentence=error.sentence, hint=error.hint, detail=error.detail))
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


def readiness_of(job: Job) -> Readiness:
    """Return what is in the way of a job."""
    model = job.profile_name if job.profile_name in {*builtin_profiles(), *own_profiles()} else job.profile.model.family
    found = first_problem(job)
    if found is None:
        return Readiness(model=model)
    lack, problem = found
    command = _COMMANDS.get(lack, "").format(model=model)
    return Readiness(lack=lack, sentence=problem.sentence, hint=problem.hint, command=command, model=model)


def _send(record: Readiness | Failed) -> None:
    sys.stdout.buffer.write(to_json(record) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
