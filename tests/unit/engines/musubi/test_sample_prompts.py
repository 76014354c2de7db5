"""The prompts of samples: nothing in them is guessed, and a bad one is refused by its number."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.support.weights import write_weights

from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.sample_prompts import prompts_file, sample_prompts
from diffusionforce.errors import ProfileError, WeightsError
from diffusionforce.job import Profile

KLEIN, WAN = FAMILIES["flux2-klein-base-9b"], FAMILIES["wan2.1-t2v-14b"]


def profile_of(family: Family, *prompts: str, **samples: Any) -> Profile:
    model = {"family": family.name, "engine": "musubi"}
    training = {"steps": 1, "timestep_sampling": "shift", "flow_shift": 3.0}
    table = {"schema_version": 1, "title": "T", "model": model, "training": training}
    return Profile.model_validate({**table, "samples": {"prompts": list(prompts), "num_frames": 9, **samples}})


def tables(family: Family, *prompts: str, **samples: Any) -> list[dict[str, Any]]:
    return sample_prompts(profile_of(family, *prompts, **samples), family=family, dataset_dir=Path("/none"))


def test_what_a_prompt_does_not_say_is_the_profiles():
    (table,) = tables(KLEIN, "a fox", width=512, height=768, num_steps=50, guidance=4.0, seed=7)
    assert table == {
        "prompt": "a fox",
        "width": 512,
        "height": 768,
        "frame_count": 1,
        "seed": 7,
        "sample_steps": 50,
        "guidance_scale": 4.0,
    }


def test_a_number_of_frames_that_the_engine_would_change_is_refused():
    with pytest.raises(ProfileError, match=r"samples\.num_frames is 10: Wan 2\.1 T2V 14B makes") as refusal:
        tables(WAN, "a fox", num_frames=10)
    assert refusal.value.hint == "Write 9 or 13."
    with pytest.raises(ProfileError, match="prompt 1: --f is 6: "):
        tables(WAN, "a fox --f 6")
    assert tables(KLEIN, "a fox", num_frames=10)[0]["frame_count"] == 1


def test_videos_have_frames_and_the_guidance_of_their_model():
    (table,) = tables(WAN, "a fox", guidance=5.0)
    assert (table["frame_count"], table["cfg_scale"], table["discrete_flow_shift"]) == (9, 5.0, 5.0)
    assert tables(FAMILIES["krea2"], "a fox")[0]["negative_prompt"] == ""


def test_the_engines_own_noise_schedule_is_not_left_to_models_that_it_does_not_suit():
    # Its default is a shift of 14.5, for everything that does not say otherwise.
    assert tables(FAMILIES["qwen-image"], "a fox")[0]["discrete_flow_shift"] is None
    assert tables(FAMILIES["wan2.2-t2v-a14b"], "a fox")[0]["discrete_flow_shift"] == 12.0
    assert tables(FAMILIES["wan2.2-t2v-a14b"], "a fox --fs 8")[0]["discrete_flow_shift"] == 8.0
    assert "discrete_flow_shift" not in tables(KLEIN, "a fox")[0]


def test_options_behind_a_prompt_count(tmp_path: Path):
    picture = tmp_path / "ein Bild.png"
    Image.new("RGB", (64, 64)).save(picture)
    pictures = f"--i {picture} --ci {picture} --ci {picture}"
    text = f"a fox, 8-bit --w 640 --h 480 --f 17 --d 3 --s 8 --l 2.5 --n blurry, red {pictures}"
    (table,) = tables(WAN, text)
    assert table["prompt"] == "a fox, 8-bit" and table["negative_prompt"] == "blurry, red"
    assert (table["width"], table["height"], table["frame_count"], table["seed"]) == (640, 480, 17, 3)
    assert (table["sample_steps"], table["cfg_scale"]) == (8, 2.5)
    assert table["image_path"] == str(picture) and table["control_image_path"] == [str(picture)] * 2


def test_the_beginning_of_a_prompt_is_no_option():
    # Symptom: the engine took "w 5 ..." for a width of 5.
    first, second = tables(KLEIN, "w 5 people", "d 5 -- and a dash")
    assert first["width"] == 1024 and first["prompt"] == "w 5 people"
    assert second["prompt"] == "d 5 -- and a dash"


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("a fox --q 3", "prompt 2: --q is no option of a prompt."),
        ("a fox --width 3", "--width is no option of a prompt."),
        ("a fox --w", "prompt 2: --w has no value."),
        ("a fox --w x", "prompt 2: --w is 'x': it has to be a number."),
        ("a fox --w 513", "--w is '513': it has to be a multiple of 16."),
        ("a fox --s 0", "--s is '0': it has to be from 1 to 1000."),
        ("a fox --g nan", "--g is 'nan': it has to be from 0 to 1000."),
        ("a fox --i /none/x.png", "prompt 2 names /none/x.png, which is not there."),
        # A file that is no picture, and a folder, were found out when the first sample was to be made.
        (f"a fox --i {__file__}", "test_sample_prompts.py, which is no picture."),
        (f"a fox --ci {Path(__file__).parent}", "which is no picture."),
        (f"a fox --i {'x' * 5000}", ", which is not there."),
        # The model drew what it makes of the braces.
        ("a photo of {triger}", "has {triger}, which stands for nothing."),
        ("  ", "prompt 2 is empty."),
        ("--w 512", "prompt 2 is empty."),
    ],
)
def test_a_bad_prompt_is_named_by_its_number(prompt: str, words: str):
    with pytest.raises(ProfileError) as refusal:
        tables(KLEIN, "a fox", prompt)
    assert refusal.value.sentence.startswith("samples.prompts: prompt 2") and words in refusal.value.sentence


def test_a_sample_is_made_with_further_loras(tmp_path: Path):
    """The trainer could, and no prompt could say so."""
    shapes = {"lora_down.weight": (4, 4096), "lora_up.weight": (12288, 4)}
    name = "lora_unet_double_blocks_0_img_attn_qkv"
    path = write_weights(tmp_path / "me@home.safetensors", {f"{name}.{part}": shape for part, shape in shapes.items()})
    (table,) = tables(KLEIN, f"a fox --lo {path} --lo {path}@0.5")
    assert table["loras"] == [{"path": str(path), "strength": 1.0}, {"path": str(path), "strength": 0.5}]
    with pytest.raises(ProfileError, match=r"prompt 1 names .* no LoRA for Wan"):
        tables(WAN, f"a fox --lo {path}")
    with pytest.raises(WeightsError, match="none is not there"):
        tables(KLEIN, f"a fox --lo {tmp_path / 'none'}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProfileError, match="pipe, which is no picture"):
        tables(WAN, f"a fox --i {tmp_path / 'pipe'}")


@pytest.mark.parametrize(("name", "option"), [("wan2.1-i2v-14b", "--i"), ("flux1-kontext", "--ci")])
def test_a_model_that_starts_from_a_picture_takes_the_first_of_the_dataset(tmp_path: Path, name: str, option: str):
    # Symptom: such a model drew no samples unless somebody wrote the path of a picture behind every prompt.
    family, other = FAMILIES[name], tmp_path / "other.png"
    (tmp_path / "control").mkdir()
    for picture in (tmp_path / "a.png", tmp_path / "b.png", tmp_path / "control" / "a.png", other):
        Image.new("RGB", (64, 64)).save(picture)
        picture.with_suffix(".txt").write_text("a fox")
    profile = profile_of(family, "a fox", f"a fox {option} {other}")
    first, second = sample_prompts(profile, family=family, dataset_dir=tmp_path)
    if option == "--i":
        assert (first["image_path"], second["image_path"]) == (str(tmp_path / "a.png"), str(other))
    else:
        assert first["control_image_path"] == [str(tmp_path / "control" / "a.png")]
        assert second["control_image_path"] == [str(other)]


def test_the_file_is_json_that_keeps_every_character():
    content = prompts_file(profile_of(KLEIN, 'ein "Fuchs" ☃'), family=KLEIN, dataset_dir=Path("/none"))
    assert json.loads(content)[0]["prompt"] == 'ein "Fuchs" ☃'
