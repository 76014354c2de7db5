"""The pin of the engine: complete, and with the terms that users must see."""

import re
from pathlib import Path

import pytest

from diffusionforce.engines.musubi import Pin, engine_dir, read_pin
from diffusionforce.errors import EngineError


@pytest.fixture
def pin() -> Pin:
    """The pin that ships with the product."""
    return read_pin()


def test_the_shipped_pin_names_one_commit_and_its_terms(pin: Pin) -> None:
    assert pin.upstream == "kohya-ss/musubi-tuner"
    assert re.fullmatch(r"[0-9a-f]{40}", pin.commit)
    assert pin.licence == "Apache-2.0"
    assert {terms.folder for terms in pin.terms} == {"hunyuan_model", "hunyuan_video_1_5"}


def test_terms_are_shown_for_the_models_that_they_are_about(pin: Pin) -> None:
    assert [terms.folder for terms in pin.terms_of("framepack")] == ["hunyuan_model"]
    assert "European Union" in pin.terms_of("hunyuan-video-1.5")[0].words
    assert pin.terms_of("wan2.1-t2v-14b") == ()


def test_the_notice_names_every_folder_under_other_terms(pin: Pin) -> None:
    notice = (Path(__file__).parents[4] / "vendor" / "musubi-tuner" / "NOTICE.md").read_text(encoding="utf-8")
    assert all(f"`{terms.folder}`" in notice for terms in pin.terms)


def test_the_engine_belongs_to_the_users_data_and_to_one_commit(
    pin: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIFFUSIONFORCE_ENGINE", raising=False)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    assert engine_dir(pin) == tmp_path / "engines" / "musubi-tuner" / pin.commit
    monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", str(tmp_path / "mine"))
    assert engine_dir(pin) == tmp_path / "mine"


@pytest.mark.parametrize("content", [None, "upstream = ", 'upstream = "kohya-ss/musubi-tuner"'])
def test_a_damaged_pin_is_a_sentence(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "PIN.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(EngineError, match="cannot be read") as caught:
        read_pin(path)
    assert str(path) in caught.value.sentence
