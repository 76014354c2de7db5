"""The trainer as a child of the window: a real process with an engine that pretends."""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui import lock_watch
from diffusionforce.gui import session as session_module
from diffusionforce.gui.child import TrainerChild
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.session import RunSession
from diffusionforce.job import Job, write_job
from diffusionforce.runs import RunFolder
from diffusionforce.wire import Command, Message

WAIT_MS = 60_000


class Ear:
    """Hears everything that a child says."""

    def __init__(self, child: TrainerChild) -> None:
        self.messages: list[Message] = []
        self.log: list[str] = []
        self.outcome: Outcome | None = None
        child.message_received.connect(self.messages.append)
        child.log_received.connect(self.log.append)
        child.ended.connect(self._end)

    def _end(self, outcome: Outcome) -> None:
        assert self.outcome is None, "ended twice"
        self.outcome = outcome


@pytest.fixture
def heard(qtbot: QtBot, job: Job, tmp_path: Path, fake_trainer: Callable[[str], None]) -> Callable[[str], Ear]:
    """Runs a job with misdeeds and returns what was heard."""

    def run(deeds: str) -> Ear:
        fake_trainer(deeds)
        job_file = tmp_path / "job.toml"
        write_job(job_file, job)
        child = TrainerChild()
        ear = Ear(child)
        child.start(job_file)
        qtbot.waitUntil(lambda: ear.outcome is not None, timeout=WAIT_MS)
        return ear

    return run


def test_a_run_is_heard_from_hello_to_done(heard: Callable[[str], Ear]):
    ear = heard("")
    kinds = [message.kind for message in ear.messages]
    assert kinds[0] == "hello"
    assert kinds[-1] == "done"
    assert kinds.count("step") == 3
    assert ear.outcome is not None
    assert ear.outcome.kind == "done"


def test_prints_reach_the_log_and_nothing_else(heard: Callable[[str], Ear]):
    ear = heard("noise")
    assert {message.kind for message in ear.messages} <= {"hello", "held_out", "step", "checkpoint", "done"}
    assert any("a program that we started" in line for line in ear.log)
    assert ear.outcome is not None
    assert ear.outcome.kind == "done"


@pytest.mark.skipif(os.name == "nt", reason="calls the C library by its POSIX name")
def test_a_trainer_that_is_held_up_by_one_call_is_told_while_it_lasts(
    qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    """A library that kept Python's lock silenced the threads that would have told of it."""
    monkeypatch.setattr(lock_watch, "LOOK_MS", 100)
    monkeypatch.setattr(lock_watch, "SILENT_MS", 1200)
    fake_trainer("locked,impatient")
    session = RunSession.start(job.model_copy(update={"run_dir": job.run_dir}))
    qtbot.waitUntil(lambda: session.model.stall is not None, timeout=WAIT_MS)
    assert session.model.stall is not None and session.model.stall.sentence == session_module.HELD_UP
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.outcome is not None and session.model.outcome.kind == "done"
    assert any(session_module.GOES_ON in line for line in session.model.log)
    session.close()


def test_a_full_disk_is_a_failure_in_words(heard: Callable[[str], Ear]):
    ear = heard("full")
    assert ear.outcome is not None
    assert ear.outcome.kind == "failed"
    assert "disk" in ear.outcome.sentence.lower()


def test_a_bug_is_a_failure_with_its_traceback_hidden(heard: Callable[[str], Ear]):
    ear = heard("bug")
    assert ear.outcome is not None
    assert ear.outcome.kind == "failed"
    assert "ZeroDivisionError" in ear.outcome.detail
    assert "Traceback" not in ear.outcome.sentence


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_child_is_a_crash(heard: Callable[[str], Ear]):
    ear = heard("kill")
    assert ear.outcome is not None
    assert ear.outcome.kind == "crashed"
    assert "SIGKILL" in ear.outcome.sentence


@pytest.mark.skipif(sys.platform == "win32", reason="aborting shows a dialogue on Windows")
def test_the_last_words_of_an_abort_are_kept(qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]):
    fake_trainer("abort")
    session = RunSession.start(job)
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        pass
    assert session.model.outcome is not None
    assert "last words" in session.model.outcome.detail
    session.close()


def test_a_program_that_is_not_there_says_so(qtbot: QtBot, tmp_path: Path):
    child = TrainerChild()
    ear = Ear(child)
    child.start(tmp_path / "job.toml", command=["/nowhere/at/all", "x"])
    qtbot.waitUntil(lambda: ear.outcome is not None, timeout=WAIT_MS)
    assert ear.outcome is not None
    assert ear.outcome.kind == "not_started"
    assert ear.outcome.detail == "/nowhere/at/all x"


SPEAKERS = {
    "garbage": 'print("this is no record"); print("{broken"); print(\'{"kind":"warning","sentence":"Hm."}\')',
    "unknown kinds": 'print(\'{"kind":"hologram","x":1}\'); print(\'{"kind":"warning","sentence":"Hm."}\')',
    "torn lines": (
        "import sys,time; w=lambda s:(sys.stdout.write(s),sys.stdout.flush(),time.sleep(0.05)); "
        'w(\'{"kind":"warn\'); w(\'ing","sente\'); w(\'nce":"Hm."}\\n\')'
    ),
    "a last line without an end": 'import sys; sys.stdout.write(\'{"kind":"warning","sentence":"Hm."}\')',
}


