"""The state of a run follows what is reported."""

from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.errors import DiskError
from diffusionforce.runs import RunFolder, RunHeldOut
from diffusionforce.trainer import ledger as ledger_module
from diffusionforce.trainer.ledger import Ledger
from diffusionforce.wire import Checkpoint, Done, End, Failed, HeldOut, Sample, Step, Stopped


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    job = small_job(tmp_path, steps=9)
    return RunFolder.create(job.run_dir, job)


def step(number: int) -> Step:
    return Step(step=number, num_steps=9, loss=1.0, learning_rate=1.0, seconds=1.0, eta_s=1.0)


def test_news_reaches_the_disk_at_once_and_steps_now_and_then(run: RunFolder, monkeypatch: pytest.MonkeyPatch):
    ledger = Ledger(run)
    ledger.note(step(1))
    assert (ledger.state.step, run.read_state().step) == (1, 0)
    ledger.note(HeldOut(step=0, loss=0.5))
    ledger.note(HeldOut(step=9, loss=0.25))
    ledger.note(Sample(step=1, prompt_index=0, num_prompts=1, prompt="a", seed=1, path="a.png", seconds=1.0))
    ledger.note(Checkpoint(step=1, path="checkpoints/a.safetensors", size_bytes=1))
    state = run.read_state()
    assert (state.step, state.num_samples, state.lora) == (1, 1, "checkpoints/a.safetensors")
    assert state.held_out_loss is not None and state.held_out_loss.fall == 0.5
    assert state.held_out_loss == RunHeldOut(before=0.5, after=0.25)
    monkeypatch.setattr(ledger_module, "WRITE_EVERY_S", 0.0)
    ledger.note(step(2))
    assert run.read_state().step == 2


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (
            Done(step=9, lora="l", seconds=1.0, held_out_before=0.5, held_out_after=0.1),
            {"state": "done", "step": 9, "lora": "l", "held_out_loss": RunHeldOut(before=0.5, after=0.1)},
        ),
        (Stopped(step=4), {"state": "stopped", "step": 4, "lora": "old", "sentence": "Stopped at step 4 of 9."}),
        (Stopped(step=4, lora="new"), {"state": "stopped", "lora": "new"}),
        (
            Failed(sentence="S.", hint="H.", detail="D"),
            {"state": "failed", "step": 3, "lora": "old", "sentence": "S.", "hint": "H.", "detail": "D"},
        ),
    ],
)
def test_each_end_is_written_with_its_time(run: RunFolder, end: End, expected: dict[str, object]):
    ledger = Ledger(run)
    ledger.note(step(3))
    ledger.note(Checkpoint(step=3, path="old", size_bytes=1))
    (run.checkpoints_dir / "half.safetensors.part").write_bytes(b"x")
    ledger.close(end)
    state = run.read_state()
    assert {name: getattr(state, name) for name in expected} == expected
    assert state.ended_at >= state.started_at
    assert list(run.checkpoints_dir.iterdir()) == [] and not (run.root / ".spare").exists()


def test_a_disk_that_refuses_the_state_does_not_stop_the_training(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refuse(state: object) -> None:
        raise DiskError("The disk is full.")

    ledger = Ledger(run)
    monkeypatch.setattr(run, "write_state", refuse)
    ledger.note(HeldOut(step=0, loss=0.5))
    ledger.close(Stopped(step=1))
    assert capsys.readouterr().err.count("The disk is full.") == 2


def test_nothing_on_a_disk_keeps_the_end_from_being_told(run: RunFolder, monkeypatch: pytest.MonkeyPatch):
    # Symptom: an unfinished file that could not be removed, or a full log, cost the run its last record.
    def refuse(*arguments: object) -> None:
        raise OSError("no")

    ledger = Ledger(run)
    monkeypatch.setattr(run, "make_room", refuse)
    monkeypatch.setattr(ledger_module.sys.stderr, "write", refuse)
    ledger.close(Stopped(step=1))
    assert run.read_state().state == "stopped"
