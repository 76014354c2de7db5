"""A job that cannot run is refused before anything is loaded, with all its problems at once."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.jobs import picture_folder
from tests.support.weights import write_like

from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.readiness import require_ready
from diffusionforce.engines.musubi.terms import accept
from diffusionforce.errors import DatasetError, EngineError, ProfileError, WeightsError
from diffusionforce.job import Job, Profile

KLEIN, WAN = FAMILIES["flux2-klein-base-9b"], FAMILIES["wan2.2-t2v-a14b"]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "data"))


def files_of(family: Family, folder: Path, *, dtype: str = "BF16") -> dict[str, str]:
    return {
        file.role: str(write_like(folder / f"{file.role}.safetensors", file.signature, dtype=dtype))
        for file in family.files
    }


def job_of(tmp_path: Path, family: Family, *, prompts: tuple[str, ...] = (), **more: Any) -> Job:
    model = {"family": family.name, "engine": "musubi", "files": more.pop("files", {}), **more.pop("model", {})}
    table = {"schema_version": 1, "title": "T", "training": {"steps": 1}, "samples": {"prompts": list(prompts)}}
    profile = Profile.model_validate({**table, "model": model, **more})
    return Job(profile_name="own", profile=profile, dataset_dir=tmp_path, run_dir=tmp_path / "run")


def test_a_job_with_all_its_files_is_ready(tmp_path: Path):
    files = files_of(WAN, tmp_path, dtype="F16")
    ready = require_ready(job_of(tmp_path, WAN, files=files, prompts=("a fox",)))
    assert ready.family is WAN and ready.file_precision == "fp16"
    assert {role: str(path) for role, path in ready.files.items()} == files


def test_one_problem_is_that_problem(tmp_path: Path):
    files = files_of(KLEIN, tmp_path)
    files.pop("vae")
    with pytest.raises(WeightsError, match=r"needs a file that is not here: autoencoder \(FLUX\.2\)\. "):
        require_ready(job_of(tmp_path, KLEIN, files=files))


def test_all_problems_come_at_once(tmp_path: Path):
    job = job_of(tmp_path, KLEIN, files={"vee": "/x"}, prompts=("a fox --q 1",), advanced={"sdpaa": True})
    with pytest.raises(ProfileError) as refusal:
        require_ready(job)
    assert refusal.value.sentence == "model.files.vee is no file of FLUX.2 Klein Base 9B. (3 more below)"
    for words in ("advanced.sdpaa is no option", "prompt 1: --q is no option", "needs 3 files that are not here"):
        assert words in refusal.value.hint


def test_fp16_weights_in_bf16_are_refused(tmp_path: Path):
    job = job_of(tmp_path, WAN, files=files_of(WAN, tmp_path, dtype="F16"), model={"precision": "bf16"})
    with pytest.raises(ProfileError, match=r"is in fp16, and model\.precision is bf16"):
        require_ready(job)


def test_terms_come_first(tmp_path: Path):
    hunyuan = FAMILIES["hunyuan-video"]
    with pytest.raises(EngineError, match=r"under terms of its own.*\(1 more below\)"):
        require_ready(job_of(tmp_path, hunyuan))
    accept(hunyuan)
    with pytest.raises(WeightsError, match="needs 4 files that are not here"):
        require_ready(job_of(tmp_path, hunyuan))


def test_a_model_that_wants_other_data_says_so(tmp_path: Path):
    family = FAMILIES["framepack"]
    accept(family)
    with pytest.raises(ProfileError, match="is trained on videos, and datasets hold pictures"):
        require_ready(job_of(tmp_path, family, files=files_of(family, tmp_path)))


@pytest.mark.parametrize("name", ["flux1-kontext", "qwen-image-edit"])
def test_a_model_that_changes_pictures_wants_what_they_are_made_from(tmp_path: Path, name: str):
    family = FAMILIES[name]
    job = job_of(tmp_path, family, files=files_of(family, tmp_path))
    job = job.model_copy(update={"dataset_dir": picture_folder(tmp_path / "pictures", num_pictures=1)})
    with pytest.raises(DatasetError, match="no picture of pictures has one"):
        require_ready(job)
    (job.dataset_dir / "control").mkdir()
    shutil.copy(job.dataset_dir / "0.png", job.dataset_dir / "control")
    assert require_ready(job).family is family


def test_an_unknown_family_is_said_with_a_near_one(tmp_path: Path):
    job = job_of(tmp_path, KLEIN, model={"family": "krea-2"})
    with pytest.raises(ProfileError, match=r"'krea-2'.*Did you mean krea2\?"):
        require_ready(job)
