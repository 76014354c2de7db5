"""The engine for the real models refuses what cannot run, the most basic thing first."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.engine import lay_out
from tests.support.jobs import small_job

from diffusionforce.engines.contract import Engine
from diffusionforce.engines.musubi import MusubiEngine, engine
from diffusionforce.errors import EngineError, ProfileError, RunFolderError, WeightsError
from diffusionforce.job import Job, Profile, builtin_profiles, changed, read_profile
from diffusionforce.wire import Message, Stopped, Warn

PROFILES = {name: read_profile(path) for name, path in builtin_profiles().items()}
KLEIN = PROFILES["klein-9b-1024"]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIFFUSIONFORCE_ENGINE", raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))


def job_of(profile: Profile, folder: Path) -> Job:
    """A job of a profile; no file of it has to exist to be refused."""
    return Job(profile_name="p", profile=profile, dataset_dir=folder, run_dir=folder / "run")


def test_an_unknown_family_is_the_profiles_problem(tmp_path: Path) -> None:
    profile = changed(KLEIN, {"model.family": "flux3"}, origin="test")
    with pytest.raises(ProfileError, match="'flux3'") as caught:
        MusubiEngine().check(job_of(profile, tmp_path))
    assert "flux2-klein-base-9b" in caught.value.hint


def test_an_engine_that_is_not_there_is_said_with_the_way_to_get_it(tmp_path: Path) -> None:
    checked: Engine = MusubiEngine()
    with pytest.raises(EngineError, match=r"Musubi Tuner .* is not installed") as caught:
        checked.check(job_of(KLEIN, tmp_path))
    assert "diffusionforce engine install" in caught.value.hint


def test_a_changed_engine_is_named_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", str(lay_out(tmp_path / "engine")))
    with pytest.raises(EngineError, match=r"is not Musubi Tuner 0\.3\.4 as it was pinned \(modified: README\.md"):
        MusubiEngine().check(job_of(KLEIN, tmp_path))


def test_without_a_card_the_demo_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "verify", lambda: None)
    monkeypatch.setattr(engine, "read_cards", lambda: ())
    with pytest.raises(EngineError, match="cannot be trained without a graphics card") as caught:
        MusubiEngine().check(job_of(KLEIN, tmp_path))
    assert "pocket-demo" in caught.value.hint


def test_missing_libraries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "verify", lambda: None)
    monkeypatch.setattr(engine, "read_cards", lambda: ("a card",))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in {"av", "cv2"} else found("os"))
    with pytest.raises(EngineError, match=r"not installed: av, cv2\.") as caught:
        MusubiEngine().check(job_of(KLEIN, tmp_path))
    # The hint named a package index, where DiffusionForce is not.
    assert f'"{sys.executable}" -m pip install -e ".[musubi]"' in caught.value.hint
    assert "python3 bootstrap.py engine" in caught.value.hint


def test_missing_files_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "verify", lambda: None)
    monkeypatch.setattr(engine, "read_cards", lambda: ("a card",))
    monkeypatch.setattr(engine, "require_libraries", lambda: None)
    with pytest.raises(WeightsError, match="not here"):
        MusubiEngine().check(job_of(KLEIN, tmp_path))


def test_a_training_says_first_that_it_is_experimental(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Message] = []
    running = SimpleNamespace(MusubiRun=lambda **given: SimpleNamespace(to_the_end=lambda: Stopped(step=0)))
    monkeypatch.setattr(engine.importlib, "import_module", lambda _name: running)
    nothing: Any = SimpleNamespace(training=None)
    end = MusubiEngine().train(
        job_of(KLEIN, tmp_path), datasets=nothing, output=nothing, report=said.append, controls=nothing
    )
    assert isinstance(end, Stopped)
    assert isinstance(said[0], Warn) and "experimental" in said[0].sentence
    assert len(said) == 2 and isinstance(said[1], Warn) and "spread evenly" in said[1].sentence


def test_a_state_with_a_program_in_it_is_refused_before_anything_is_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: Any = importlib.import_module("diffusionforce.engines.musubi.running")
    monkeypatch.setattr(running, "require_ready", lambda job: None)
    monkeypatch.setattr(running, "open_engine", lambda: None)
    (tmp_path / "a-state").mkdir()
    job = small_job(tmp_path).model_copy(update={"resume": tmp_path / "a-state"})
    nothing: dict[str, Any] = dict.fromkeys(("dataset", "output", "report", "controls", "plan"))
    with pytest.raises(RunFolderError, match=r"a-state is no state .* it lacks model\.safetensors"):
        running.MusubiRun(job=job, **nothing).to_the_end()
