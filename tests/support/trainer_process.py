"""Trainer processes started for a test, and what they said."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from diffusionforce.job import Job, write_job
from diffusionforce.wire import Message, StreamDecoder, child_command, child_environment

ROOT = Path(__file__).parents[2]
PIPE = subprocess.PIPE
EXIT_WAIT_S = 60


class TrainerProcess:
    """A trainer process whose standard streams are in the test's hands."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.decoder = StreamDecoder()

    def messages(self) -> Iterator[Message]:
        """Yield what the process says, as it says it, until its output ends."""
        assert self.process.stdout is not None
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            yield from self.decoder.feed(chunk)
        yield from self.decoder.end()

    def wait_for(self, kind: str) -> Message:
        """Return the next message of a kind."""
        return next(message for message in self.messages() if message.kind == kind)

    def messages_until(self, kind: str) -> list[Message]:
        """Return what the process says up to the next message of a kind, that one included."""
        said: list[Message] = []
        for message in self.messages():
            said.append(message)
            if message.kind == kind:
                break
        return said

    def send(self, line: bytes) -> None:
        """Write to the standard input of the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def finish(self) -> tuple[list[Message], int]:
        """Return what else the process says, and its exit code."""
        messages = list(self.messages())
        return messages, self.process.wait(EXIT_WAIT_S)


def command(job: Job, job_file: Path, *, is_fake: bool) -> list[str]:
    """Write the job file and return the command that trains it."""
    write_job(job_file, job)
    if is_fake:
        return [sys.executable, "-X", "utf8", "-m", "tests.support.fake_trainer", str(job_file)]
    return child_command(job_file)


@contextmanager
def trainer(
    job: Job,
    *,
    deeds: str = "",
    is_fake: bool = True,
    job_file: Path | None = None,
    stdin: int | IO[Any] = PIPE,
    stderr: int | IO[Any] = PIPE,
) -> Iterator[TrainerProcess]:
    """Start a trainer, with the fake engine doing `deeds` unless `is_fake` is False; it is gone afterwards."""
    environment = child_environment() | {"FAKE_ENGINE": deeds, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command(job, job_file or job.run_dir.with_name("the-job.toml"), is_fake=is_fake),
        cwd=ROOT,
        env=environment,
        stdin=stdin,
        stdout=PIPE,
        stderr=stderr,
    )
    try:
        yield TrainerProcess(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
