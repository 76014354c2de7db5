"""The engine for the real models refuses with what is missing, for every profile that names it."""

from pathlib import Path

import pytest
from tests.support.engine import lay_out

from diffusionforce.engines.contract import Engine
from diffusionforce.engines.musubi import MODELS, MusubiEngine
from diffusionforce.errors import EngineError, ProfileError
from diffusionforce.job import Job, Profile, builtin_profiles, changed, read_profile

PROFILES = {name: read_profile(path) for name, path in builtin_profiles().items()}
MUSUBI_PROFILES = [name for name, profile in PROFILES.items() if profile.model.engine == "musubi"]


def job_of(profile: Profile, folder: Path) -> Job:
    """Return a job of a profile; no file of it has to exist to be refused."""
    return Job(profile_name="p", profile=profile, dataset_dir=folder, run_dir=folder / "run")


def test_there_are_profiles_to_refuse() -> None:
    assert len(MUSUBI_PROFILES) >= 2


@pytest.mark.parametrize("name", MUSUBI_PROFILES)
def test_every_real_profile_is_refused_with_its_files_and_a_way_out(name: str, tmp_path: Path) -> None:
    engine: Engine = MusubiEngine()
    with pytest.raises(EngineError) as caught:
        engine.check(job_of(PROFILES[name], tmp_path))
    model = MODELS[PROFILES[name].model.family]
    assert caught.value.sentence.startswith(f"{model.title} needs the engine Musubi Tuner 0.3.4")
    assert "pocket-demo" in caught.value.hint
    for file in model.files:
        assert file.name in caught.value.hint
        assert file.repository in caught.value.hint


def test_the_detail_says_whether_the_engine_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIFFUSIONFORCE_ENGINE", raising=False)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    with pytest.raises(EngineError) as caught:
        MusubiEngine().check(job_of(PROFILES[MUSUBI_PROFILES[0]], tmp_path))
    assert f"is not in {tmp_path}" in caught.value.detail
    assert "30c658c4f4b0bf05038b3346eff9670259b10fc7" in caught.value.detail


def test_an_unknown_family_is_the_profiles_problem(tmp_path: Path) -> None:
    profile = changed(PROFILES[MUSUBI_PROFILES[0]], {"model.family": "flux3"}, origin="test")
    with pytest.raises(ProfileError, match="'flux3'") as caught:
        MusubiEngine().check(job_of(profile, tmp_path))
    assert "flux2-klein-base-9b" in caught.value.hint


def test_a_changed_engine_is_named_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", str(lay_out(tmp_path / "engine")))
    with pytest.raises(EngineError, match=r"is not Musubi Tuner 0\.3\.4 as it was pinned \(modified: README\.md"):
        MusubiEngine().check(job_of(PROFILES[MUSUBI_PROFILES[0]], tmp_path))
