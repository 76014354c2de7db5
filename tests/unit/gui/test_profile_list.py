from tests.gui import recorded

from diffusionforce.errors import ProfileError
from diffusionforce.gui.model.profile_list import in_order
from diffusionforce.job import Profile, builtin_profiles, read_profile


def other(title: str) -> Profile:
    pocket = recorded.profile()
    model = pocket.model.model_copy(update={"family": "x", "engine": "musubi"})
    return pocket.model_copy(update={"title": title, "model": model})


def test_what_trains_anywhere_comes_first_and_what_is_broken_last():
    profiles = {"a": ProfileError("No."), "b": other("wan"), "c": other("Flux"), "z": recorded.profile()}
    assert [name for name, _ in in_order(profiles)] == ["z", "c", "b", "a"]


def test_every_profile_that_ships_is_offered():
    names = [name for name, _ in in_order({name: read_profile(path) for name, path in builtin_profiles().items()})]
    assert sorted(names) == sorted(builtin_profiles())
    assert names[0] == "pocket-demo"
