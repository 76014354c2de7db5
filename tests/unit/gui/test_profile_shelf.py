"""The files of the user's own profiles."""

from pathlib import Path

import pytest

from diffusionforce.errors import ProfileError
from diffusionforce.gui.model import profile_shelf
from diffusionforce.gui.model.profile_shelf import ShelfItem
from diffusionforce.job import find_profile, own_profiles, own_profiles_dir, read_profile, write_profile


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def item(name: str) -> ShelfItem:
    return next(item for item in profile_shelf.read_shelf() if item.name == name)


def test_a_copy_is_found_by_its_name_like_a_built_in_one():
    name = profile_shelf.duplicate(item("pocket-demo"))
    assert own_profiles() == {name: own_profiles_dir() / f"{name}.toml"}
    copy = read_profile(find_profile(name))
    assert (copy.title, copy.based_on) == ("Pocket demo, mine", "pocket-demo")
    assert profile_shelf.read_shelf()[0].name == name


def test_a_copy_of_a_copy_has_a_name_of_its_own_and_the_same_origin():
    first = profile_shelf.duplicate(item("pocket-demo"))
    second = profile_shelf.duplicate(item(first))
    assert item(second).title == "Pocket demo, mine (2)"
    assert read_profile(find_profile(second)).based_on == "pocket-demo"


def test_renaming_changes_title_and_name():
    first = profile_shelf.duplicate(item("pocket-demo"))
    name = profile_shelf.rename(item(first), "  Märchen:  Rot/käppchen ")
    assert name == "märchen-rot-käppchen"
    assert item(name).title == "Märchen: Rot/käppchen"
    assert list(own_profiles()) == [name]
    with pytest.raises(ProfileError, match="1 to 80"):
        profile_shelf.rename(item(name), " ")


def test_a_name_never_hides_another_profile():
    first = profile_shelf.duplicate(item("pocket-demo"))
    assert profile_shelf.rename(item(first), "Pocket demo") == "pocket-demo-2"


def test_a_deleted_profile_comes_back():
    name = profile_shelf.duplicate(item("pocket-demo"))
    before = find_profile(name).read_bytes()
    aside = profile_shelf.delete(item(name))
    with pytest.raises(ProfileError):
        find_profile(name)
    assert profile_shelf.restore(aside) == name
    assert find_profile(name).read_bytes() == before


def test_an_own_file_with_the_name_of_a_built_in_one_does_not_change_what_that_name_means(home: Path):
    own = profile_shelf.duplicate(item("pocket-demo"))
    find_profile(own).rename(own_profiles_dir() / "klein-9b-1024.toml")
    assert own_profiles() == {}
    assert find_profile("klein-9b-1024").parent != own_profiles_dir()


def test_export_and_import_give_the_same_settings_and_make_paths_whole(tmp_path: Path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    profile = read_profile(find_profile("klein-9b-1024"))
    dataset = profile.dataset.model_copy(update={"folder": "pictures"})
    write_profile(folder / "x.toml", profile.model_copy(update={"dataset": dataset, "based_on": "klein-9b-1024"}))
    imported = profile_shelf.import_file(folder / "x.toml")
    assert imported.left_out == ()
    here = item(imported.name)
    assert here.profile is not None
    assert here.profile.dataset.folder == str((folder / "pictures").resolve())
    assert here.profile.based_on == "klein-9b-1024"
    profile_shelf.export(here, tmp_path / "out.toml")
    assert read_profile(tmp_path / "out.toml") == here.profile


def test_import_leaves_out_what_it_does_not_understand_and_says_so(tmp_path: Path):
    text = find_profile("pocket-demo").read_text(encoding="utf-8")
    text = text.replace("rank = 16", 'rank = "big"\nrnk = 3') + "\n[advanced]\n"
    (tmp_path / "odd.toml").write_text(text, encoding="utf-8")
    imported = profile_shelf.import_file(tmp_path / "odd.toml")
    assert any("lora.rnk is not a setting. Did you mean rank?" in line for line in imported.left_out)
    assert any("lora.rank" in line for line in imported.left_out)
    here = item(imported.name).profile
    assert here is not None
    assert here.lora.rank == 16


@pytest.mark.parametrize("text", ["", "not toml [", "schema_version = 1\ntitle = 'x'\n"])
def test_a_file_without_a_profile_is_refused_and_nothing_is_kept(tmp_path: Path, text: str):
    (tmp_path / "no.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError):
        profile_shelf.import_file(tmp_path / "no.toml")
    assert own_profiles() == {}


def test_a_file_that_cannot_be_read_is_listed_with_its_problem():
    name = profile_shelf.duplicate(item("pocket-demo"))
    find_profile(name).write_text("title = 3", encoding="utf-8")
    broken = item(name)
    assert broken.profile is None
    assert broken.problem is not None
    with pytest.raises(ProfileError):
        profile_shelf.duplicate(broken)


def test_families_have_engines_and_titles():
    items = profile_shelf.read_shelf()
    assert profile_shelf.engines_by_family(items)["pocket"] == "pocket"
    assert profile_shelf.titles_by_family(items)["flux2-klein-9b"] == "FLUX.2 Klein 9B"
