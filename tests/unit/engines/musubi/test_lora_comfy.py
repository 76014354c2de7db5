"""LoRA files under ComfyUI's names: every layer is found, and what a layer does is the same to the last bit."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.lora_comfy import write_for_comfy
from diffusionforce.engines.musubi.lora_files import describe_lora
from diffusionforce.errors import WeightsError

HUNYUAN, HUNYUAN_1_5, ZIMAGE = (FAMILIES[name] for name in ("hunyuan-video", "hunyuan-video-1.5", "z-image"))


def written(path: Path, family: Family, *, rank: int = 2, dtype: type = np.float32, alphas: tuple[float, ...] = (1,)):
    """Write what the engine would, with random numbers, one block of each list; return the tensors."""
    random = np.random.default_rng(0)
    tensors: dict[str, np.ndarray] = {}
    for index, module in enumerate(sorted(family.lora_modules())):
        if ".0." in module:
            name = f"lora_unet_{module.replace('.', '_')}"
            tensors[f"{name}.lora_down.weight"] = random.standard_normal((rank, family.width)).astype(dtype)
            tensors[f"{name}.lora_up.weight"] = random.standard_normal((3 + index % 3, rank)).astype(dtype)
            tensors[f"{name}.alpha"] = np.array(alphas[index % len(alphas)], dtype)
    save_file(tensors, path, metadata={"ss_base_model_version": family.trainer.architecture})
    return tensors


def change_of(tensors: dict[str, np.ndarray], name: str) -> np.ndarray:
    down, up = tensors[f"{name}.lora_down.weight"], tensors[f"{name}.lora_up.weight"]
    scale = float(tensors[f"{name}.alpha"]) / down.shape[0]
    return up.astype(np.float64) @ down.astype(np.float64) * scale


@pytest.mark.parametrize("family", [HUNYUAN, HUNYUAN_1_5, ZIMAGE], ids=lambda family: family.name)
def test_every_layer_is_found_afterwards(tmp_path: Path, family: Family):
    written(tmp_path / "x.safetensors", family)
    before = describe_lora(tmp_path / "x.safetensors")
    assert before.comfy == "loses layers" and before.comfy_lost
    write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    after = describe_lora(tmp_path / "y.safetensors")
    assert (after.comfy, after.comfy_lost, after.unknown_modules) == ("loads", 0, ())
    assert family.name in after.families and after.metadata["ss_base_model_version"] == family.trainer.architecture


@pytest.mark.parametrize(
    ("family", "engine", "comfy"),
    [
        (HUNYUAN, "lora_unet_double_blocks_0_img_mlp_fc1", "diffusion_model.double_blocks.0.img_mlp.0"),
        (HUNYUAN, "lora_unet_single_blocks_0_linear1", "diffusion_model.single_blocks.0.linear1"),
        (ZIMAGE, "lora_unet_layers_0_attention_to_out_0", "diffusion_model.layers.0.attention.to_out.0"),
        (HUNYUAN_1_5, "lora_unet_double_blocks_0_txt_mod_linear", "diffusion_model.double_blocks.0.txt_mod.lin"),
    ],
)
def test_names_change_and_numbers_do_not(tmp_path: Path, family: Family, engine: str, comfy: str):
    before = written(tmp_path / "x.safetensors", family)
    assert write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    after = load_file(tmp_path / "y.safetensors")
    for part in ("lora_down.weight", "lora_up.weight", "alpha"):
        assert np.array_equal(after[f"{comfy}.{part}"], before[f"{engine}.{part}"])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_query_key_and_value_are_joined(tmp_path: Path, dtype: type):
    before = written(tmp_path / "x.safetensors", HUNYUAN_1_5, dtype=dtype, alphas=(1.5,))
    assert write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors") == "joined"
    after = load_file(tmp_path / "y.safetensors")
    whole = change_of(after, "diffusion_model.double_blocks.0.img_attn.qkv")
    parts = [change_of(before, f"lora_unet_double_blocks_0_img_attn_{part}") for part in "qkv"]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-12, atol=1e-12)
    assert not any("attn_q" in name for name in after)


def test_different_strengths_are_not_joined(tmp_path: Path):
    written(tmp_path / "x.safetensors", HUNYUAN_1_5, alphas=(1.0, 2.0))
    with pytest.raises(WeightsError, match="different strengths"):
        write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors")


def test_a_part_that_is_missing_is_named(tmp_path: Path):
    tensors = written(tmp_path / "x.safetensors", HUNYUAN_1_5)
    kept = {name: tensor for name, tensor in tensors.items() if "img_attn_k" not in name}
    save_file(kept, tmp_path / "x.safetensors", metadata={"ss_base_model_version": "hunyuan_video_1_5"})
    with pytest.raises(WeightsError, match="have to be there all three"):
        write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    assert not (tmp_path / "y.safetensors").exists()


@pytest.mark.parametrize("name", ["flux2-klein-base-9b", "wan2.1-t2v-14b"])
def test_what_loads_as_it_is_is_left_alone(tmp_path: Path, name: str):
    # Symptom: converted LoRAs of Klein lost layers.
    written(tmp_path / "x.safetensors", FAMILIES[name])
    with pytest.raises(WeightsError, match="whose LoRAs ComfyUI loads as they are"):
        write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors")


def test_a_second_time_is_refused(tmp_path: Path):
    written(tmp_path / "x.safetensors", HUNYUAN)
    write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    with pytest.raises(WeightsError, match="ComfyUI's already"):
        write_for_comfy(tmp_path / "y.safetensors", tmp_path / "z.safetensors")
