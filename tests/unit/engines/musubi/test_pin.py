"""The pin of the engine: complete, found, and told apart from another version that lies in its place."""

import re
from pathlib import Path

import pytest

from diffusionforce.engines.musubi import Pin, engine_dir, installed, read_pin
from diffusionforce.errors import EngineError


def snapshot(folder: Path, *, name: str = "musubi-tuner", version: str = "0.3.4") -> Path:
    """Lay out the two files by which an engine is recognised."""
    package = folder / "src" / "musubi_tuner"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(f'[project]\nname = "{name}"\nversion = "{version}"\n', encoding="utf-8")
    return folder


@pytest.fixture
def pin() -> Pin:
    """The pin that ships with the product."""
    return read_pin()


def test_the_shipped_pin_names_one_commit_and_its_terms(pin: Pin) -> None:
    assert pin.upstream == "kohya-ss/musubi-tuner"
    assert re.fullmatch(r"[0-9a-f]{40}", pin.commit)
    assert pin.licence == "Apache-2.0"
    assert set(pin.other_licences) == {"hunyuan_model", "hunyuan_video_1_5"}


def test_the_notice_names_every_folder_under_other_terms(pin: Pin) -> None:
    notice = (Path(__file__).parents[4] / "vendor" / "musubi-tuner" / "NOTICE.md").read_text(encoding="utf-8")
    assert all(f"`{folder}`" in notice for folder in pin.other_licences)


def test_the_engine_belongs_to_the_users_data_and_to_one_commit(
    pin: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    assert engine_dir(pin) == tmp_path / "engines" / "musubi-tuner" / pin.commit
    assert not installed(pin)
    snapshot(engine_dir(pin))
    assert installed(pin)


@pytest.mark.parametrize("other", [{"version": "0.3.3"}, {"name": "something-else"}])
def test_another_version_or_program_is_not_the_engine(pin: Pin, tmp_path: Path, other: dict[str, str]) -> None:
    assert not installed(pin, folder=snapshot(tmp_path / "engine", **other))


def test_half_an_engine_is_none(pin: Pin, tmp_path: Path) -> None:
    folder = snapshot(tmp_path / "engine")
    (folder / "src" / "musubi_tuner" / "__init__.py").unlink()
    assert not installed(pin, folder=folder)


@pytest.mark.parametrize("content", [None, "upstream = ", 'upstream = "kohya-ss/musubi-tuner"'])
def test_a_damaged_pin_is_a_sentence(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "PIN.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(EngineError, match="cannot be read") as caught:
        read_pin(path)
    assert str(path) in caught.value.sentence
