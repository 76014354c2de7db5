"""The trainer as a process: what it says, what it leaves behind, and what cannot stop it.

The engine is a fake that counts; everything around it is real.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.jobs import small_job
from tests.support.trainer_process import EXIT_WAIT_S, trainer

from diffusionforce.runs import RunFolder, RunHeldOut, read_telemetry
from diffusionforce.wire import (
    PASSING_JOB_NAME,
    Checkpoint,
    Command,
    Done,
    Failed,
    Hello,
    Paused,
    Sample,
    Step,
    Stopped,
    Warn,
    encode,
)

STOP, SAVE, SAMPLE = (encode(Command(command=command)) for command in ("stop", "save", "sample"))
MANY = 100_000

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def wait_for_state(run_dir: Path, state: str, *, patience_s: float = 30.0) -> RunFolder:
    """Return the run once it is in a state."""
    run, deadline_s = RunFolder.open(run_dir), time.monotonic() + patience_s
    while run.read_state().state != state and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert run.read_state().state == state
    return run


def test_a_run_is_told_from_hello_to_done_and_kept(tmp_path: Path):
    job = small_job(tmp_path, steps=5)
    with trainer(job) as child:
        messages, code = child.finish()
        pid = child.process.pid
    hello, done = messages[0], messages[-1]
    assert isinstance(hello, Hello) and (hello.pid, hello.run_dir) == (pid, str(job.run_dir))
    assert isinstance(done, Done) and code == 0
    assert [message.step for message in messages if isinstance(message, Step)] == [1, 2, 3, 4, 5]
    run = RunFolder.open(job.run_dir)
    state = run.read_state()
    assert (state.state, state.step, state.lora) == ("done", 5, done.lora)
    assert state.held_out_loss == RunHeldOut(before=1.0, after=0.6)
    assert read_telemetry(run) == messages
    assert {path.name for path in job.run_dir.iterdir()} == {
        *("run.json", "job.toml", "log.txt", "telemetry.jsonl", "samples", "checkpoints")
    }


def test_prints_from_anywhere_never_enter_the_stream(tmp_path: Path):
    job = small_job(tmp_path)
    with trainer(job, deeds="noise") as child:
        stdout, stderr = child.process.communicate(timeout=EXIT_WAIT_S)
    kinds = [json.loads(line)["kind"] for line in stdout.splitlines()]
    assert kinds == ["hello", "held_out", "step", "step", "step", "held_out", "checkpoint", "done"]
    for words in ("print", "os.write", "a program that we started", "stderr"):
        assert (job.run_dir / "log.txt").read_text().count(words) == 3
        assert stderr.decode().count(words) == 3


def test_a_reader_that_goes_away_does_not_stop_the_training(tmp_path: Path):
    job = small_job(tmp_path, steps=30)
    with trainer(job, deeds="slow,noise") as child:
        child.wait_for("step")
        for stream in (child.process.stdout, child.process.stderr, child.process.stdin):
            assert stream is not None
            stream.close()
        run = wait_for_state(job.run_dir, "done")
        assert child.process.wait(EXIT_WAIT_S) == 0
    assert sum(isinstance(record, Step) for record in read_telemetry(run)) == 30
    assert "the training goes on" in run.log_path.read_text()


def test_a_parent_without_input_does_not_stop_the_training(tmp_path: Path):
    with trainer(small_job(tmp_path), stdin=subprocess.DEVNULL) as child:
        messages, code = child.finish()
    assert (messages[-1].kind, code) == ("done", 0)


def test_a_reader_that_stalls_for_good_does_not_hold_up_the_run(tmp_path: Path):
    job = small_job(tmp_path, steps=20)
    with trainer(job, deeds="chatty,noise", stderr=subprocess.DEVNULL) as child:
        assert child.process.wait(EXIT_WAIT_S) == 0
    run = RunFolder.open(job.run_dir)
    assert run.read_state().state == "done"
    assert read_telemetry(run)[-1].kind == "done"


def test_a_reader_that_stalls_for_a_while_misses_only_progress(tmp_path: Path):
    job = small_job(tmp_path, steps=20)
    with trainer(job, deeds="chatty") as child:
        wait_for_state_file(job.run_dir)
        wait_for_state(job.run_dir, "done")
        messages, code = child.finish()
    kinds = [message.kind for message in messages]
    num_steps = kinds.count("step")
    assert (kinds[0], kinds[-1], kinds.count("checkpoint"), kinds.count("held_out"), code) == ("hello", "done", 1, 2, 0)
    assert 100 < num_steps < 19_000
    assert child.decoder.garbage == []


def wait_for_state_file(run_dir: Path) -> None:
    deadline_s = time.monotonic() + 30
    while not (run_dir / "run.json").is_file() and time.monotonic() < deadline_s:
        time.sleep(0.05)


@posix
def test_a_killed_trainer_has_crashed_and_what_it_kept_is_named(tmp_path: Path):
    job = small_job(tmp_path, steps=MANY)
    with trainer(job, deeds="slow") as child:
        child.send(SAVE + SAMPLE)
        child.wait_for("sample")
        run = RunFolder.open(job.run_dir)
        assert run.reconciled_state().state == "running"
        os.kill(child.process.pid, signal.SIGKILL)
        messages, code = child.finish()
    assert code == -signal.SIGKILL
    assert not any(isinstance(message, Done | Stopped | Failed) for message in messages)
    state = run.reconciled_state()
    assert (state.state, state.num_samples) == ("crashed", 1)
    assert state.lora.startswith("checkpoints/") and (run.root / state.lora).is_file()
    assert state.lora in state.sentence and "1 sample" in state.sentence
    assert state.step >= 1
    assert run.read_state() == state


@posix
def test_the_last_words_of_an_abort_are_in_the_log(tmp_path: Path):
    job = small_job(tmp_path)
    with trainer(job, deeds="abort") as child:
        assert child.finish()[1] == -signal.SIGABRT
    log = (job.run_dir / "log.txt").read_text()
    assert "terminate called after throwing last words" in log
    assert "Fatal Python error: Aborted" in log and "fake_trainer.py" in log


def test_commands_save_sample_and_stop(tmp_path: Path):
    job = small_job(tmp_path, steps=MANY)
    with trainer(job, deeds="slow") as child:
        child.send(SAVE)
        saved = child.wait_for("checkpoint")
        child.send(SAMPLE)
        sampled = child.wait_for("sample")
        child.send(STOP)
        messages, code = child.finish()
    stopped = messages[-1]
    assert isinstance(saved, Checkpoint) and isinstance(sampled, Sample)
    assert isinstance(stopped, Stopped) and (job.run_dir / stopped.lora).is_file() and code == 0
    state = RunFolder.open(job.run_dir).read_state()
    assert (state.state, state.step, state.lora, state.num_samples) == ("stopped", stopped.step, stopped.lora, 1)
    assert state.sentence == f"Stopped at step {stopped.step} of {MANY}."


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly(tmp_path: Path, number: signal.Signals):
    job = small_job(tmp_path, steps=MANY)
    with trainer(job, deeds="slow") as child:
        child.wait_for("step")
        child.process.send_signal(number)
        messages, code = child.finish()
    assert (messages[-1].kind, code) == ("stopped", 0)
    assert RunFolder.open(job.run_dir).read_state().lora


@posix
def test_a_second_signal_breaks_off_a_step_that_takes_for_ever(tmp_path: Path):
    job = small_job(tmp_path)
    with trainer(job, deeds="endless") as child:
        child.wait_for("held_out")
        child.send(STOP)
        child.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        child.process.send_signal(signal.SIGINT)
        messages, code = child.finish()
    assert messages == [Stopped(step=0)]
    assert code == 0
    assert RunFolder.open(job.run_dir).read_state().state == "stopped"


def test_lines_that_are_no_command_are_named_and_change_nothing(tmp_path: Path):
    job = small_job(tmp_path, steps=MANY)
    with trainer(job, deeds="slow") as child:
        child.wait_for("step")
        child.send(b'garbage\n\n{"command": "dance"}\n\xff\xfe\n' + b"x" * 200_000 + b"\n")
        child.send(STOP)
        messages, code = child.finish()
    warnings = [message.sentence for message in messages if isinstance(message, Warn)]
    assert (messages[-1].kind, code) == ("stopped", 0)
    assert len(warnings) >= 4
    assert "'garbage'" in warnings[0] and "dance" in warnings[1]


@pytest.mark.parametrize(
    ("deed", "code", "words"),
    [
        ("bug", 2, "This is a bug in DiffusionForce (ZeroDivisionError: one by zero)."),
        ("exit", 2, "This is a bug in DiffusionForce (SystemExit: a library that thinks it is a program)."),
        ("memory", 1, "The computer ran out of memory."),
        pytest.param("full", 1, "is full.", marks=posix),
    ],
)
def test_what_goes_wrong_in_a_step_is_the_last_record(tmp_path: Path, deed: str, code: int, words: str):
    job = small_job(tmp_path)
    with trainer(job, deeds=deed) as child:
        messages, found_code = child.finish()
    failed = messages[-1]
    assert isinstance(failed, Failed) and words in failed.sentence
    assert (found_code, failed.step) == (code, 1)
    assert ("Traceback" in failed.detail) == (deed != "full")
    state = RunFolder.open(job.run_dir).read_state()
    assert (state.state, state.step, state.sentence) == ("failed", 1, failed.sentence)
    assert failed.sentence in (job.run_dir / "log.txt").read_text()


def test_a_second_run_into_the_same_folder_is_refused(tmp_path: Path):
    job = small_job(tmp_path)
    with trainer(job) as child:
        child.finish()
    before = {path: path.read_bytes() for path in job.run_dir.rglob("*") if path.is_file()}
    with trainer(job) as child:
        messages, code = child.finish()
    assert code == 1
    assert [message.kind for message in messages] == ["failed"]
    assert isinstance(messages[0], Failed) and "already holds a run" in messages[0].sentence
    assert {path: path.read_bytes() for path in job.run_dir.rglob("*") if path.is_file()} == before


def test_a_refused_job_names_every_problem_and_leaves_nothing(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    job = small_job(tmp_path, dataset_dir=tmp_path / "empty")
    job = job.model_copy(update={"run_dir": tmp_path / "missing" / "run"})
    with trainer(job, job_file=tmp_path / "job.toml") as child:
        messages, code = child.finish()
    assert code == 1
    assert [message.kind for message in messages] == ["failed"]
    assert isinstance(messages[0], Failed) and "has no pictures" in messages[0].sentence
    assert f"{tmp_path / 'missing'} is not there" in messages[0].hint
    assert {path.name for path in tmp_path.rglob("*")} == {"empty", "job.toml"}


def test_a_job_file_made_to_be_handed_over_is_gone_once_it_is_read(tmp_path: Path):
    # Symptom: a command line that was killed left its job in the folder for temporary files.
    (tmp_path / "passing").mkdir()
    with trainer(small_job(tmp_path), job_file=tmp_path / "passing" / PASSING_JOB_NAME) as child:
        child.wait_for("hello")
        assert not (tmp_path / "passing").exists()
        assert child.finish()[1] == 0


@posix
def test_a_picture_with_a_name_that_is_not_utf8_does_not_silence_the_trainer(tmp_path: Path):
    # Symptom: no record at all, because the warning and then the failure could not be encoded.
    job = small_job(tmp_path)
    (job.dataset_dir / "b\udcfcd.png").write_bytes(b"")
    with trainer(job) as child:
        messages, code = child.finish()
    assert (messages[-1].kind, code) == ("done", 0)
    assert any(isinstance(message, Warn) and r"b\udcfcd.png" in message.sentence for message in messages)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 40 MB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = os.name == "posix" and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("mounting a small disk needs Linux and more rights than we have")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_up_ends_the_run_in_words_and_the_state_still_fits(small_disk: Path, tmp_path: Path):
    job = small_job(small_disk, steps=MANY, dataset_dir=small_job(tmp_path).dataset_dir)
    with trainer(job, deeds="slow") as child:
        child.send(SAVE)
        child.wait_for("checkpoint")
        fill(small_disk)
        warning = child.wait_for("warning")
        child.send(SAVE)
        paused = child.wait_for("paused")
        assert isinstance(paused, Paused) and paused.paused and paused.sentence.startswith("The disk is nearly full:")
        child.send(encode(Command(command="resume")))  # All the same.
        messages, code = child.finish()
    failed = messages[-1]
    assert isinstance(failed, Failed) and code == 1
    assert failed.sentence == f"The disk with {job.run_dir} is full."
    assert isinstance(warning, Warn) and "is full. The telemetry is no longer kept." in warning.sentence
    state = RunFolder.open(job.run_dir).read_state()
    assert (state.state, state.sentence) == ("failed", failed.sentence)
    assert (job.run_dir / state.lora).read_bytes() == b"lora"


@pytest.mark.parametrize("settings", [{"checkpoints__every_steps": 40}, {"samples__every_steps": 40}])
def test_a_run_waits_for_room_before_it_writes_and_goes_on_by_itself(
    small_disk: Path, tmp_path: Path, settings: dict[str, object]
):
    job = small_job(small_disk, steps=41, dataset_dir=small_job(tmp_path).dataset_dir, **settings)
    with trainer(job, deeds="slow") as child:
        child.wait_for("step")
        fill(small_disk)
        paused = child.wait_for("paused")
        assert isinstance(paused, Paused) and (paused.paused, paused.step) == (True, 39)
        assert str(job.run_dir) in paused.hint
        (small_disk / "fill").unlink()
        messages, code = child.finish()
    assert isinstance(messages[0], Paused) and not messages[0].paused
    assert (messages[-1].kind, code) == ("done", 0)
    assert RunFolder.open(job.run_dir).read_state().state == "done"


def test_a_run_that_waits_for_room_can_be_stopped(small_disk: Path, tmp_path: Path):
    job = small_job(small_disk, steps=41, dataset_dir=small_job(tmp_path).dataset_dir, checkpoints__every_steps=40)
    with trainer(job, deeds="slow") as child:
        child.wait_for("step")
        fill(small_disk)
        child.wait_for("paused")
        child.send(STOP)
        messages, code = child.finish()
    # The last save found no room, and said so.
    assert isinstance(messages[-1], Failed) and messages[-1].sentence == f"The disk with {job.run_dir} is full."
    assert code == 1 and RunFolder.open(job.run_dir).read_state().state == "failed"


def test_a_disk_without_room_is_refused_before_anything_is_written(small_disk: Path, tmp_path: Path):
    (small_disk / "mine").write_bytes(bytes(20 * 1024**2))
    job = small_job(tmp_path).model_copy(update={"run_dir": small_disk / "run"})
    with trainer(job, job_file=tmp_path / "job.toml") as child:
        messages, code = child.finish()
    assert (len(messages), code) == (1, 1)
    assert isinstance(messages[0], Failed) and "free, the run needs about" in messages[0].sentence
    assert not job.run_dir.exists()


def test_a_disk_that_may_not_be_written_is_refused(small_disk: Path, tmp_path: Path):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    job = small_job(tmp_path).model_copy(update={"run_dir": small_disk / "run"})
    with trainer(job, job_file=tmp_path / "job.toml") as child:
        messages, code = child.finish()
    assert (len(messages), code) == (1, 1)
    assert isinstance(messages[0], Failed) and messages[0].sentence == f"{small_disk} is not writable."


def fill(place: Path) -> None:
    """Fill a disk to the last byte."""
    with (place / "fill").open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


def test_a_pause_asked_before_the_run_greets_is_told_after_it(tmp_path: Path):
    # Symptom: the run stood still without a word, and the window said that it would pause after this step.
    with trainer(small_job(tmp_path, steps=3)) as process:
        process.send(encode(Command(command="pause")))
        kinds = [message.kind for message in process.messages_until("paused")]
        assert kinds[0] == "hello"
        process.send(encode(Command(command="resume")))
        messages, code = process.finish()
    assert code == 0 and isinstance(messages[-1], Done)


def test_whoever_did_not_start_a_run_pauses_and_stops_it_through_its_folder(tmp_path: Path):
    # Symptom: a run left in the background could not be stopped from the window that was opened on it.
    job = small_job(tmp_path, steps=MANY)
    with trainer(job, deeds="slow") as process:
        process.wait_for("step")
        folder = RunFolder.open(job.run_dir)
        folder.ask(Command(command="pause"))
        paused = process.wait_for("paused")
        assert isinstance(paused, Paused) and paused.paused
        folder.ask(Command(command="stop"))
        messages, code = process.finish()
    assert code == 0
    assert isinstance(messages[-1], Stopped)
    assert folder.read_state().state == "stopped"


def test_a_command_breaks_off_a_step_where_there_are_no_signals(tmp_path: Path):
    with trainer(small_job(tmp_path), deeds="endless") as child:
        child.wait_for("held_out")
        child.send(encode(Command(command="break_off")))
        messages, code = child.finish()
    assert isinstance(messages[-1], Stopped) and code == 0
