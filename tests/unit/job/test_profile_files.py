"""Profiles and jobs on disk: every one that ships loads, and what is wrong is said in words."""

from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.errors import ProfileError
from diffusionforce.job import (
    Profile,
    builtin_profiles,
    changed,
    dataset_folder,
    find_profile,
    read_job,
    read_profile,
    with_absolute_weights,
    write_job,
    write_profile,
)

MINIMAL = """
schema_version = 1
title = "T"
[model]
family = "pocket"
engine = "pocket"
[training]
steps = 3
"""


def profile_with(folder: Path, *, old: str = "", new: str = "", extra: str = "") -> Path:
    assert old in MINIMAL
    path = folder / "own.toml"
    path.write_text(MINIMAL.replace(old, new) + extra if old else MINIMAL + extra, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", builtin_profiles())
def test_every_builtin_profile_loads_and_survives_being_written(name: str, tmp_path: Path):
    profile = read_profile(find_profile(name))
    write_profile(tmp_path / "copy.toml", profile)
    assert read_profile(tmp_path / "copy.toml") == profile


def test_the_builtin_profiles_are_the_promised_ones():
    assert {"klein-9b-1024", "pocket-demo", "wan21-14b"} <= set(builtin_profiles())
    klein = read_profile(find_profile("klein-9b-1024"))
    assert (klein.samples.width, klein.samples.height, klein.samples.num_steps) == (1024, 1024, 50)


def test_a_job_survives_being_written(tmp_path: Path):
    job = small_job(tmp_path).model_copy(update={"held_out_dir": tmp_path / "Ünï ☃"})
    write_job(tmp_path / "job.toml", job)
    assert read_job(tmp_path / "job.toml") == job
    assert not list(tmp_path.glob("*.part"))


def test_job_files_are_as_strict_as_profiles(tmp_path: Path):
    write_job(tmp_path / "job.toml", small_job(tmp_path))
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    (tmp_path / "job.toml").write_text(text.replace("steps = 3\n", 'steps = "3"\n', 1), encoding="utf-8")
    with pytest.raises(ProfileError, match=r"profile\.training\.steps is '3'"):
        read_job(tmp_path / "job.toml")


def test_a_path_that_is_not_utf8_is_named_and_nothing_is_written(tmp_path: Path):
    # Symptom: UnicodeEncodeError, and half a file.
    odd = tmp_path / "pict\udcffures"
    with pytest.raises(ProfileError, match=r"^dataset_dir = .*pict.udcffures\" is not UTF-8") as refusal:
        write_job(tmp_path / "job.toml", small_job(tmp_path).model_copy(update={"dataset_dir": odd}))
    assert refusal.value.sentence.encode()
    assert not list(tmp_path.glob("job.toml*"))


def test_integers_may_stand_for_fractions_and_lists_for_prompts(tmp_path: Path):
    extra = '[lora]\nalpha = 8\n[samples]\nprompts = ["a fox"]\n[devices]\nuse = ["cuda:0", "cuda:63"]'
    profile = read_profile(profile_with(tmp_path, extra=extra))
    assert (profile.lora.alpha, profile.samples.prompts) == (8.0, ("a fox",))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"old": "steps = 3", "new": "stpes = 3"}, "training.stpes is not a setting. Did you mean steps?"),
        ({"old": "steps = 3", "new": "steps = 3\nqqqq = 1"}, "training.qqqq is not a setting. Known here: steps,"),
        ({"old": "steps = 3", "new": ""}, "training.steps is missing."),
        ({"old": "steps = 3", "new": 'steps = "a lot"'}, "training.steps is 'a lot': write a whole number"),
        ({"old": "steps = 3", "new": "steps = -1"}, "training.steps is -1: write 1 or more"),
        ({"old": "steps = 3", "new": "steps = 3\nlearning_rate = inf"}, "training.learning_rate is inf"),
        ({"old": "steps = 3", "new": "steps = 3\nwarmup_steps = 4"}, "warmup_steps (4) is larger than steps (3)"),
        ({"old": "steps = 3", "new": "steps = 3\ncuda_graphs = true"}, "cuda_graphs needs gradient_checkpointing"),
        ({"old": 'engine = "pocket"', "new": 'engine = "warp"'}, "model.engine is 'warp': write 'pocket' or"),
        ({"old": "schema_version = 1", "new": "schema_version = 2"}, "schema_version is 2: write 1"),
        ({"extra": "[dataset]\nwidth = 100"}, "dataset.width is 100: write a multiple of 16"),
        ({"extra": '[devices]\nuse = ["auto", "cpu"]'}, "auto stands alone"),
        ({"extra": '[devices]\nuse = ["cpu", "cuda:0"]'}, "cpu and cuda devices cannot share one model"),
        # Symptoms: `steps = "5"` and `true` trained as 5 and 1; such cards ended in a traceback.
        ({"old": "steps = 3", "new": 'steps = "5"'}, "training.steps is '5': write a whole number"),
        ({"old": "steps = 3", "new": "steps = 5.0"}, "training.steps is 5.0: write a whole number"),
        ({"old": "steps = 3", "new": "steps = true"}, "training.steps is true: write a whole number"),
        ({"extra": '[lora]\nalpha = "1"'}, "lora.alpha is '1': write a number"),
        ({"extra": '[samples]\nbefore_training = "yes"'}, "samples.before_training is 'yes': write true or false"),
        ({"extra": '[devices]\nuse = ["cuda:²"]'}, "'cuda:²' is no device; write auto, cpu, or cuda: and a number"),
        ({"extra": '[devices]\nuse = ["cuda:99999999999999999999"]'}, "is no device"),
        ({"extra": '[devices]\nuse = ["cuda:64"]'}, "a number from 0 to 63"),
        ({"extra": '[devices]\nuse = ["cuda:0", "cuda:00"]'}, "'cuda:00' is no device"),
        # Symptom: "tuple should have at most 64 items after validation, not 65".
        ({"extra": f"[samples]\nprompts = {['ok'] * 65}"}, "write a list of 64 or fewer."),
        ({"extra": "[devices]\nuse = []"}, "devices.use is []: write a list of 1 or more."),
        ({"extra": "[samples]\n[samples]"}, "is not valid TOML"),
        ({"extra": "[advanced]\nsplit_attn = true"}, "advanced is for the engine musubi only"),
        (
            {"old": 'engine = "pocket"', "new": 'engine = "pocket"\nfiles = {vae = "v"}'},
            "model.files is for the engine",
        ),
    ],
)
def test_a_refused_profile_names_file_field_and_what_is_allowed(tmp_path: Path, change: dict[str, str], words: str):
    path = profile_with(tmp_path, **change)
    with pytest.raises(ProfileError) as refusal:
        read_profile(path)
    assert refusal.value.sentence.startswith((str(path), path.name))
    assert words in refusal.value.sentence


