"""LoRA files from outside: the model, the size, and which layers ComfyUI would pass over."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.support.weights import write_weights

from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.lora_files import describe_lora
from diffusionforce.errors import WeightsError
from diffusionforce.wire.weights import LoraInfo

ALL = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))


def write_lora(
    path: Path, family: Family, *, dotted: str = "", leave_out: int = 0, metadata: dict[str, str] | None = None
) -> Path:
    """Write a LoRA of rank 4 as the engine names it, or with dots after a prefix; widths of the first layers only."""
    tensors: dict[str, tuple[int, ...]] = {}
    first = next(blocks for blocks in family.blocks if blocks.lora_leaves).lora_leaves[0]
    for module in sorted(family.lora_modules())[leave_out:]:
        name = f"{dotted}{module}" if dotted else f"lora_unet_{module.replace('.', '_')}"
        tensors[f"{name}.lora_down.weight"] = (4, family.width if module.endswith(f".{first}") else 16)
        tensors[f"{name}.lora_up.weight"] = (16, 4)
        tensors[f"{name}.alpha"] = ()
    return write_weights(path, tensors, metadata=metadata, dtype="F32")


@ALL
def test_what_the_engine_writes_is_recognised(tmp_path: Path, family: Family):
    info = describe_lora(write_lora(tmp_path / "x.safetensors", family))
    assert family.name in info.families and family.title in info.titles
    assert info.num_modules == info.num_expected == len(family.lora_modules())
    assert (info.ranks, info.unknown_modules, info.algorithm, info.precision) == ((4,), (), "LoRA", "fp32")
    expected = {
        "as written": "loads",
        "renamed": "loses layers",
        "converted": "loses layers",
        "unknown": "not known",
    }
    assert info.comfy == expected[family.comfy.loads]
    assert (info.comfy_lost > 0) == (info.comfy == "loses layers")


@pytest.mark.parametrize(("name", "num_lost"), [("hunyuan-video", 80), ("z-image", 120), ("hunyuan-video-1.5", 648)])
def test_how_many_layers_are_lost_is_counted(tmp_path: Path, name: str, num_lost: int):
    # Symptom: "lora key not loaded" for every feed-forward, or every attention layer.
    info = describe_lora(write_lora(tmp_path / "x.safetensors", FAMILIES[name]))
    assert info.comfy_lost == num_lost and info.comfy_words


@pytest.mark.parametrize("name", ["hunyuan-video", "z-image", "flux2-klein-base-9b", "wan2.1-t2v-14b"])
def test_names_with_dots_load(tmp_path: Path, name: str):
    path = write_lora(tmp_path / "x.safetensors", FAMILIES[name], dotted="diffusion_model.")
    info = describe_lora(path)
    assert name in info.families and (info.comfy, info.comfy_lost) == ("loads", 0)


def test_models_of_one_shape_are_all_named_and_the_metadata_decide_between_kinds(tmp_path: Path):
    info = describe_lora(write_lora(tmp_path / "x.safetensors", FAMILIES["wan2.1-t2v-14b"]))
    assert set(info.families) >= {"wan2.1-t2v-14b", "wan2.2-t2v-a14b"} and "wan2.1-t2v-1.3b" not in info.families
    metadata = {"ss_base_model_version": "flux_2_klein_9b", "ss_steps": "250"}
    klein = describe_lora(write_lora(tmp_path / "y.safetensors", FAMILIES["flux2-klein-9b"], metadata=metadata))
    assert set(klein.families) == {"flux2-klein-9b", "flux2-klein-base-9b"}
    assert (klein.base_model, klein.step, klein.metadata) == ("flux_2_klein_9b", 250, metadata)


def test_a_lora_of_some_layers_is_still_recognised(tmp_path: Path):
    info = describe_lora(write_lora(tmp_path / "x.safetensors", FAMILIES["krea2"], leave_out=30))
    assert "krea2" in info.families and info.num_expected - info.num_modules == 30


def test_alpha_and_rank_are_read(tmp_path: Path):
    modules = ("lora_unet_blocks_0_self_attn_q", "lora_unet_blocks_0_self_attn_k")
    tensors: dict[str, np.ndarray] = {}
    for name, alpha, rank in zip(modules, (8.0, 0.5), (8, 4), strict=True):
        tensors[f"{name}.lora_down.weight"] = np.zeros((rank, 5120), np.float16)
        tensors[f"{name}.lora_up.weight"] = np.zeros((5120, rank), np.float16)
        tensors[f"{name}.alpha"] = np.array(alpha, np.float16)
    save_file(tensors, tmp_path / "x.safetensors")
    info = describe_lora(tmp_path / "x.safetensors")
    assert (info.ranks, info.alphas, info.precision) == ((4, 8), (0.5, 8.0), "fp16")


@pytest.mark.parametrize(
    ("parts", "algorithm"), [(("hada_w1_a", "hada_w2_b"), "LoHa"), (("lokr_w1", "lokr_w2_a"), "LoKr")]
)
def test_other_algorithms_are_named(tmp_path: Path, parts: tuple[str, str], algorithm: str):
    tensors = {f"lora_unet_blocks_0_ffn_0.{part}": (4, 4) for part in parts}
    info = describe_lora(write_weights(tmp_path / "x.safetensors", tensors))
    assert info.algorithm == algorithm and "wan2.1-t2v-14b" in info.families


def test_a_model_with_fewer_blocks_of_the_same_names_is_not_taken_for_one_that_is_known(tmp_path: Path):
    """A LoRA of FLUX.1, as diffusers writes it, was said to be for FramePack, which has a block more of each kind."""
    layers = [f"transformer_blocks.{i}.attn.to_q" for i in range(19)]
    layers += [f"single_transformer_blocks.{i}.attn.to_q" for i in range(38)]
    halves = {"lora_A.weight": (16, 3072), "lora_B.weight": (3072, 16)}
    tensors = {f"transformer.{layer}.{half}": shape for layer in layers for half, shape in halves.items()}
    assert describe_lora(write_weights(tmp_path / "x.safetensors", tensors)).titles == ()


def test_a_lora_of_another_program_says_that_it_is_not_known(tmp_path: Path):
    tensors = {"lora_te_text_model_0.lora_down.weight": (4, 16), "lora_te_text_model_0.lora_up.weight": (16, 4)}
    info = describe_lora(write_weights(tmp_path / "x.safetensors", tensors))
    assert (info.families, info.comfy, info.num_expected) == ((), "not known", 0)


def test_a_file_that_is_no_lora_is_refused(tmp_path: Path):
    with pytest.raises(WeightsError, match="is no LoRA: none of its 1 tensors is part of one"):
        describe_lora(write_weights(tmp_path / "x.safetensors", {"a.weight": (4, 4)}))
    with pytest.raises(WeightsError, match="is not there"):
        describe_lora(tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"lora_down.weight": (4, 5120)}, "is no whole LoRA: lora_unet_blocks_0_ffn_0 has only one matrix of two."),
        ({"lora_B.weight": (13824, 4)}, "is no whole LoRA: lora_unet_blocks_0_ffn_0 has only one matrix of two."),
        (
            {"lora_down.weight": (4, 5120), "lora_up.weight": (13824, 8)},
            "of lora_unet_blocks_0_ffn_0 have other ranks.",
        ),
    ],
)
def test_half_a_lora_is_not_said_to_load(tmp_path: Path, parts: dict[str, tuple[int, ...]], words: str):
    tensors = {f"lora_unet_blocks_0_ffn_0.{part}": shape for part, shape in parts.items()}
    with pytest.raises(WeightsError) as refusal:
        describe_lora(write_weights(tmp_path / "x.safetensors", tensors))
    assert words in refusal.value.sentence


def test_the_record_survives_being_sent(tmp_path: Path):
    info = describe_lora(write_lora(tmp_path / "x.safetensors", FAMILIES["z-image"]))
    assert LoraInfo.model_validate_json(info.model_dump_json()) == info


@pytest.mark.parametrize(
    "header",
    [
        '{"x.lora_down.weight":{"dtype":"F32","shape":[1e400],"data_offsets":[0,4]}}',
        '{"x":' + "[" * 100_000,
        '{"__metadata__":"words","x.lora_down.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    ],
)
def test_odd_headers_are_refused_by_name(tmp_path: Path, header: str):
    # Symptom: a traceback, "this is a bug in DiffusionForce".
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(4))
    with pytest.raises(WeightsError, match="damaged header") as refusal:
        describe_lora(path)
    # Symptom: told to download it with `models download`, which brings no LoRA.
    assert "from where it came from" in refusal.value.hint and "models download" not in refusal.value.hint
