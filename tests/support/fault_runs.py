"""Trainers that are killed or whose disk fails, and what must hold afterwards."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import torch
from safetensors.torch import load_file
from tests.support.faulty_disk import Fault, Request

from diffusionforce.job import Job, write_job
from diffusionforce.runs import RunFolder, SavedState, list_runs, list_states, read_telemetry, require_whole
from diffusionforce.wire import Checkpoint, Message, StreamDecoder, child_environment

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A trainer that has ended."""

    code: int
    """Of its exit; negative where a signal ended it."""
    seconds: float
    said: list[Message]
    err: str


class ForkServer:
    """Starts trainers one after the other."""

    def __init__(self, place: Path, process: subprocess.Popen[bytes]) -> None:
        self._place = place
        self._process = process
        self._number = 0

    def train(
        self, job: Job, *, fault: Fault | None = None, kill_after_s: float | None = None, home: Path | None = None
    ) -> Ended:
        """Run a trainer to its end, or kill it after a time; its data folder is one of the server's without `home`."""
        self._number += 1
        name = str(self._number)
        # Its parent gone, nobody removes this file; it is not in the run's folder.
        job_file = self._place / f"{name}.job.toml"
        write_job(job_file, job)
        out, err = self._place / f"{name}.out", self._place / f"{name}.err"
        for file in (out, err):  # It may die before it opens them.
            file.touch()
        request = Request(job_file=job_file, out=out, err=err, home=home or self._place / "home", fault=fault)
        stdin, stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        begin_s = time.monotonic()
        stdin.write(request.model_dump_json().encode() + b"\n")
        stdin.flush()
        pid = int(stdout.readline())
        timer = threading.Timer(kill_after_s if kill_after_s is not None else 60.0, _kill, (pid,))
        timer.start()
        code = int(stdout.readline())
        timer.cancel()
        timer.join()
        seconds = time.monotonic() - begin_s
        return Ended(code=code, seconds=seconds, said=_messages(out), err=err.read_text(errors="replace"))


@contextmanager
def fork_server(place: Path) -> Iterator[ForkServer]:
    """A server whose trainers' output and home are in a folder."""
    place.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-X", "utf8", "-m", "tests.support.fork_server"],
        cwd=ROOT,
        env=child_environment() | {"OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield ForkServer(place, process)
    finally:
        _pipe(process.stdin).close()
        process.kill()
        process.wait()
        _pipe(process.stdout).close()


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """What a run comes to that nothing happens to."""

    job: Job
    losses: dict[int, float]
    samples: frozenset[str]
    lora: dict[str, torch.Tensor]
    seconds: float


def undisturbed(server: ForkServer, job: Job) -> Undisturbed:
    """Train a job in peace."""
    ended = server.train(job)
    assert ended.code == 0, ended.err
    return Undisturbed(
        job=job,
        losses=losses_of(job),
        samples=frozenset(path.name for path in (job.run_dir / "samples").iterdir()),
        lora=lora_of(job),
        seconds=ended.seconds,
    )


def losses_of(job: Job) -> dict[int, float]:
    """The loss of every step that the telemetry knows."""
    return {step.step: step.loss for step in read_telemetry(RunFolder(job.run_dir)) if step.kind == "step"}


def lora_of(job: Job) -> dict[str, torch.Tensor]:
    """The last LoRA of a run that is done."""
    return load_file(job.run_dir / RunFolder.open(job.run_dir).read_state().lora)


def check_readable(job: Job, *, all_told: bool = True) -> list[SavedState]:
    """What must hold of a run folder whatever happened; gives its checkpoints.

    The state can be read and is no claim to run. Every checkpoint that is listed is whole, and so is every one that
    the telemetry told of, unless the rule of keeping removed it. Half a file stays only on a disk that refuses.

    Args:
        job: Whose run it is.
        all_told: Whether the disk let everything be removed that was to be.
    """
    if not job.run_dir.exists() or not any(job.run_dir.iterdir()):
        return []
    if not RunFolder(job.run_dir).state_path.is_file():
        # It died while the folder was being made: nobody is shown such a folder as a run, and nothing is in it.
        assert list_runs(job.run_dir.parent) == [] and not list_states(RunFolder(job.run_dir).checkpoints_dir)
        return []
    folder = RunFolder.open(job.run_dir)
    state = folder.reconciled_state()
    assert state.state != "running" and (state.state in {"done"} or state.sentence)
    states = list_states(folder.checkpoints_dir)
    for saved in states:
        assert saved.is_whole, saved.problem
        require_whole(saved.path)
    told = [message.step for message in read_telemetry(folder) if isinstance(message, Checkpoint)]
    there = {saved.step for saved in states}
    # The rule removes an old one as soon as the new one lies there, which the telemetry may tell a moment later.
    newest = sorted(there.union(told))[-job.profile.checkpoints.keep :]
    assert set(newest) <= there, f"a checkpoint was lost: told of {told}, there are {sorted(there)}"
    assert not all_told or not list(folder.root.rglob("*.part")), "half a file stayed"
    return states


def check_goes_on_exactly(server: ForkServer, job: Job, reference: Undisturbed, *, name: str) -> None:
    """Go on from the newest checkpoint, or begin anew where there is none: it ends as if nothing had happened."""
    states = check_readable(job)
    newest = states[0] if states else None
    if newest is not None and newest.step >= job.profile.training.steps:
        return  # Nothing was left to do but the last samples.
    again = job.model_copy(
        update={"run_dir": job.run_dir.with_name(name), "resume": newest.path if newest is not None else None}
    )
    ended = server.train(again)
    assert ended.code == 0, ended.err
    begin = newest.step if newest is not None else 0
    assert losses_of(again) == {step: loss for step, loss in reference.losses.items() if step > begin}
    lora = lora_of(again)
    assert lora.keys() == reference.lora.keys()
    assert all(torch.equal(tensor, reference.lora[key]) for key, tensor in lora.items())
    made = {path.name for path in (again.run_dir / "samples").iterdir()}
    assert made == {sample for sample in reference.samples if int(sample.split("_")[1]) >= begin}


def _messages(path: Path) -> list[Message]:
    decoder = StreamDecoder()
    return [*decoder.feed(path.read_bytes()), *decoder.end()]


def _kill(pid: int) -> None:
    # The server has not waited for it yet where it has just ended, so the number is still its own.
    os.kill(pid, signal.SIGKILL)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