def test_further_problems_are_in_the_hint(tmp_path: Path):
    path = profile_with(tmp_path, old="steps = 3", new="steps = 0\nbatch_size = 0")
    with pytest.raises(ProfileError, match="1 more below") as refusal:
        read_profile(path)
    assert "training.batch_size is 0" in refusal.value.hint


@pytest.mark.parametrize(
    ("content", "words"), [(b"title = \xff", "is not UTF-8 text"), (b"\xef\xbb\xbf" + MINIMAL.encode(), "")]
)
def test_odd_bytes(tmp_path: Path, content: bytes, words: str):
    path = tmp_path / "own.toml"
    path.write_bytes(content)
    if words:
        with pytest.raises(ProfileError, match=words):
            read_profile(path)
    else:
        assert read_profile(path).title == "T"


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ProfileError, match="is not there"):
        read_profile(tmp_path / "none.toml")
    with pytest.raises(ProfileError, match="There is no profile"):
        find_profile(str(tmp_path / "none.toml"))


def test_a_change_is_checked_and_named_by_who_asked(tmp_path: Path):
    profile = read_profile(profile_with(tmp_path))
    assert changed(profile, {"training.steps": "7"}, origin="--steps").training.steps == 7
    with pytest.raises(ProfileError, match=r"^--steps: training\.steps is 0"):
        changed(profile, {"training.steps": 0}, origin="--steps")
    assert isinstance(profile, Profile) and profile.training.steps == 3


def test_dataset_folders(tmp_path: Path):
    assert dataset_folder("demo:loranne").is_dir()
    assert dataset_folder("pictures", base=tmp_path) == tmp_path / "pictures"
    for name in ("demo:nobody", "demo:", "demo:../profiles", "demo:loranne/.."):
        with pytest.raises(ProfileError, match="There is no demo dataset"):
            dataset_folder(name)