@pytest.mark.parametrize("name", SPEAKERS)
def test_a_stream_in_disorder_is_survived(name: str, qtbot: QtBot, tmp_path: Path):
    child = TrainerChild()
    ear = Ear(child)
    child.start(tmp_path / "job.toml", command=[sys.executable, "-c", SPEAKERS[name]])
    qtbot.waitUntil(lambda: ear.outcome is not None, timeout=WAIT_MS)
    assert [message.kind for message in ear.messages] == ["warning"]
    assert ear.log == (["this is no record", "{broken"] if name == "garbage" else [])
    assert ear.outcome is not None
    assert ear.outcome.kind == "crashed"


def test_a_stop_saves_and_stops(qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]):
    fake_trainer("slow")
    session = RunSession.start(long_job)
    qtbot.waitUntil(lambda: session.model.step >= 2, timeout=WAIT_MS)
    session.send(Command(command="save"))
    qtbot.waitUntil(lambda: bool(session.model.saved), timeout=WAIT_MS)
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        session.stop()
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "stopped"
    assert (long_job.run_dir / session.model.saved[-1].path).is_file()
    session.close()


def test_a_run_that_is_let_go_goes_on_though_its_job_says_to_stop(
    qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("slow")
    session = RunSession.start(long_job.model_copy(update={"when_alone": "stop"}))
    qtbot.waitUntil(lambda: session.model.step >= 1, timeout=WAIT_MS)
    session.release()
    folder = RunFolder.open(long_job.run_dir)
    qtbot.waitUntil(lambda: "the run goes on" in folder.log_path.read_text(encoding="utf-8"), timeout=WAIT_MS)
    assert folder.reconciled_state().state == "running"
    folder.ask(Command(command="stop"))
    qtbot.waitUntil(lambda: folder.reconciled_state().state == "stopped", timeout=WAIT_MS)
    session.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_crash_tells_what_was_kept_and_is_written_down(qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]):
    fake_trainer("endless")
    session = RunSession.start(job)
    qtbot.waitUntil(lambda: session.model.hello is not None and bool(session.model.losses.held_out), timeout=WAIT_MS)
    child = session.child
    assert child is not None
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        os.kill(child.pid, signal.SIGKILL)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "crashed"
    assert "kept" in session.model.outcome.sentence
    assert '"crashed"' in (job.run_dir / "run.json").read_text(encoding="utf-8")
    session.close()


def test_a_run_whose_pipe_stalled_ended_as_its_folder_says(qtbot: QtBot, job: Job, home: Path, tmp_path: Path):
    # Symptom: "The trainer crashed at step 150" of a run that was trained to its end.
    folder = recorded.run_folder(job.run_dir, end="done")
    written = folder.telemetry_path.read_bytes().splitlines(keepends=True)
    half = next(index for index, line in enumerate(written) if b'"step":150,' in line)
    (tmp_path / "said").write_bytes(b"".join(written[:half]))
    talker = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"
    session = RunSession.start(job, command=[sys.executable, "-c", talker, str(tmp_path / "said")])
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        pass
    assert session.model.outcome is not None and session.model.outcome.kind == "done"
    whole = RunSession.open(job.run_dir)
    qtbot.waitUntil(lambda: whole.is_over, timeout=WAIT_MS)
    assert session.model.step == whole.model.step > 150
    assert session.model.samples.revision == whole.model.samples.revision > 0
    session.close()
    whole.close()


def test_a_thousand_records_a_step_repaint_ten_times_a_second_at_most(
    qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("chatty,slow")
    session = RunSession.start(job)
    repaints: list[int] = []
    session.changed.connect(lambda: repaints.append(session.model.step))
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        pass
    assert session.model.log_count > 1000
    assert len(repaints) < 40
    session.close()


def test_the_job_file_is_gone_once_the_trainer_has_read_it(
    qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Symptom: a window that left its training running left the folder with the job behind.
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    fake_trainer("slow")
    session = RunSession.start(long_job)
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    qtbot.waitUntil(lambda: session.model.step >= 1, timeout=WAIT_MS)
    assert list((tmp_path / "temporary").iterdir()) == []
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        session.stop()
    session.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a step that is deaf needs POSIX signals to be so")
@pytest.mark.parametrize(("deed", "kind"), [("endless", "stopped"), ("deaf", "crashed")])
@pytest.mark.parametrize("is_own", [True, False])
def test_a_run_that_does_not_stop_is_ended_by_force(
    qtbot: QtBot,
    job: Job,
    fake_trainer: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    deed: str,
    kind: str,
    is_own: bool,
):
    monkeypatch.setattr(session_module, "STOP_LEAST_MS", 300)
    monkeypatch.setattr(session_module, "KILL_MS", 2000)
    fake_trainer(deed)
    started = RunSession.start(job)
    qtbot.waitUntil(lambda: started.model.hello is not None, timeout=WAIT_MS)
    qtbot.wait(500)  # Its step begins.
    session = started if is_own else RunSession.open(job.run_dir)
    session.stop()
    qtbot.waitUntil(lambda: session.model.stop_overdue, timeout=WAIT_MS)
    if not is_own:  # Its trainer looks for commands now and then.
        qtbot.wait(800)
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        session.end_by_force()
    assert session.model.outcome is not None and session.model.outcome.kind == kind
    qtbot.waitUntil(lambda: RunFolder.open(job.run_dir).reconciled_state().state == kind, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: started.is_over, timeout=WAIT_MS)
    session.close()
    started.close()
