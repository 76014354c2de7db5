"""The user's own profiles: found by name, like those that come with the product."""

import shutil
from pathlib import Path

import pytest

from diffusionforce.errors import ProfileError
from diffusionforce.job import builtin_profiles, find_profile, own_profiles, own_profiles_dir


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    folder = own_profiles_dir()
    folder.mkdir(parents=True)
    return folder


def copy(folder: Path, name: str) -> Path:
    return Path(shutil.copy(builtin_profiles()["pocket-demo"], folder / f"{name}.toml"))


def test_an_own_profile_is_found_by_its_name(folder: Path):
    path = copy(folder, "gouache")
    assert own_profiles() == {"gouache": path}
    assert find_profile("gouache") == path


def test_a_name_that_is_not_there_names_both_kinds(folder: Path):
    copy(folder, "gouache")
    with pytest.raises(ProfileError, match="Did you mean gouache") as refusal:
        find_profile("gouach")
    assert "Built-in profiles: " in refusal.value.hint
    assert "Your own: gouache" in refusal.value.hint


def test_a_built_in_name_keeps_its_meaning(folder: Path):
    copy(folder, "pocket-demo")
    assert own_profiles() == {}
    assert find_profile("pocket-demo") == builtin_profiles()["pocket-demo"]


def test_without_the_folder_there_are_none(folder: Path):
    folder.rmdir()
    assert own_profiles() == {}