def test_a_path_with_a_nul_is_named():
    """Symptom: ValueError, embedded null byte."""
    with pytest.raises(ProfileError, match="is no path: no file has a NUL in its name"):
        dataset_folder("pictures\0")


def test_a_home_folder_that_is_not_there_is_named(tmp_path: Path):
    # Symptom: RuntimeError, could not determine home directory.
    with pytest.raises(ProfileError, match="There is no home folder ~nosuch"):
        dataset_folder("~nosuch/pictures")
    profile = read_profile(
        profile_with(tmp_path, old='engine = "pocket"', new='engine = "pocket"\nweights = "~nosuch"')
    )
    with pytest.raises(ProfileError, match="There is no home folder ~nosuch"):
        with_absolute_weights(profile, base=tmp_path)


@pytest.mark.parametrize("weights", ["", "own.safetensors", "../own.safetensors", "/data/own.safetensors"])
def test_relative_weights_lie_beside_their_profile(tmp_path: Path, weights: str):
    # Symptom: they were looked for in the current folder of the trainer.
    new = f'engine = "pocket"\nweights = "{weights}"'
    profile = read_profile(profile_with(tmp_path, old='engine = "pocket"', new=new))
    found = with_absolute_weights(profile, base=tmp_path).model.weights
    assert found == (str((tmp_path / weights).resolve()) if weights else "")


@pytest.mark.parametrize("value", ["[true]", '["1"]', "[-1]", "3", "[nan]"])
def test_memory_is_given_in_numbers_that_can_be(tmp_path: Path, value: str):
    with pytest.raises(ProfileError, match=r"memory\.reserve_gb"):
        read_profile(profile_with(tmp_path, extra=f"[memory]\nreserve_gb = {value}\n"))
    # One number was answered in Python's words: "input should be a valid tuple".
    with pytest.raises(ProfileError, match=r"memory\.budget_gb is 12: write a list, in brackets\."):
        read_profile(profile_with(tmp_path, extra="[memory]\nbudget_gb = 12\n"))
    good = read_profile(profile_with(tmp_path, extra="[memory]\nreserve_gb = [1, 2.5]\nbudget_gb = [12]\n"))
    assert (good.memory.reserve_gb, good.memory.budget_gb) == ((1.0, 2.5), (12.0,))


def test_a_value_in_the_place_of_a_table_is_answered_in_words_of_toml(tmp_path: Path):
    # It was: "should be a valid dictionary or instance of SampleSettings".
    path = tmp_path / "own.toml"
    path.write_text("samples = 3\n" + MINIMAL, encoding="utf-8")
    with pytest.raises(ProfileError, match=r"samples is 3: write a table, \[samples\], with its settings below it\."):
        read_profile(path)


MUSUBI = {"old": 'engine = "pocket"', "new": 'engine = "musubi"'}


def test_options_of_the_engine_are_kept_as_they_are(tmp_path: Path):
    extra = '[advanced]\nsplit_attn = true\nmin_timestep = 5\nnetwork_args = ["a=1"]\n'
    profile = read_profile(profile_with(tmp_path, **MUSUBI, extra=extra))
    write_profile(tmp_path / "copy.toml", profile)
    assert read_profile(tmp_path / "copy.toml").advanced == profile.advanced
    assert profile.advanced == {"split_attn": True, "min_timestep": 5, "network_args": ["a=1"]}


@pytest.mark.parametrize("value", ["{a = 1}", "[[1]]", "1979-05-27"])
def test_what_cannot_be_an_option_is_named(tmp_path: Path, value: str):
    with pytest.raises(ProfileError, match=r"advanced: odd has to be true or false, a number"):
        read_profile(profile_with(tmp_path, **MUSUBI, extra=f"[advanced]\nodd = {value}\n"))


def test_relative_files_of_a_model_lie_beside_their_profile(tmp_path: Path):
    new = 'engine = "musubi"\nfiles = {vae = "v.safetensors", text_encoder = "/data/t"}'
    profile = read_profile(profile_with(tmp_path, old='engine = "pocket"', new=new))
    found = with_absolute_weights(profile, base=tmp_path).model.files
    assert found == {"vae": str(tmp_path / "v.safetensors"), "text_encoder": "/data/t"}
