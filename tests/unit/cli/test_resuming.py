"""`run --resume`: the job of another run, from its newest saved state, in a folder of its own."""

import argparse
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.cli.app import main
from diffusionforce.cli.commands import parser
from diffusionforce.cli.resuming import resumed_job
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.runs import RunFolder, manifest_of, remove_checkpoint, runs_root, write_checkpoint


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run that stopped, with two checkpoints, the farther of which has the smaller name."""
    runs_root().mkdir(parents=True)
    job = small_job(tmp_path, steps=20).model_copy(update={"run_dir": runs_root() / "fox"})
    folder = RunFolder.create(job.run_dir, job)
    folder.write_state(folder.read_state().model_copy(update={"state": "stopped"}))
    for step, name in ((12, "fox-state"), (9, "fox_step_000009-state")):
        write_checkpoint(
            folder.checkpoints_dir / name, manifest_of(job, step=step), {"state.safetensors": b"all of it"}
        )
    return folder


def parsed(*arguments: str) -> argparse.Namespace:
    return parser().parse_args(["run", *arguments])


@pytest.mark.parametrize("by_name", [True, False])
def test_a_run_goes_on_from_its_newest_state_with_its_own_settings(run: RunFolder, by_name: bool) -> None:
    job = resumed_job(parsed("--resume", "fox" if by_name else str(run.root), "--steps", "30", "--devices", "cuda:1"))
    assert job.resume == run.checkpoints_dir / "fox-state"
    assert job.run_dir != run.root and job.run_dir.parent == runs_root()
    assert job.profile.training.steps == 30 and job.profile.devices.use == ("cuda:1",)
    plain = resumed_job(parsed("--resume", str(run.root), "--out", str(run.root.parent / "more")))
    assert plain.run_dir == run.root.parent / "more"
    assert plain.profile.training.steps == 20


@pytest.mark.parametrize("given", [["pocket-demo"], ["--dataset", "x"], ["--trigger", "fox"]])
def test_what_the_run_decides_is_refused(run: RunFolder, given: list[str]) -> None:
    with pytest.raises(ProfileError, match="and --resume exclude each other"):
        resumed_job(parsed(*given, "--resume", str(run.root)))


def test_a_run_without_a_state_or_that_still_runs_is_refused(run: RunFolder) -> None:
    for state in run.checkpoints_dir.iterdir():
        remove_checkpoint(state)
    with pytest.raises(RunFolderError, match="holds no checkpoint to go on from"):
        resumed_job(parsed("--resume", str(run.root)))
    run.write_state(run.read_state().model_copy(update={"state": "running"}))
    with pytest.raises(RunFolderError, match="still runs"):
        resumed_job(parsed("--resume", str(run.root)))
    # Symptom: "/the/current/folder/nope is not a run folder", for a slip in a name.
    with pytest.raises(RunFolderError, match="There is no run 'nothing-like-it', neither here nor in"):
        resumed_job(parsed("--resume", "nothing-like-it"))
    with pytest.raises(RunFolderError, match="is not a run folder"):
        resumed_job(parsed("--resume", str(run.checkpoints_dir)))


def test_any_checkpoint_can_be_gone_on_from(run: RunFolder) -> None:
    job = resumed_job(parsed("--resume", "fox", "--from", "9"))
    assert job.resume == run.checkpoints_dir / "fox_step_000009-state"
    with pytest.raises(RunFolderError, match="holds no checkpoint of step 10") as caught:
        resumed_job(parsed("--resume", "fox", "--from", "10"))
    assert "9, 12" in caught.value.hint
    (run.checkpoints_dir / "fox_step_000009-state" / "state.safetensors").unlink()
    with pytest.raises(
        RunFolderError, match=r"fox_step_000009-state is no state .*it lacks state\.safetensors"
    ) as caught:
        resumed_job(parsed("--resume", "fox", "--from", "9"))
    assert "--from 12" in caught.value.hint


def test_from_alone_means_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "pocket-demo", "--from", "9"]) == 1
    assert "--from is for --resume." in capsys.readouterr().err


def test_a_damaged_checkpoint_is_told_and_the_last_good_one_taken(run: RunFolder) -> None:
    (run.checkpoints_dir / "fox-state" / "state.safetensors").write_bytes(b"all of xx")
    told: list[str] = []
    job = resumed_job(parsed("--resume", "fox"), tell=told.append)
    assert job.resume == run.checkpoints_dir / "fox_step_000009-state"
    damaged, taken = told
    assert "fox-state" in damaged and "state.safetensors is damaged" in damaged
    assert taken == "The last good checkpoint is taken: fox_step_000009-state, of step 9."
    (run.checkpoints_dir / "fox_step_000009-state" / "state.safetensors").write_bytes(b"")
    with pytest.raises(RunFolderError, match="is damaged") as caught:
        resumed_job(parsed("--resume", "fox"))
    assert "diffusionforce run --again fox" in caught.value.hint


def test_a_run_that_ended_before_its_first_checkpoint_goes_on_from_where_it_went_on(run: RunFolder) -> None:
    more = resumed_job(parsed("--resume", "fox"))
    folder = RunFolder.create(more.run_dir, more)
    folder.write_state(folder.read_state().model_copy(update={"state": "failed"}))
    assert resumed_job(parsed("--resume", more.run_dir.name)).resume == more.resume
