"""Whom a dataset is about, and a profile's prompts put to work on it."""

from pathlib import Path

import pytest
from PIL import Image

from diffusionforce.datasets import Dataset, adapted, find_trigger, num_captions_without, read_folder
from diffusionforce.job import Profile, builtin_profiles, dataset_folder, read_profile

GLORBIX = ["Glorbix, waving, in a meadow", "close-up of glorbix, on a beach", "A photo of Glorbix's hat"]


def folder_of(captions: list[str], root: Path) -> Dataset:
    root.mkdir()
    for index, caption in enumerate(captions):
        Image.new("RGB", (64, 64)).save(root / f"{index}.png")
        (root / f"{index}.txt").write_text(caption, encoding="utf-8")
    return read_folder(root)


@pytest.fixture
def demo() -> Profile:
    return read_profile(builtin_profiles()["pocket-demo"])


@pytest.mark.parametrize(
    ("captions", "word"),
    [
        (GLORBIX, "Glorbix"),
        (["Photo of a cat named zyx9", "Photo of zyx9, asleep"], "zyx9"),
        (["forest cat Mina", "Mina, the forest cat"], "Mina"),
        (["forest cat", "cat in a forest"], "forest"),
        (["a photo of a man", "a photo of a man, smiling"], ""),
        (["Anna, 7", "Bert, 7"], ""),
        (["ohw-girl in a hat", "an ohw-girl"], "ohw-girl"),
        ([], ""),
    ],
)
def test_the_trigger_is_the_word_in_every_caption_that_captions_do_not_have_anyway(captions: list[str], word: str):
    assert find_trigger(captions) == word


@pytest.mark.parametrize("name", ["loranne", "rolwayne"])
def test_the_subjects_of_the_demo_sets_are_found(name: str):
    items = read_folder(dataset_folder(f"demo:{name}"), decode=False).items
    assert find_trigger([item.caption for item in items]).casefold() == name


def test_the_prompts_ask_for_the_new_subject(demo: Profile, tmp_path: Path):
    # Symptom: a LoRA of one's own pictures was called loranne.safetensors and sampled with LoRAnne's prompts.
    profile = adapted(demo, folder_of(GLORBIX, tmp_path / "mine"))
    assert profile.samples.prompts == (
        "Glorbix, waving, on a beach, smiling",
        "close-up of Glorbix, in the snow, happy",
        "Glorbix, cheering, in space, laughing",
        demo.samples.prompts[3],
    )
    assert profile.dataset.trigger == "Glorbix"
    assert (profile.dataset.folder, profile.dataset.held_out_folder) == (str(tmp_path / "mine"), "")
    assert profile.training == demo.training


def test_a_profile_for_no_subject_says_where_the_word_goes(demo: Profile, tmp_path: Path):
    prompts = ("a photo of {trigger} in a garden", "a red bicycle")
    plain = demo.model_copy(
        update={
            "dataset": demo.dataset.model_copy(update={"trigger": "", "folder": "", "held_out_folder": ""}),
            "samples": demo.samples.model_copy(update={"prompts": prompts}),
        }
    )
    mine = folder_of(GLORBIX, tmp_path / "mine")
    assert adapted(plain, mine).samples.prompts == ("a photo of Glorbix in a garden", "a red bicycle")
    without = adapted(plain, folder_of(["a lake", "the hill", "my tree"], tmp_path / "views"))
    assert without.samples.prompts == ("a lake", "a red bicycle")
    own = plain.model_copy(update={"dataset": plain.dataset.model_copy(update={"folder": str(tmp_path / "mine")})})
    assert adapted(own, mine).samples.prompts[0] == "a photo of Glorbix in a garden"


def test_without_a_subject_captions_are_the_prompts(demo: Profile, tmp_path: Path):
    captions = ["a lake", "a hill", "a lake", "a tree", "a road"]
    profile = adapted(demo, folder_of(captions, tmp_path / "mine"))
    assert profile.samples.prompts == ("a lake", "a hill", "a tree", demo.samples.prompts[3])
    assert profile.dataset.trigger == ""


def test_a_given_trigger_is_taken_as_it_is(demo: Profile, tmp_path: Path):
    dataset = folder_of(GLORBIX, tmp_path / "mine")
    profile = adapted(demo, dataset, trigger=" meadow ")
    assert profile.dataset.trigger == "meadow"
    assert profile.samples.prompts[0] == "meadow, waving, on a beach, smiling"
    assert num_captions_without("meadow", [item.caption for item in dataset.items]) == 2
    assert num_captions_without("", GLORBIX) == 0


def test_only_whole_words_are_replaced(demo: Profile, tmp_path: Path):
    samples = demo.samples.model_copy(update={"prompts": ("LoRAnne's LoRAnnette, loranne",)})
    profile = adapted(
        demo.model_copy(update={"samples": samples}), folder_of(GLORBIX, tmp_path / "mine"), trigger=r"\1"
    )
    assert profile.samples.prompts == (r"\1's LoRAnnette, loranne",)


def test_the_profiles_own_dataset_leaves_it_as_it_is(demo: Profile, tmp_path: Path):
    own = read_folder(dataset_folder("demo:loranne"), decode=False)
    assert adapted(demo, own) == demo
    assert adapted(demo, own, trigger="Anne").samples.prompts[0] == "Anne, waving, on a beach, smiling"
    beside = demo.dataset.model_copy(update={"folder": "mine", "held_out_folder": "others"})
    profile = demo.model_copy(update={"dataset": beside})
    assert adapted(profile, folder_of(GLORBIX, tmp_path / "mine"), profile_dir=tmp_path) == profile


def test_a_demo_set_brings_its_own_held_out_pictures(demo: Profile):
    profile = adapted(demo, read_folder(dataset_folder("demo:rolwayne"), decode=False))
    assert (profile.dataset.folder, profile.dataset.held_out_folder) == ("demo:rolwayne", "demo:rolwayne-held-out")
    assert "Rolwayne" in profile.samples.prompts[0]


def test_a_profile_with_a_folder_that_cannot_be_is_adapted(demo: Profile, tmp_path: Path):
    dataset = demo.dataset.model_copy(update={"folder": "demo:nobody"})
    profile = demo.model_copy(update={"dataset": dataset})
    assert adapted(profile, folder_of(GLORBIX, tmp_path / "mine")).dataset.trigger == "Glorbix"
