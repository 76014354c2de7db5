"""The profiles that ship for the engine: one for every family, each of which the engine's options can be made from."""

from pathlib import Path

import pytest

from diffusionforce.engines.musubi.arguments import Places, training_arguments
from diffusionforce.engines.musubi.families import FAMILIES, find_family
from diffusionforce.engines.musubi.sample_prompts import sample_prompts
from diffusionforce.job import Profile, builtin_profiles, read_profile

PROFILES = {
    name: profile
    for name, profile in ((name, read_profile(path)) for name, path in builtin_profiles().items())
    if profile.model.engine == "musubi"
}
ALL = pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
PLACES = Places(
    dataset_config=Path("/run/data.toml"),
    output_dir=Path("/run"),
    output_name="lora",
    sample_prompts=Path("/run/prompts.txt"),
)


def test_every_family_has_a_profile():
    assert {profile.model.family for profile in PROFILES.values()} == set(FAMILIES)


def test_the_first_real_run_is_klein_at_1024():
    profile = PROFILES["klein-9b-1024"]
    sizes = (profile.dataset.width, profile.dataset.height, profile.samples.width, profile.samples.height)
    assert sizes == (1024, 1024, 1024, 1024)
    assert (profile.samples.num_steps, profile.model.family) == (50, "flux2-klein-base-9b")


@ALL
def test_it_is_made_for_its_family(profile: Profile):
    family = find_family(profile.model.family)
    files = {file.role: Path("/weights", file.role) for file in family.files}
    values = training_arguments(profile, family=family, files=files, places=PLACES).values
    assert values["max_train_steps"] == profile.training.steps
    assert profile.training.gradient_checkpointing
    assert (profile.samples.num_frames > 1) == (family.makes == "videos")
    assert profile.dataset.width % 16 == 0 and (profile.samples.num_frames - 1) % 4 == 0
    if profile.training.timestep_sampling == "shift":
        assert profile.training.flow_shift == family.defaults["discrete_flow_shift"]
    if family.licence_folders and "Kandinsky" not in family.title:
        assert "licence" in profile.description


@ALL
def test_it_draws_previews_of_whatever_it_is_trained_on(profile: Profile):
    # Symptom: a training of hours had nothing to look at, and its forecast said nothing of samples.
    prompts, family = profile.samples.prompts, find_family(profile.model.family)
    assert sum("{trigger}" in prompt for prompt in prompts) in {1, 2}
    assert any("{trigger}" not in prompt for prompt in prompts) or family.sample_inputs != "prompt"
    assert sample_prompts(profile, family=family, dataset_dir=Path("/none"))


@ALL
def test_what_it_says_of_memory_is_what_the_files_take(profile: Profile):
    family = find_family(profile.model.family)
    dit = family.file("dit")
    assert dit is not None
    if "transformer takes" in profile.description:
        said = float(profile.description.partition("transformer takes ")[2].partition(" GB")[0])
        assert said == pytest.approx(dit.gib, abs=0.6)
