"""A run of one's own pictures is about their subject, in the job and in what is printed."""

from pathlib import Path

import pytest
from tests.support.jobs import picture_folder

from diffusionforce.cli.commands import parser
from diffusionforce.cli.running import job_of
from diffusionforce.job import Job, builtin_profiles, read_profile, write_profile


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with pictures of a Blob, and a data folder beside them."""
    picture_folder(tmp_path / "pictures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    return tmp_path


def job_and_lines(*arguments: str) -> tuple[Job, list[str]]:
    options = parser().parse_args(["run", *arguments])
    lines: list[str] = []
    return job_of(options, tell=lines.append), lines


def test_other_pictures_bring_their_own_word(place: Path):
    # Symptom: the LoRA of one's own pictures was called and sampled as LoRAnne.
    job, lines = job_and_lines("pocket-demo", "--dataset", "pictures")
    assert lines == ['Subject: "Blob", the word in every caption (change it with --trigger)']
    assert job.profile.dataset.trigger == "Blob"
    assert job.profile.samples.prompts[0] == "Blob, waving, on a beach, smiling"
    assert job.profile.dataset.folder == str(place / "pictures") and job.held_out_dir is None


def test_the_word_can_be_given():
    job, lines = job_and_lines("pocket-demo", "--dataset", "pictures", "--trigger", " Glorbix ")
    assert lines == ['Subject: "Glorbix"']
    assert job.profile.dataset.trigger == "Glorbix"
    job, _ = job_and_lines("pocket-demo", "--trigger", "Anne")
    assert job.profile.dataset.trigger == "Anne" and job.held_out_dir is not None


def test_pictures_without_such_a_word_lend_their_captions(place: Path):
    for index, caption in enumerate(["a scarf", "two hats", "three hats"]):
        (place / "pictures" / f"{index}.txt").write_text(caption, encoding="utf-8")
    job, lines = job_and_lines("pocket-demo", "--dataset", "pictures")
    assert len(lines) == 1 and "no word is in every caption" in lines[0]
    assert job.profile.samples.prompts[:3] == ("a scarf", "two hats", "three hats")


def test_the_profiles_own_pictures_are_not_spoken_of():
    job, lines = job_and_lines("pocket-demo")
    assert lines == []
    assert job.profile == read_profile(builtin_profiles()["pocket-demo"])


def test_the_other_demo_set_is_measured_with_its_own_pictures():
    job, lines = job_and_lines("pocket-demo", "--dataset", "demo:rolwayne")
    assert job.held_out_dir is not None and job.held_out_dir.name == "rolwayne-held-out"
    assert "Rolwayne" in lines[0]


def test_pictures_that_cannot_be_read_are_left_to_the_trainer(place: Path):
    job, lines = job_and_lines("pocket-demo", "--dataset", "gone")
    assert (job.dataset_dir, lines) == (place / "gone", [])


def test_weights_are_looked_for_beside_the_profile(place: Path):
    # Symptom: `weights = "own.safetensors"` was looked for in the current folder.
    profile = read_profile(builtin_profiles()["pocket-demo"])
    model = profile.model.model_copy(update={"weights": "own.safetensors"})
    (place / "mine").mkdir()
    write_profile(place / "mine" / "own.toml", profile.model_copy(update={"model": model}))
    job, _ = job_and_lines("mine/own.toml")
    assert job.profile.model.weights == str(place / "mine" / "own.safetensors")
