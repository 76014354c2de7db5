"""Where the child that installs the engine takes it from."""

from pathlib import Path
from typing import Any

import pytest

from diffusionforce.engines.musubi import command
from diffusionforce.engines.musubi.installation import Installation
from diffusionforce.engines.musubi.pin import read_pin
from diffusionforce.errors import EngineError


class Places:
    """Stands in for the installation: remembers where it was to come from, and refuses what it is told to."""

    def __init__(self) -> None:
        self.tried: list[Path | None] = []
        self.refused: set[Path | None] = set()

    def install(self, _pin: object, *, place: Path | None, **_more: Any) -> Installation:
        self.tried.append(place)
        if place in self.refused:
            raise EngineError("It is not the pinned engine.")
        return Installation(folder=Path("engine"), outcome="installed")


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Places:
    made = Places()
    monkeypatch.setattr(command, "install", made.install)
    return made


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive that an application brought."""
    monkeypatch.setenv("DIFFUSIONFORCE_APP", str(tmp_path))
    path = tmp_path / "engine" / "musubi-tuner.zip"
    path.parent.mkdir()
    path.touch()
    return path


def test_the_archive_of_the_application_is_taken_where_there_is_one(places: Places, archive: Path) -> None:
    command._installed(read_pin(), None)
    assert places.tried == [archive]
    archive.unlink()
    command._installed(read_pin(), None)
    assert places.tried == [archive, None]


def test_one_that_is_not_the_pinned_engine_is_passed_over(places: Places, archive: Path) -> None:
    places.refused = {archive}
    assert command._installed(read_pin(), None).outcome == "installed"
    assert places.tried == [archive, None]


def test_what_the_user_names_comes_first_and_its_refusal_stands(places: Places, archive: Path, tmp_path: Path) -> None:
    named = tmp_path / "mine.zip"
    places.refused = {named}
    with pytest.raises(EngineError):
        command._installed(read_pin(), named)
    assert places.tried == [named]
