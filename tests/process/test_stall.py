"""A trainer that hangs says so, and where, while it hangs."""

import os
import signal
import time
from pathlib import Path

import pytest
from tests.support.jobs import small_job
from tests.support.trainer_process import trainer

from diffusionforce.wire import Command, Done, Stalled, Step, encode


def test_a_hanging_step_is_told_with_its_stack_while_it_hangs(tmp_path: Path):
    job = small_job(tmp_path, steps=4)
    with trainer(job, deeds="hang,impatient") as child:
        stalled = child.wait_for("stalled")
        log = (job.run_dir / "log.txt").read_text(encoding="utf-8")
        messages, code = child.finish()
    assert isinstance(stalled, Stalled) and stalled.stalled and stalled.step == 1
    assert "in _hang" in log and "Step 2 has made no progress" in log
    again = [message for message in messages if isinstance(message, Stalled)]
    assert [message.stalled for message in again] == [False]
    assert isinstance(messages[-1], Done) and code == 0


@pytest.mark.skipif(os.name == "nt", reason="calls the C library by its POSIX name")
def test_a_call_that_keeps_pythons_lock_leaves_its_stack(tmp_path: Path):
    job = small_job(tmp_path, steps=4)
    with trainer(job, deeds="locked,impatient") as child:
        child.wait_for("step")
        time.sleep(2)
        log = (job.run_dir / "log.txt").read_text(encoding="utf-8")
        messages, code = child.finish()
    assert "in _keep_lock" in log
    assert isinstance(messages[-1], Done) and code == 0
    assert "This process did not run for" in (job.run_dir / "log.txt").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_process_that_was_held_and_a_run_that_waits_are_no_stalls(tmp_path: Path):
    with trainer(small_job(tmp_path, steps=40), deeds="slow,impatient") as child:
        child.wait_for("step")
        child.process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        child.process.send_signal(signal.SIGCONT)
        child.wait_for("step")
        child.send(encode(Command(command="pause")))
        child.wait_for("paused")
        time.sleep(2.5)
        child.send(encode(Command(command="resume")))
        messages, code = child.finish()
    assert not [message for message in messages if isinstance(message, Stalled)]
    assert any(isinstance(message, Step) for message in messages) and code == 0
