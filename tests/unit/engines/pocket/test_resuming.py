"""A run that goes on from a checkpoint does what the run that was never stopped did, to the last bit."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.support.pocket_runs import FakeControls, Run
from tests.support.small_pocket import eventful_job
from tests.support.strange_states import evil_pickle, seal

from diffusionforce.engines.pocket.objective import HeldOutLoss
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Job, changed
from diffusionforce.runs import RunFolder, list_states
from diffusionforce.wire import Checkpoint, Done, HeldOut, Message, Sample, Step, Stopped, Warn


def going_on(job: Job, state: Path, *, name: str = "more", **changes: Any) -> Job:
    settings = {key.replace("__", "."): value for key, value in changes.items()}
    profile = changed(job.profile, settings, origin="test") if settings else job.profile
    return job.model_copy(update={"run_dir": job.run_dir.with_name(name), "resume": state, "profile": profile})


def state_of(folder: RunFolder, step: int) -> Path:
    return next(state.path for state in list_states(folder.checkpoints_dir) if state.step == step)


def told(messages: list[Message], *, after: int) -> list[tuple[Any, ...]]:
    """What the records say of the time after a step's checkpoint, without what depends on the clock and the disk."""
    said: list[tuple[Any, ...]] = []
    for message in messages:
        match message:
            case Step() if message.step > after:
                said.append(("step", message.step, message.loss, message.learning_rate, message.grad_norm))
            case HeldOut() if message.step > after:
                said.append(("held out", message.step, message.loss))
            case Sample() if message.step >= after:
                said.append(("sample", message.step, message.path, message.prompt, message.seed))
            case Checkpoint() if message.step > after:
                said.append(("checkpoint", message.step, message.path))
            case Done():
                said.append(("done", message.step, message.lora, message.held_out_before, message.held_out_after))
            case _:
                pass
    return said


def assert_same_lora(one: Run, other: Run) -> None:
    first, second = (load_file(run.folder.root / run.end.lora) for run in (one, other))
    assert first.keys() == second.keys()
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Run]:
    job = eventful_job(tmp_path_factory.mktemp("whole"))
    run = Run(job)
    assert isinstance(run.end, Done) and len(set(run.losses)) == 7
    assert run.end.held_out_before != run.end.held_out_after
    return job, run


@pytest.mark.parametrize("step", [2, 4, 6])
def test_from_every_checkpoint_a_run_goes_on_as_if_never_stopped(whole: tuple[Job, Run], step: int) -> None:
    job, run = whole
    resumed = Run(going_on(job, state_of(run.folder, step), name=f"from {step}"))
    assert told(resumed.messages, after=step) == told(run.messages, after=step)
    assert {"step", "held out", "sample", "checkpoint", "done"} >= {what[0] for what in told(run.messages, after=2)}
    assert_same_lora(resumed, run)
    for sample in resumed.folder.samples_dir.iterdir():
        assert sample.read_bytes() == (run.folder.samples_dir / sample.name).read_bytes()


@pytest.mark.parametrize("name", ["state.safetensors", "progress.json", "optimizer.bin", "random_states_0.pkl"])
def test_a_pickle_in_the_checkpoint_of_a_stranger_is_never_opened(
    whole: tuple[Job, Run], tmp_path: Path, name: str
) -> None:
    job, run = whole
    marker = tmp_path / "a stranger was here"
    strange = tmp_path / "strange-state"
    shutil.copytree(state_of(run.folder, 4), strange)
    is_ours = (strange / name).exists()
    (strange / name).write_bytes(evil_pickle(marker))
    seal(strange)
    resumed = Run(going_on(job, strange, name=f"strange {name}"), begin=False)
    if is_ours:
        with pytest.raises(RunFolderError, match="no checkpoint that this version can read"):
            resumed.train()
    else:
        resumed.train()  # What lies beside is nobody's business.
    assert not marker.exists()


