"""Trainer processes within moments: a process that has loaded everything, and forks one for each line that it reads.

A trainer takes seconds to load torch, and a campaign of hundreds of kills needs hundreds of trainers. Each is a process
of its own, with standard streams of its own, that runs the trainer's `main`.
"""

import gc
import os
import sys

import torch._dynamo  # noqa: F401 - an optimiser loads it when it is made, which takes seconds
from tests.support.faulty_disk import FaultyDisk, Request

import diffusionforce.engines.pocket.training
import diffusionforce.trainer.forecasting.rigs  # noqa: F401
from diffusionforce.trainer.__main__ import main


def train(request: Request) -> None:
    """Be a trainer; does not return."""
    null = os.open(os.devnull, os.O_RDONLY)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for target, descriptor in enumerate((null, os.open(request.out, flags, 0o600), os.open(request.err, flags, 0o600))):
        os.dup2(descriptor, target)
    os.environ["DIFFUSIONFORCE_HOME"] = str(request.home)
    if request.fault is not None:
        FaultyDisk(request.fault).install()
    code = 3
    try:
        code = main(request.job_file)
        sys.stderr.flush()
    finally:
        os._exit(code)


def serve() -> None:
    """Read requests until there are no more; answer each with the number of the process, and then its status."""
    gc.collect()
    gc.freeze()  # A forked process need not look through all that was loaded.
    answers, questions = os.dup(1), os.dup(0)
    with os.fdopen(questions, "rb") as lines:
        for line in lines:
            pid = os.fork()
            if pid == 0:
                train(Request.model_validate_json(line))
            os.write(answers, f"{pid}\n".encode())
            _, status = os.waitpid(pid, 0)
            os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    serve()
