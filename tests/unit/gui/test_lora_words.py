"""LoRA files in words, and where a copy goes."""

from pathlib import Path

import pytest

from diffusionforce.gui.model import lora_words
from diffusionforce.wire.weights import LoraInfo

INFO = LoraInfo(
    path="a.safetensors",
    size_bytes=1000,
    base_model="klein",
    families=("klein",),
    titles=("Klein 9B",),
    algorithm="LoRA",
    num_modules=112,
    num_expected=112,
    unknown_modules=(),
    ranks=(16,),
    alphas=(8.0,),
    precision="bf16",
    step=5,
    comfy="loads",
    comfy_lost=0,
    comfy_words="",
    metadata={f"key {number}": "value" for number in range(40)},
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("ok", "All keys match Klein 9B")),
        ({"num_modules": 60}, ("info", "60 of 112 layers of Klein 9B")),
        ({"unknown_modules": ("x.y",)}, ("err", "Klein 9B does not have: x.y")),
        ({"titles": (), "base_model": "pocket", "num_expected": 0}, ("info", "112 layers · the pocket model")),
        ({"titles": (), "base_model": "", "num_expected": 0}, ("info", "112 layers · a model that is not known here")),
    ],
)
def test_keys_are_judged(changes: dict[str, object], expected: tuple[str, str]):
    assert lora_words.keys_verdict(INFO.model_copy(update=changes)) == expected


def test_files_that_comfyui_knows_are_copied_and_others_renamed():
    assert not lora_words.needs_other_names(INFO)
    assert lora_words.needs_other_names(INFO.model_copy(update={"comfy": "does not load"}))
    assert not lora_words.needs_other_names(INFO.model_copy(update={"comfy": "not known"}))
    assert lora_words.comfy_verdict(INFO.model_copy(update={"comfy": "loses layers"}))[0] == "warn"


def test_long_metadata_are_cut():
    assert len(lora_words.metadata_lines(INFO).splitlines()) == lora_words.MAX_METADATA


def test_the_folder_for_loras_is_found_in_what_was_chosen(tmp_path: Path):
    loras = tmp_path / "ComfyUI" / "models" / "loras"
    loras.mkdir(parents=True)
    for chosen in (tmp_path / "ComfyUI", tmp_path / "ComfyUI" / "models", loras):
        assert lora_words.lora_dir(chosen) == loras
    assert lora_words.lora_dir(tmp_path) == tmp_path


def test_a_copy_never_takes_the_place_of_another(tmp_path: Path):
    first = lora_words.copy_target(tmp_path, title="Über: Gouache/v3", step=750)
    assert first == tmp_path / "über-gouache-v3-step750.safetensors"
    first.write_bytes(b"")
    assert lora_words.copy_target(tmp_path, title="Über: Gouache/v3", step=750).name.endswith("step750-2.safetensors")
    assert lora_words.copy_target(tmp_path, title="!!", step=1).name == "lora-step1.safetensors"
