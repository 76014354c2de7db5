"""What the window is told of a job: the first thing in its way, of which kind it is, and what to type."""

import json
from pathlib import Path

import pytest

from diffusionforce.engines.musubi import engine, readiness_command
from diffusionforce.errors import EngineError, ProfileError, UserError, WeightsError
from diffusionforce.job import Job, builtin_profiles, read_profile, write_job
from diffusionforce.wire.readiness import Readiness, read_readiness

CHECKS = ("verify", "_require_card", "require_libraries", "require_ready", "require_resumable")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "data"))
    for name in CHECKS:
        monkeypatch.setattr(engine, name, lambda *given: None)
    profile = read_profile(builtin_profiles()["klein-9b-1024"])
    return Job(profile_name="klein-9b-1024", profile=profile, dataset_dir=tmp_path, run_dir=tmp_path / "run")


def refuse(monkeypatch: pytest.MonkeyPatch, check: str, error: UserError) -> None:
    def refusing(*given: object) -> None:
        raise error

    monkeypatch.setattr(engine, check, refusing)


def answer(job: Job, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Readiness:
    write_job(folder / "job.toml", job)
    assert readiness_command.main([str(folder / "job.toml")]) == 0
    found = read_readiness(capfdbinary.readouterr().out)
    assert isinstance(found, Readiness)
    return found


def test_a_job_that_could_start_lacks_nothing(
    job: Job, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert answer(job, tmp_path, capfdbinary) == Readiness(model="klein-9b-1024")


@pytest.mark.parametrize(
    ("check", "error", "lack", "command"),
    [
        ("verify", EngineError("a"), "engine", "diffusionforce engine install"),
        ("_require_card", EngineError("b"), "card", ""),
        ("require_libraries", EngineError("c"), "libraries", "python3 bootstrap.py engine"),
        ("require_ready", EngineError("d"), "terms", "diffusionforce models accept klein-9b-1024"),
        ("require_ready", WeightsError("e"), "files", "diffusionforce models download klein-9b-1024"),
        ("require_ready", ProfileError("f"), "settings", ""),
        ("require_resumable", ProfileError("g"), "state", ""),
    ],
)
def test_each_lack_has_its_kind_and_its_command(
    job: Job,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    check: str,
    error: UserError,
    lack: str,
    command: str,
) -> None:
    refuse(monkeypatch, check, error)
    found = answer(job, tmp_path, capfdbinary)
    assert (found.lack, found.command, found.sentence) == (lack, command, error.sentence)


def test_the_most_basic_thing_comes_first(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CHECKS:
        refuse(monkeypatch, name, EngineError(name))
    assert readiness_command.readiness_of(job).sentence == "verify"


def test_a_profile_elsewhere_is_called_by_its_model(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "require_ready", WeightsError("missing"))
    found = readiness_command.readiness_of(job.model_copy(update={"profile_name": "mine"}))
    assert found.command == "diffusionforce models download flux2-klein-base-9b"


def test_a_job_file_that_is_none_is_a_failure(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "job.toml").write_text("x = 1", encoding="utf-8")
    assert readiness_command.main([str(tmp_path / "job.toml")]) == 1
    assert json.loads(capfdbinary.readouterr().out)["kind"] == "failed"