def test_a_run_that_is_stopped_anywhere_goes_on_exactly(whole: tuple[Job, Run]) -> None:
    job, run = whole

    def stop(message: Message, controls: FakeControls) -> None:
        controls.stop_requested = controls.stop_requested or (isinstance(message, Step) and message.step == 5)

    stopped = Run(job.model_copy(update={"run_dir": job.run_dir.with_name("stopped")}), stop)
    assert isinstance(stopped.end, Stopped) and stopped.end.step == 5
    resumed = Run(going_on(job, state_of(stopped.folder, 5), name="after a stop"))
    assert told(resumed.messages, after=5) == told(run.messages, after=5)


def test_the_newest_and_the_best_stay_and_the_rest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fall_and_rise = iter([9.0, 5.0, 2.0, 4.0, 6.0, 7.0, 8.0, 8.0])
    monkeypatch.setattr(HeldOutLoss, "measure", lambda *_model, **_told: next(fall_and_rise))
    job = eventful_job(tmp_path, checkpoints__every_steps=1, checkpoints__keep=1, checkpoints__keep_best=1)
    run = Run(job)
    assert {state.step for state in list_states(run.folder.checkpoints_dir)} == {2, 6, 7}
    assert sorted(path.name for path in run.folder.checkpoints_dir.glob("*.safetensors")) == [
        "blob.safetensors",
        "blob_step_000002.safetensors",
        "blob_step_000006.safetensors",
    ]
    assert [state.held_out_loss for state in run.folder.states()] == [8.0, 8.0, 2.0]


def test_other_pictures_are_told_and_another_number_of_them_is_refused(tmp_path: Path) -> None:
    job = eventful_job(tmp_path)
    run = Run(job)
    state = state_of(run.folder, 4)
    (job.dataset_dir / "0.txt").write_text("something else", encoding="utf-8")
    resumed = Run(going_on(job, state))
    assert any("are not those that the checkpoint was trained on" in one.sentence for one in resumed.of_kind(Warn))
    fewer = going_on(job, state, name="fewer")
    (job.dataset_dir / "0.png").unlink()
    with pytest.raises(RunFolderError, match=r"is of a run with 3 pictures .* and this one has 2 pictures"):
        Run(fewer)


def test_a_lora_of_another_rank_is_refused(tmp_path: Path) -> None:
    job = eventful_job(tmp_path)
    run = Run(job)
    with pytest.raises(ProfileError, match=r"lora\.rank is 8, and blob_step_000004-state was saved with 4"):
        Run(going_on(job, state_of(run.folder, 4), lora__rank=8))


@pytest.mark.parametrize("devices", [(["cpu"], ["cpu", "cpu"]), (["cpu", "cpu", "cpu"], ["cpu"])])
def test_on_other_devices_it_goes_on_the_same(tmp_path: Path, devices: tuple[list[str], list[str]]) -> None:
    first, then = devices
    job = eventful_job(tmp_path, devices__use=first, lora__dropout=0.0)
    run = Run(job)
    resumed = Run(going_on(job, state_of(run.folder, 4), devices__use=then))
    assert told(resumed.messages, after=4) == told(run.messages, after=4)
    assert_same_lora(resumed, run)


def test_other_prompts_that_were_asked_for_stay(tmp_path: Path) -> None:
    def ask(message: Message, controls: FakeControls) -> None:
        if isinstance(message, Step) and message.step == 1:
            controls.prompts = ("a frog", "a house")

    job = eventful_job(tmp_path)
    run = Run(job, ask)
    resumed = Run(going_on(job, state_of(run.folder, 4)))
    assert {sample.prompt for sample in resumed.of_kind(Sample)} == {"a frog", "a house"}
    assert told(resumed.messages, after=4) == told(run.messages, after=4)
    edited = Run(going_on(job, state_of(run.folder, 4), name="edited", samples__prompts=["a fox"]))
    assert {sample.prompt for sample in edited.of_kind(Sample)} == {"a fox"}
