"""Jobs with other settings or another way than the profile or the run that they come from."""

import argparse
import shlex
from pathlib import Path

import pytest
from tests.support import forecasts
from tests.support.jobs import picture_folder, small_job
from tests.unit.cli.test_forecast_tables import drawn

from diffusionforce.cli.arguments import as_options
from diffusionforce.cli.commands import parser
from diffusionforce.cli.resuming import repeated_job, resumed_job
from diffusionforce.cli.running import _changed_commands, _job, job_of
from diffusionforce.cli.words import closing_lines
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Job
from diffusionforce.runs import RunComparison, RunFolder, manifest_of, runs_root, write_checkpoint
from diffusionforce.wire import Failed, JobChange

CHANGE = JobChange(
    words="batches of 2, 2 of them summed up (fits as split, bf16 weights, 2 micro-batches)",
    settings={"training.batch_size": 2, "training.gradient_checkpointing": True},
)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run that failed and saved a state."""
    runs_root().mkdir(parents=True)
    job = small_job(tmp_path, steps=20).model_copy(update={"run_dir": runs_root() / "fox", "way": "split"})
    folder = RunFolder.create(job.run_dir, job)
    folder.write_state(folder.read_state().model_copy(update={"state": "failed"}))
    write_checkpoint(folder.checkpoints_dir / "fox-state", manifest_of(job, step=1), {})
    return folder


def parsed(*arguments: str) -> argparse.Namespace:
    return parser().parse_args(["run", *arguments])


def asked(folder: Path, *arguments: str) -> Job:
    pictures = folder / "pictures"
    if not pictures.is_dir():
        picture_folder(pictures)
    return job_of(parsed("pocket-demo", "--dataset", str(pictures), *arguments))


def test_settings_are_replaced_in_the_types_that_they_have(tmp_path: Path) -> None:
    job = asked(
        tmp_path,
        *("--set", "lora.rank=8", "--set", "training.gradient_checkpointing = true"),
        *("--set", 'samples.prompts=["a dog"]', "--set", "title=Mine", "--way", "split, fp8 weights"),
    )
    assert job.profile.lora.rank == 8 and job.profile.training.gradient_checkpointing
    assert job.profile.samples.prompts == ("a dog",) and job.profile.title == "Mine"
    assert job.way == "split, fp8 weights"
    assert asked(tmp_path).way == ""


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("lora.rank", "is not of the form NAME=VALUE"),
        ("=8", "is not of the form NAME=VALUE"),
        ("lora.rank=many", "lora.rank"),
        ("lora.size=8", "lora.size is not a setting"),
        ("nothing.at.all=8", "nothing"),
    ],
)
def test_what_is_no_setting_is_refused(tmp_path: Path, setting: str, words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        asked(tmp_path, "--set", setting)


def test_a_run_is_done_again_from_its_beginning_with_a_change(run: RunFolder) -> None:
    job = repeated_job(parsed("--again", "fox", "--set", "lora.rank=8"))
    assert job.resume is None and job.run_dir != run.root and job.profile.lora.rank == 8
    assert job.way == "split" and repeated_job(parsed("--again", "fox", "--way", "2")).way == "2"
    with pytest.raises(ProfileError, match="--dataset and --again exclude each other"):
        repeated_job(parsed("--again", "fox", "--dataset", "x"))
    run.write_state(run.read_state().model_copy(update={"state": "running"}))
    with pytest.raises(RunFolderError, match="still runs"):
        repeated_job(parsed("--again", str(run.root)))


def test_a_run_goes_on_with_a_change_but_not_with_another_lora(run: RunFolder) -> None:
    assert resumed_job(parsed("--resume", "fox", "--set", "training.batch_size=2")).profile.training.batch_size == 2
    with pytest.raises(ProfileError, match="keeps its LoRA") as caught:
        resumed_job(parsed("--resume", "fox", "--set", "lora.rank=8"))
    assert "--again fox" in caught.value.hint


def test_going_on_and_beginning_anew_exclude_each_other() -> None:
    with pytest.raises(ProfileError, match="exclude each other"):
        _job(parsed("--resume", "a", "--again", "b"), tell=print)


def test_what_would_help_is_printed_as_a_command_that_does_it(run: RunFolder) -> None:
    failed = Failed(sentence="GPU 1 ran out of memory.", changes=(CHANGE, JobChange(words="as it is", settings={})))
    job = small_job(run.root / "more").model_copy(update={"run_dir": run.root})
    heading, command, plain = _changed_commands(failed, job, has_run=True)
    assert heading == "Ready to be taken:" and plain == "  diffusionforce run --again fox   (as it is)"
    arguments = shlex.split(command.partition("   (")[0])[2:]
    again = repeated_job(parsed(*arguments))
    assert again.profile.training.batch_size == 2 and again.profile.training.gradient_checkpointing
    assert _changed_commands(failed, job, has_run=False)[1].startswith("  --set training.batch_size=2")
    assert not _changed_commands(Failed(sentence="A bug."), job, has_run=True)


def test_options_are_safe_for_a_shell() -> None:
    assert shlex.split(as_options({"title": "a b; rm"})) == ["--set", "title=a b; rm"]


def test_a_forecast_shows_numbers_of_ways_and_what_can_be_taken() -> None:
    text = drawn(forecasts.refused().model_copy(update={"changes": (CHANGE,)}))
    assert "- 1: split, bf16 weights" in text
    assert "--set training.batch_size=2 --set training.gradient_checkpointing=true   (batches of 2" in text


def test_a_run_that_was_not_as_forecast_ends_with_the_command_that_plans_it_anew(run: RunFolder) -> None:
    job = small_job(run.root / "more").model_copy(update={"run_dir": run.root})
    comparison = RunComparison(seen_s=2.0, planned_s=1.0, causes=("A step took 100 % longer.",))
    line = "Planned anew with what was seen: diffusionforce run --again fox"
    assert line in closing_lines(run.read_state().model_copy(update={"comparison": comparison}), job)
    fitting = comparison.model_copy(update={"causes": ()})
    assert line not in closing_lines(run.read_state().model_copy(update={"comparison": fitting}), job)
