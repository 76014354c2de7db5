"""Run folders: made once or not at all, read at any moment, never believed without a living process."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.support.jobs import small_job

from diffusionforce.errors import DiskError, RunFolderError
from diffusionforce.job import read_job
from diffusionforce.runs import RunFolder, RunHeldOut, is_process_alive, read_telemetry
from diffusionforce.runs import folder as folder_module
from diffusionforce.runs.processes import mark_of
from diffusionforce.wire import HeldOut, Step, encode


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    job = small_job(tmp_path, steps=20)
    return RunFolder.create(job.run_dir, job)


def step_record(step: int) -> bytes:
    return encode(Step(step=step, num_steps=20, loss=0.5, learning_rate=1e-3, seconds=0.1, eta_s=1.0))


def test_a_new_run_is_running_in_this_process(run: RunFolder, tmp_path: Path):
    state = run.reconciled_state()
    assert (state.state, state.pid, state.num_steps) == ("running", os.getpid(), 20)
    assert read_job(run.job_path).run_dir == tmp_path / "run"
    assert run.samples_dir.is_dir() and run.checkpoints_dir.is_dir()


def test_an_empty_folder_may_become_a_run(tmp_path: Path):
    job = small_job(tmp_path)
    job.run_dir.mkdir()
    assert RunFolder.create(job.run_dir, job).read_state().state == "running"


def test_a_second_run_into_the_same_folder_is_refused_and_changes_nothing(run: RunFolder, tmp_path: Path):
    before = {path: path.stat().st_mtime_ns for path in run.root.rglob("*")}
    with pytest.raises(RunFolderError, match="already holds a run"):
        RunFolder.create(run.root, small_job(tmp_path / "other"))
    assert {path: path.stat().st_mtime_ns for path in run.root.rglob("*")} == before


@pytest.mark.parametrize(
    ("place", "words"),
    [("missing/run", "is not there"), ("file/run", "is a file"), ("file", "file is a file, not a folder")],
)
def test_a_place_that_cannot_hold_a_run_is_refused_in_words(tmp_path: Path, place: str, words: str):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunFolderError, match=words):
        RunFolder.create(tmp_path / place, small_job(tmp_path))
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("number", "kind", "words"), [(errno.ENOSPC, DiskError, "is full"), (errno.EROFS, RunFolderError, "not writable")]
)
@pytest.mark.parametrize("existed", [False, True])
def test_a_disk_that_refuses_leaves_no_half_made_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception], words: str, existed: bool
):
    def refuse(path: Path, content: bytes) -> None:
        raise OSError(number, os.strerror(number))

    job = small_job(tmp_path)
    if existed:
        job.run_dir.mkdir()
    monkeypatch.setattr(folder_module, "write_whole", refuse)
    with pytest.raises(kind, match=words):
        RunFolder.create(job.run_dir, job)
    assert job.run_dir.exists() == existed
    assert not existed or not list(job.run_dir.iterdir())


def test_a_refused_write_keeps_the_old_state(run: RunFolder, monkeypatch: pytest.MonkeyPatch):
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DiskError):
        run.write_state(run.read_state().model_copy(update={"step": 9}))
    assert run.read_state().step == 0
    assert not list(run.root.glob("*.part"))


def test_a_run_whose_process_is_gone_has_crashed_and_says_what_was_kept(run: RunFolder):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    state = run.read_state().model_copy(
        update={
            "pid": child.pid,
            "process_started_s": psutil.Process(child.pid).create_time(),
            "process_mark": mark_of(child.pid),
            "step": 4,
        }
    )
    run.write_state(state)
    assert run.reconciled_state().state == "running"
    child.kill()
    child.wait()
    run.telemetry_path.write_bytes(
        step_record(6) + encode(HeldOut(step=0, loss=1.0)) + encode(HeldOut(step=5, loss=0.5)) + step_record(7)[:-9]
    )
    (run.checkpoints_dir / "lora-5.safetensors").write_bytes(b"x")
    (run.samples_dir / "a.png").write_bytes(b"x")
    (run.samples_dir / "b.png.part").write_bytes(b"x")
    run.log_path.write_text("Fatal Python error: Segmentation fault\n  File x", encoding="utf-8")
    crashed = run.reconciled_state()
    assert crashed == run.read_state()
    assert crashed.detail == "Fatal Python error: Segmentation fault\n  File x"
    assert (crashed.state, crashed.step, crashed.num_samples) == ("crashed", 6, 1)
    assert crashed.lora == "checkpoints/lora-5.safetensors"
    assert crashed.held_out_loss == RunHeldOut(before=1.0, after=0.5)
    assert "step 6 of 20" in crashed.sentence and "lora-5.safetensors, 1 sample." in crashed.sentence


def test_a_process_number_that_was_used_again_is_not_the_run(run: RunFolder):
    state = run.read_state()
    update = {"process_started_s": state.process_started_s - 3600, "process_mark": ""}
    run.write_state(state.model_copy(update=update))
    assert run.reconciled_state().state == "crashed"


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="Linux alone moves the start of a process")
def test_a_clock_that_was_set_does_not_make_a_run_that_goes_on_crash(run: RunFolder):
    state = run.read_state()
    run.write_state(state.model_copy(update={"process_started_s": state.process_started_s - 3600}))
    assert run.reconciled_state().state == "running"
    boot, _, count = state.process_mark.partition(":")
    for mark in (f"{boot}:{int(count) - 1}", f"another{boot}:{count}"):
        run.write_state(state.model_copy(update={"process_mark": mark}))
        assert run.reconciled_state().state == "crashed"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no zombies")
def test_a_killed_child_that_nobody_collected_is_gone():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started_s = psutil.Process(child.pid).create_time()
    assert is_process_alive(child.pid, started_s=started_s)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_process_alive(child.pid, started_s=started_s)
    child.wait()


def test_a_run_that_ended_is_left_as_it_ended(run: RunFolder):
    run.write_state(run.read_state().model_copy(update={"state": "done", "pid": 1, "process_started_s": 0.0}))
    assert run.reconciled_state().state == "done"


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema_version": 2}'])
def test_an_unreadable_state_is_named(run: RunFolder, content: bytes):
    run.state_path.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"run\.json holds no run state"):
        run.reconciled_state()


def test_opening_something_else_is_refused(tmp_path: Path):
    with pytest.raises(RunFolderError, match="not a run folder"):
        RunFolder.open(tmp_path)


def test_telemetry_is_read_up_to_a_torn_last_line(run: RunFolder):
    run.telemetry_path.write_bytes(step_record(1) + b"noise\n" + step_record(2) + step_record(3)[:-4])
    assert [record.step for record in read_telemetry(run) if isinstance(record, Step)] == [1, 2]


def test_a_run_without_telemetry_has_no_records(run: RunFolder):
    assert read_telemetry(run) == []


def killed(run: RunFolder, **changes: object) -> RunFolder:
    """A run whose process is gone."""
    run.write_state(run.read_state().model_copy(update={"process_started_s": 1.0, "process_mark": ""} | changes))
    return run


def test_one_measurement_before_a_crash_is_not_two(run: RunFolder):
    # Symptom: killed before the second measurement, a run told of "0 % lower": step 0 was counted twice.
    killed(run, held_out_loss=RunHeldOut(before=1.0))
    run.telemetry_path.write_bytes(encode(HeldOut(step=0, loss=1.0)) + step_record(3))
    assert run.reconciled_state().held_out_loss == RunHeldOut(before=1.0)


@pytest.mark.parametrize("telemetry", [b"", encode(HeldOut(step=0, loss=1.0))])
def test_a_measurement_that_only_the_state_knows_is_kept(run: RunFolder, telemetry: bytes):
    killed(run, held_out_loss=RunHeldOut(before=1.0, after=0.5))
    run.telemetry_path.write_bytes(telemetry)
    assert run.reconciled_state().held_out_loss == RunHeldOut(before=1.0, after=0.5)


@pytest.mark.parametrize("length", [300, 6000])
def test_a_path_that_is_too_long_is_a_sentence(tmp_path: Path, length: int):
    # Symptom: a traceback that ended in ENAMETOOLONG.
    path = tmp_path / ("x" * length)
    with pytest.raises(RunFolderError) as refusal:
        RunFolder.check(path)
    assert len(refusal.value.sentence) < 200
    with pytest.raises(RunFolderError, match="cannot be read"):
        RunFolder.open(path)


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 on Windows")
def test_a_path_that_is_not_utf8_is_refused(tmp_path: Path):
    # Symptom: the first record of the run could not be sent, nor the last.
    with pytest.raises(RunFolderError, match=r"r\\udcfcn cannot be a run folder: its path is not UTF-8"):
        RunFolder.check(tmp_path / "r\udcfcn")


def test_a_state_with_a_name_that_is_not_utf8_is_written(run: RunFolder):
    run.write_state(run.read_state().model_copy(update={"sentence": "b\udcfcd.png is broken."}))
    assert run.read_state().sentence == r"b\udcfcd.png is broken."


def test_a_folder_that_cannot_be_removed_again_does_not_hide_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path, *args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    job = small_job(tmp_path)
    monkeypatch.setattr(folder_module, "write_job", refuse)
    monkeypatch.setattr(Path, "rmdir", lambda path: refuse(path))
    with pytest.raises(DiskError):
        RunFolder.create(job.run_dir, job)
    shutil.rmtree(job.run_dir)
    mkdir = Path.mkdir
    monkeypatch.setattr(
        Path, "mkdir", lambda path, **how: refuse(path) if path.name == "samples" else mkdir(path, **how)
    )
    with pytest.raises(DiskError):
        RunFolder.create(job.run_dir, job)
