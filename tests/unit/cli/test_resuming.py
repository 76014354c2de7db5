"""`run --resume`: the job of another run, from its newest saved state, in a folder of its own."""

import argparse
import os
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.cli.commands import parser
from diffusionforce.cli.resuming import resumed_job
from diffusionforce.engines.pocket.training import PocketEngine
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.runs import RunFolder, runs_root


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run that stopped, with two states, the newer of which has the smaller name."""
    runs_root().mkdir(parents=True)
    job = small_job(tmp_path, steps=20).model_copy(update={"run_dir": runs_root() / "fox"})
    folder = RunFolder.create(job.run_dir, job)
    folder.write_state(folder.read_state().model_copy(update={"state": "stopped"}))
    for age_s, name in enumerate(("fox-state", "fox-step00000009-state")):
        state = folder.checkpoints_dir / name
        state.mkdir()
        os.utime(state, (1e9 - age_s, 1e9 - age_s))
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
        state.rmdir()
    with pytest.raises(RunFolderError, match="holds no saved state"):
        resumed_job(parsed("--resume", str(run.root)))
    run.write_state(run.read_state().model_copy(update={"state": "running"}))
    with pytest.raises(RunFolderError, match="still runs"):
        resumed_job(parsed("--resume", str(run.root)))
    # Symptom: "/the/current/folder/nope is not a run folder", for a slip in a name.
    with pytest.raises(RunFolderError, match="There is no run 'nothing-like-it', neither here nor in"):
        resumed_job(parsed("--resume", "nothing-like-it"))
    with pytest.raises(RunFolderError, match="is not a run folder"):
        resumed_job(parsed("--resume", str(run.checkpoints_dir)))


def test_the_pocket_engine_says_that_it_cannot(tmp_path: Path) -> None:
    job = small_job(tmp_path).model_copy(update={"resume": tmp_path})
    with pytest.raises(RunFolderError, match="cannot go on from a saved state"):
        PocketEngine().check(job)
