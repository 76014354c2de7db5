"""A trainer process with an engine that only pretends: `python -m tests.support.fake_trainer JOB_FILE`.

The process, its streams, signals, run folder and protocol are the real ones. What the engine does in each step
is chosen by `FAKE_ENGINE`, words separated by commas:

    noise       writes to descriptor 1 in every way there is
    slow        takes 50 ms for a step
    chatty      sends a thousand progress records in each step
    deaf        sleeps through the step and cannot be interrupted
    future      says hello in another version of the protocol
    endless     sleeps through the step until it is interrupted
    bug         raises an exception in step 2
    full        finds the disk full in step 2
    memory      runs out of memory in step 2
    exit        calls sys.exit in step 2
    hang        makes no progress in step 2 for three seconds
    locked      keeps Python's lock in step 2 for three seconds
    impatient   is watched for steps that take longer than a second
    kill        kills its own process with SIGKILL in step 2
    abort       prints last words and aborts in step 2
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from diffusionforce.engines.contract import Controls, Datasets, Output, Report
from diffusionforce.engines.plans import RunPlan
from diffusionforce.job import Job, Profile
from diffusionforce.trainer import patience, stall
from diffusionforce.trainer.__main__ import main
from diffusionforce.wire import Checkpoint, Done, HeldOut, Hello, Sample, Step, Stopped

DEED_STEP = 2


class FakeEngine:
    """Counts steps, writes small files, and misbehaves on demand."""

    def __init__(self) -> None:
        self._deeds = set(os.environ.get("FAKE_ENGINE", "").split(","))

    def check(self, job: Job) -> None:
        """Accept every job."""

    def train(
        self,
        job: Job,
        *,
        datasets: Datasets,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None = None,
    ) -> Done | Stopped:
        """Pretend to train."""
        num_steps = job.profile.training.steps
        for step in range(1, num_steps + 1):
            if controls.stop_requested:
                return Stopped(step=step - 1, lora=_save(output, report, step - 1))
            if step == 1:
                # Whoever hears of this finds the first step begun.
                report(HeldOut(step=0, loss=1.0))
            self._misbehave(step, report)
            report(_step(step, num_steps))
            if controls.take_save_request():
                _save(output, report, step)
            if controls.take_sample_request():
                _sample(output, report, step)
        report(HeldOut(step=num_steps, loss=0.6))
        lora = _save(output, report, num_steps)
        return Done(step=num_steps, lora=lora, seconds=0.1, held_out_before=1.0, held_out_after=0.6)

    def _misbehave(self, step: int, report: Report) -> None:
        if "slow" in self._deeds:
            time.sleep(0.05)
        if "endless" in self._deeds:
            _sleep_until_interrupted()
        if "deaf" in self._deeds:
            _sleep_through()
        if "noise" in self._deeds:
            _make_noise()
        if "chatty" in self._deeds:
            for _ in range(1000):
                report(_step(step, step))
        if step == DEED_STEP:
            for deed in self._deeds & _DEEDS.keys():
                _DEEDS[deed]()


def _make_noise() -> None:
    print('print {"kind": "step"}')  # noqa: T201 - the print is the point.
    os.write(1, b'os.write {"kind": "done"}\n')
    subprocess.run([sys.executable, "-c", "print('a program that we started')"], check=True)
    sys.stderr.write("stderr\n")


def _sleep_until_interrupted() -> None:
    deadline_s = time.monotonic() + 300
    while time.monotonic() < deadline_s:
        # In pieces: a signal between two calls does not end the second, and Python looks for it in between.
        time.sleep(0.5)


def _sleep_through() -> None:
    deadline_s = time.monotonic() + 300
    while time.monotonic() < deadline_s:
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(1)


def _bug() -> None:
    raise ZeroDivisionError("one by zero\nand more")


def _fill_disk() -> None:
    with Path("/dev/full").open("w") as file:
        file.write("x")


def _run_out_of_memory() -> None:
    raise MemoryError


def _exit() -> None:
    sys.exit("a library that thinks it is a program")


def _hang() -> None:
    time.sleep(3)


def _keep_lock() -> None:
    ctypes.PyDLL(None).usleep(3_000_000)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _abort() -> None:
    os.write(2, b"terminate called after throwing last words\n")
    os.abort()


_DEEDS = {"bug": _bug, "full": _fill_disk, "memory": _run_out_of_memory, "exit": _exit, "kill": _kill, "abort": _abort}
_DEEDS |= {"hang": _hang, "locked": _keep_lock}


def _step(step: int, num_steps: int) -> Step:
    return Step(step=step, num_steps=num_steps, loss=1 / step, learning_rate=1e-3, seconds=0.01, eta_s=0.1)


def _save(output: Output, report: Report, step: int) -> str:
    path = output.checkpoints_dir / f"lora-{step:05d}.safetensors"
    path.write_bytes(b"lora")
    relative = path.relative_to(output.root).as_posix()
    report(Checkpoint(step=step, path=relative, size_bytes=4))
    return relative


def _sample(output: Output, report: Report, step: int) -> None:
    path = output.samples_dir / f"{step:05d}.png"
    path.write_bytes(b"sample")
    relative = path.relative_to(output.root).as_posix()
    report(Sample(step=step, prompt_index=0, num_prompts=1, prompt="a", seed=1, path=relative, seconds=0.1))


def load_fake_engine(profile: Profile) -> FakeEngine:
    """Return the fake engine for every profile."""
    return FakeEngine()


if __name__ == "__main__":
    if "future" in os.environ.get("FAKE_ENGINE", ""):
        Hello.model_fields["protocol"].default += 1
        Hello.model_rebuild(force=True)
    if "impatient" in os.environ.get("FAKE_ENGINE", ""):
        patience.LEAST_S, stall.LOOK_S, stall.LOCKED_S = 1.0, 0.2, 1.0
    sys.exit(main(Path(sys.argv[1]), load_engine=load_fake_engine))
