"""The engine's families with tiny random models: its own classes, trainers and LoRA modules, in sizes for a processor.

Wan and FLUX.2 are loaded from files by the engine's own loaders; the others are built where the loader would be called.
"""

import dataclasses
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import save_file

Tensors = dict[str, torch.Tensor]
NUM_BLOCKS = 4


@dataclass(frozen=True, kw_only=True)
class TinyFamily:
    """One family."""

    script: str
    """Module of its trainer, without `_train_network`."""
    trainer: str
    setup: str
    """Function that adds its options to the parser."""
    architecture: str
    """In the names of cache files."""
    architecture_name: str
    """In the metadata of cache files."""
    network_module: str
    block_lists: tuple[str, ...]
    cache: Callable[[int], tuple[Tensors, Tensors]]
    """Latents and text of picture number i, with the keys of cache files less the number format."""
    model: Callable[[], Any] | None = None
    """Builds the model; None: the engine's loader reads it from a file."""
    prepare: Callable[[Path], list[str]] = lambda folder: []
    """Makes the engine's sizes tiny and writes weights; gives further options."""
    options: tuple[str, ...] = ()
    settle: dict[str, Any] = field(default_factory=dict)
    """What the family's own `main` sets after the options are read."""
    mixed_precision: str = "no"
    """FLUX.2 and Kandinsky 5 have no way to train in float32."""
    num_blocks: int = NUM_BLOCKS


def randn(*shape: int, seed: int) -> torch.Tensor:
    """Random numbers of their own."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def without_zeros(model: torch.nn.Module) -> torch.nn.Module:
    """Fill what a model starts with as zeros: a zero head hides every mistake before it."""
    generator = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        if not parameter.abs().sum():
            torch.nn.init.normal_(parameter, std=0.02, generator=generator)
    return model


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"musubi_tuner.{name}")


def _save(model: torch.nn.Module, path: Path) -> str:
    weights = without_zeros(model).state_dict()
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path)
    return str(path)


_TINY_WAN = {"dim": 96, "ffn_dim": 192, "freq_dim": 64, "num_heads": 4, "num_layers": NUM_BLOCKS, "text_len": 16}


def _wan_file(folder: Path, name: str, *, version: str, seed: int, model_type: str = "t2v", in_dim: int = 16) -> str:
    torch.manual_seed(seed)
    sizes = {**_TINY_WAN, "in_dim": in_dim, "out_dim": 16}
    make = _module("wan.modules.model").WanModel
    return _save(make(model_type=model_type, model_version=version, attn_mode="torch", **sizes), folder / name)


def _wan21(folder: Path) -> list[str]:
    _module("wan.configs").WAN_CONFIGS["t2v-14B"].update(_TINY_WAN)
    return ["--task", "t2v-14B", "--dit", _wan_file(folder, "dit.safetensors", version="2.1", seed=0)]


def _wan21_i2v(folder: Path) -> list[str]:
    _module("wan.configs").WAN_CONFIGS["i2v-14B"].update(_TINY_WAN)
    file = _wan_file(folder, "dit.safetensors", version="2.1", seed=0, model_type="i2v", in_dim=36)
    return ["--task", "i2v-14B", "--dit", file]


def _wan22(folder: Path) -> list[str]:
    _module("wan.configs").WAN_CONFIGS["t2v-A14B"].update(_TINY_WAN)
    low = _wan_file(folder, "low.safetensors", version="2.2", seed=1)
    high = _wan_file(folder, "high.safetensors", version="2.2", seed=2)
    return ["--task", "t2v-A14B", "--dit", low, "--dit_high_noise", high]


def _wan22_i2v(folder: Path) -> list[str]:
    _module("wan.configs").WAN_CONFIGS["i2v-A14B"].update(_TINY_WAN)
    low, high = (
        _wan_file(folder, name, version="2.2", seed=seed, in_dim=36)
        for name, seed in (("low.safetensors", 1), ("high.safetensors", 2))
    )
    return ["--task", "i2v-A14B", "--dit", low, "--dit_high_noise", high]


def _wan_cache(i: int) -> tuple[Tensors, Tensors]:
    return {"latents_1x8x8": randn(16, 1, 8, 8, seed=i)}, {"varlen_t5": randn(5 + i % 3, 4096, seed=10 + i)}


def _wan_cache_from_picture(i: int) -> tuple[Tensors, Tensors]:
    latents, text = _wan_cache(i)
    latents |= {"latents_image_1x8x8": randn(20, 1, 8, 8, seed=20 + i), "clip": randn(257, 1280, seed=30 + i)}
    return latents, text


_WAN: dict[str, Any] = {
    "script": "wan",
    "trainer": "WanNetworkTrainer",
    "setup": "wan_setup_parser",
    "architecture": "wan",
    "architecture_name": "wan",
    "network_module": "networks.lora_wan",
    "block_lists": ("blocks",),
    "cache": _wan_cache,
    "options": ("--timestep_sampling", "shift", "--discrete_flow_shift", "3.0"),
    "settle": {"dit_dtype": None, "vae_dtype": "bfloat16"},
}

_TINY_FLUX2 = {
    "context_in_dim": 48,
    "hidden_size": 64,
    "num_heads": 2,
    "depth": 2,
    "depth_single_blocks": 4,
    "axes_dim": [8, 8, 8, 8],
}


def _klein(folder: Path) -> list[str]:
    infos = _module("flux_2.flux2_utils").FLUX2_MODEL_INFO
    info = infos["klein-base-9b"]
    infos["klein-base-9b"] = dataclasses.replace(info, params=dataclasses.replace(info.params, **_TINY_FLUX2))
    torch.manual_seed(0)
    model = _module("flux_2.flux2_models").Flux2(infos["klein-base-9b"].params, "torch")
    return ["--model_version", "klein-base-9b", "--dit", _save(model, folder / "dit.safetensors")]


def _qwen_model(**further: Any) -> Any:
    return _module("qwen_image.qwen_image_model").QwenImageTransformer2DModel(
        patch_size=2,
        in_channels=64,
        out_channels=16,
        num_layers=NUM_BLOCKS,
        attention_head_dim=32,
        num_attention_heads=2,
        joint_attention_dim=48,
        axes_dims_rope=(8, 12, 12),
        **further,
    )


def _krea2_model() -> Any:
    krea2 = _module("krea2.krea2_mmdit")
    names = {one.name for one in dataclasses.fields(krea2.SingleMMDiTConfig)}
    sizes = {
        "features": 64,
        "heads": 2,
        "kvheads": 2,
        "multiplier": 4,
        "layers": NUM_BLOCKS,
        "tdim": 32,
        "txtdim": 48,
        "txtheads": 2,
        "txtkvheads": 2,
        "txtlayers": 2,
        "channels": 16,
        "patch": 2,
    }
    config = krea2.SingleMMDiTConfig(**{name: size for name, size in sizes.items() if name in names})
    return krea2.SingleStreamDiT(config)


def _zimage_model() -> Any:
    return _module("zimage.zimage_model").ZImageTransformer2DModel(
        dim=64,
        n_layers=NUM_BLOCKS,
        n_refiner_layers=1,
        n_heads=2,
        n_kv_heads=2,
        cap_feat_dim=48,
        axes_dims=[8, 12, 12],
        axes_lens=[64, 64, 64],
    )


def _kontext_model() -> Any:
    flux = _module("flux.flux_models")
    sizes: dict[str, Any] = {
        "in_channels": 64,
        "vec_in_dim": 32,
        "context_in_dim": 48,
        "hidden_size": 64,
        "mlp_ratio": 4.0,
        "num_heads": 2,
        "depth": 2,
        "depth_single_blocks": 4,
        "axes_dim": [8, 12, 12],
        "theta": 10000,
        "qkv_bias": True,
        "guidance_embed": True,
    }
    return flux.Flux(flux.FluxParams(**sizes), "torch")


def _hunyuan_model() -> Any:
    return _module("hunyuan_model.models").HYVideoDiffusionTransformer(
        text_states_dim=48,
        text_states_dim_2=32,
        in_channels=16,
        out_channels=16,
        hidden_size=64,
        heads_num=2,
        mm_double_blocks_depth=2,
        mm_single_blocks_depth=4,
        rope_dim_list=[8, 12, 12],
        guidance_embed=True,
        attn_mode="torch",
        split_attn=False,
    )


def _hunyuan(folder: Path) -> list[str]:
    """Let the lengths be where the mask is; the engine has them on the current card, whatever there is."""

    def lengths(text_mask: torch.Tensor, img_len: int) -> torch.Tensor:
        longest, ends = text_mask.shape[1] + img_len, [0]
        for row, mask in enumerate(text_mask):
            ends += [int(mask.sum()) + img_len + row * longest, (row + 1) * longest]
        return torch.tensor(ends, dtype=torch.int32, device=text_mask.device)

    models: Any = _module("hunyuan_model.models")
    models.get_cu_seqlens = lengths
    return []


def _hunyuan_1_5_model(task_type: str) -> Any:
    """Its sizes are written in its class, so they are overridden there."""

    def fixed(value: Any) -> property:
        return property(lambda self: value, lambda self, published: None)

    published = _module("hunyuan_video_1_5.hunyuan_video_1_5_models").HunyuanVideo_1_5_DiffusionTransformer
    sizes = {"hidden_size": fixed(64), "heads_num": fixed(2), "rope_dim_list": fixed([8, 12, 12])}
    model = type("Tiny", (published,), sizes)(task_type=task_type, attn_mode="torch")
    model.double_blocks = model.double_blocks[:NUM_BLOCKS]
    return model


def _hunyuan_1_5(folder: Path) -> list[str]:
    """The trainer looks into the file for its number format."""
    file = folder / "dit.safetensors"
    save_file({"double_blocks.0.img_attn_k.weight": torch.zeros(1)}, file)
    return ["--dit", str(file)]


def _kandinsky_model(*, from_picture: bool) -> Any:
    return (
        _module("kandinsky5.models.dit")
        .DiffusionTransformer3D(
            in_visual_dim=16,
            in_text_dim=48,
            in_text_dim2=32,
            time_dim=32,
            out_visual_dim=16,
            patch_size=(1, 2, 2),
            model_dim=64,
            ff_dim=128,
            num_text_blocks=1,
            num_visual_blocks=NUM_BLOCKS,
            axes_dims=(8, 12, 12),
            visual_cond=from_picture,
            attention_engine="sdpa",
        )
        .to(torch.bfloat16)
    )


def _ideogram_model() -> Any:
    ideogram = _module("ideogram4.ideogram4_model")
    sizes: dict[str, Any] = {
        "emb_dim": 64,
        "num_heads": 2,
        "num_layers": NUM_BLOCKS,
        "intermediate_size": 128,
        "adanln_dim": 32,
        "llm_features_dim": 48,
        "mrope_section": (6, 5, 5),
    }
    return ideogram.Ideogram4Transformer(ideogram.Ideogram4Config(**sizes))


def _framepack_model() -> Any:
    return _module("frame_pack.hunyuan_video_packed").HunyuanVideoTransformer3DModelPacked(
        num_attention_heads=1,
        attention_head_dim=32,
        num_layers=2,
        num_single_layers=4,
        num_refiner_layers=1,
        text_embed_dim=48,
        pooled_projection_dim=32,
        rope_axes_dim=(8, 12, 12),
        has_image_proj=True,
        image_proj_dim=24,
        has_clean_x_embedder=True,
        attn_mode="torch",
        split_attn=True,
    )


_SECTION_FRAMES, _BEFORE = 3, (2, 2, 16)


def _framepack_cache(i: int) -> tuple[Tensors, Tensors]:
    """One section of a video, with the frames before it as they are, at a half and at a quarter of their size."""
    before = zip(("clean", "clean_2x", "clean_4x"), _BEFORE, strict=True)
    section = {f"latents_{_SECTION_FRAMES}x8x8": randn(16, _SECTION_FRAMES, 8, 8, seed=i)}
    section |= {f"latents_{name}_{num}x8x8": randn(16, num, 8, 8, seed=40 + i + num) for name, num in before}
    section["image_embeddings"] = randn(9, 24, seed=30 + i)
    start = 1
    for name, num in zip(("latent", "clean_latent", "clean_latent_2x", "clean_latent_4x"), (3, *_BEFORE), strict=True):
        section[f"{name}_indices"] = torch.arange(start, start + num)
        start += num
    mask = torch.arange(8) < 6 + i % 2
    return section, {
        "llama_vec": randn(8, 48, seed=10 + i),
        "llama_attention_mask": mask,
        "clip_l_pooler": randn(32, seed=20 + i),
    }


_SHIFT = ("--timestep_sampling", "shift", "--discrete_flow_shift", "2.2", "--weighting_scheme", "none")
_PICTURE = "latents_1x8x8"


def _hunyuan_1_5_cache(i: int) -> tuple[Tensors, Tensors]:
    return {_PICTURE: randn(32, 1, 8, 8, seed=i)}, {
        "varlen_vl_embed": randn(6 + i % 2, 3584, seed=10 + i),
        "varlen_byt5_embed": randn(4 + i % 2, 1472, seed=20 + i),
    }


def _hunyuan_1_5_cache_from_picture(i: int) -> tuple[Tensors, Tensors]:
    latents, text = _hunyuan_1_5_cache(i)
    latents |= {"latents_image_1x8x8": randn(33, 1, 8, 8, seed=30 + i), "siglip": randn(9, 1152, seed=40 + i)}
    return latents, text


_HUNYUAN_1_5: dict[str, Any] = {
    "script": "hv_1_5",
    "trainer": "HunyuanVideo15NetworkTrainer",
    "setup": "hv1_5_setup_parser",
    "architecture": "hv15",
    "architecture_name": "hunyuan_video_1_5",
    "network_module": "networks.lora_hv_1_5",
    "block_lists": ("double_blocks",),
    "cache": _hunyuan_1_5_cache,
    "prepare": _hunyuan_1_5,
    "settle": {"dit_dtype": "bfloat16", "vae_dtype": "float16"},
}


def _kandinsky_cache(i: int) -> tuple[Tensors, Tensors]:
    return {_PICTURE: randn(16, 1, 8, 8, seed=i)}, {
        "text_embeds": randn(8, 48, seed=10 + i),
        "pooled_embed": randn(32, seed=20 + i),
        "attention_mask": torch.ones(8, dtype=torch.bool),
    }


def _kandinsky_cache_from_picture(i: int) -> tuple[Tensors, Tensors]:
    _, text = _kandinsky_cache(i)
    return {
        name: randn(16, 2, 8, 8, seed=seed + i) for name, seed in (("latents_2x8x8", 0), ("latents_image_2x8x8", 30))
    }, text


_KANDINSKY: dict[str, Any] = {
    "script": "kandinsky5",
    "trainer": "Kandinsky5NetworkTrainer",
    "setup": "kandinsky5_setup_parser",
    "architecture": "k5",
    "architecture_name": "kandinsky5",
    "network_module": "networks.lora_kandinsky",
    "block_lists": ("visual_transformer_blocks",),
    "cache": _kandinsky_cache,
    "settle": {"dit_dtype": None, "vae_dtype": "bfloat16"},
    "mixed_precision": "bf16",
}

FAMILIES: dict[str, TinyFamily] = {
    "wan21": TinyFamily(prepare=_wan21, **_WAN),
    "wan22": TinyFamily(prepare=_wan22, **_WAN),
    "wan21-i2v": TinyFamily(prepare=_wan21_i2v, **{**_WAN, "cache": _wan_cache_from_picture}),
    "wan22-i2v": TinyFamily(prepare=_wan22_i2v, **{**_WAN, "cache": _wan_cache_from_picture}),
    "klein": TinyFamily(
        script="flux_2",
        trainer="Flux2NetworkTrainer",
        setup="flux2_setup_parser",
        architecture="f2k9b",
        architecture_name="flux_2_klein_9b",
        network_module="networks.lora_flux_2",
        block_lists=("double_blocks", "single_blocks"),
        num_blocks=6,
        cache=lambda i: ({"latents_4x4": randn(128, 4, 4, seed=i)}, {"ctx_vec": randn(16, 48, seed=10 + i)}),
        prepare=_klein,
        options=("--timestep_sampling", "flux2_shift", "--weighting_scheme", "none"),
        settle={"dit_dtype": None, "vae_dtype": "float32"},
        mixed_precision="bf16",
    ),
    "qwen": TinyFamily(
        script="qwen_image",
        trainer="QwenImageNetworkTrainer",
        setup="qwen_image_setup_parser",
        architecture="qi",
        architecture_name="qwen_image",
        network_module="networks.lora_qwen_image",
        block_lists=("transformer_blocks",),
        cache=lambda i: (
            {_PICTURE: randn(16, 1, 8, 8, seed=i)},
            {"varlen_vl_embed": randn(5 + i % 3, 48, seed=10 + i)},
        ),
        model=_qwen_model,
        options=_SHIFT,
        settle={"dit_dtype": "bfloat16", "vae_dtype": "bfloat16", "is_edit": False, "is_layered": False},
    ),
    "qwen-edit": TinyFamily(
        script="qwen_image",
        trainer="QwenImageNetworkTrainer",
        setup="qwen_image_setup_parser",
        architecture="qie",
        architecture_name="qwen_image_edit",
        network_module="networks.lora_qwen_image",
        block_lists=("transformer_blocks",),
        cache=lambda i: (
            {_PICTURE: randn(16, 1, 8, 8, seed=i), "latents_control_0_1x8x8": randn(16, 1, 8, 8, seed=30 + i)},
            {"varlen_vl_embed": randn(5 + i % 3, 48, seed=10 + i)},
        ),
        model=lambda: _qwen_model(zero_cond_t=True),
        options=("--model_version", "edit-2511", *_SHIFT),
        settle={"dit_dtype": "bfloat16", "vae_dtype": "bfloat16", "is_edit": True, "is_layered": False},
    ),
    "krea2": TinyFamily(
        script="krea2",
        trainer="Krea2NetworkTrainer",
        setup="krea2_setup_parser",
        architecture="kr2",
        architecture_name="krea2",
        network_module="networks.lora_krea2",
        block_lists=("blocks",),
        cache=lambda i: (
            {_PICTURE: randn(16, 1, 8, 8, seed=i)},
            {"varlen_krea2_vl_embed": randn(5 + i % 3, 2, 48, seed=10 + i)},
        ),
        model=_krea2_model,
        options=_SHIFT,
        settle={"dit_dtype": "bfloat16", "vae_dtype": "bfloat16"},
    ),
    "zimage": TinyFamily(
        script="zimage",
        trainer="ZImageNetworkTrainer",
        setup="zimage_setup_parser",
        architecture="zi",
        architecture_name="z_image",
        network_module="networks.lora_zimage",
        block_lists=("layers",),
        cache=lambda i: (
            {_PICTURE: randn(16, 8, 8, seed=i)},
            {"varlen_llm_embed": randn(16, 48, seed=10 + i)},
        ),
        model=_zimage_model,
        options=_SHIFT,
    ),
    "kontext": TinyFamily(
        script="flux_kontext",
        trainer="FluxKontextNetworkTrainer",
        setup="flux_kontext_setup_parser",
        architecture="fk",
        architecture_name="flux_kontext",
        network_module="networks.lora_flux",
        block_lists=("double_blocks", "single_blocks"),
        num_blocks=6,
        cache=lambda i: (
            {_PICTURE: randn(16, 8, 8, seed=i), "latents_control_1x8x8": randn(16, 8, 8, seed=30 + i)},
            {"t5_vec": randn(8, 48, seed=10 + i), "clip_l_pooler": randn(32, seed=20 + i)},
        ),
        model=_kontext_model,
        options=_SHIFT,
        settle={"dit_dtype": None, "vae_dtype": "bfloat16"},
    ),
    "hunyuan": TinyFamily(
        script="hv",
        trainer="HunyuanVideoNetworkTrainer",
        setup="hv_setup_parser",
        architecture="hv",
        architecture_name="hunyuan_video",
        network_module="musubi_tuner.networks.lora",
        block_lists=("double_blocks", "single_blocks"),
        num_blocks=6,
        cache=lambda i: (
            {_PICTURE: randn(16, 1, 8, 8, seed=i)},
            {
                "llm": randn(8, 48, seed=10 + i),
                "llm_mask": torch.ones(8, dtype=torch.bool),
                "clipL": randn(32, seed=20 + i),
            },
        ),
        model=_hunyuan_model,
        prepare=_hunyuan,
        options=("--timestep_sampling", "shift", "--discrete_flow_shift", "7.0"),
        settle={"fp8_scaled": False},
    ),
    "hunyuan-1.5": TinyFamily(
        model=partial(_hunyuan_1_5_model, "t2v"), options=("--task", "t2v", *_SHIFT), **_HUNYUAN_1_5
    ),
    "hunyuan-1.5-i2v": TinyFamily(
        model=partial(_hunyuan_1_5_model, "i2v"),
        options=("--task", "i2v", *_SHIFT),
        **{**_HUNYUAN_1_5, "cache": _hunyuan_1_5_cache_from_picture},
    ),
    "framepack": TinyFamily(
        script="fpack",
        trainer="FramePackNetworkTrainer",
        setup="framepack_setup_parser",
        architecture="fp",
        architecture_name="framepack",
        network_module="networks.lora_framepack",
        block_lists=("transformer_blocks", "single_transformer_blocks"),
        num_blocks=6,
        cache=_framepack_cache,
        model=_framepack_model,
        options=("--split_attn", *_SHIFT),
        settle={"dit_dtype": "bfloat16", "vae_dtype": "float16", "sample_solver": "unipc"},
    ),
    "ideogram4": TinyFamily(
        script="ideogram4",
        trainer="Ideogram4NetworkTrainer",
        setup="ideogram4_setup_parser",
        architecture="i4",
        architecture_name="ideogram4",
        network_module="networks.lora_ideogram4",
        block_lists=("layers",),
        cache=lambda i: (
            {"latents_1x4x4": randn(128, 4, 4, seed=i)},
            {"varlen_i4_llm_features": randn(5 + i % 3, 48, seed=10 + i)},
        ),
        model=_ideogram_model,
        options=_SHIFT,
        settle={"dit_dtype": "float32", "vae_dtype": "bfloat16"},
    ),
    "kandinsky5": TinyFamily(
        model=partial(_kandinsky_model, from_picture=False),
        options=("--task", "k5-pro-t2v-5s-sd", *_SHIFT),
        **_KANDINSKY,
    ),
    "kandinsky5-i2v": TinyFamily(
        model=partial(_kandinsky_model, from_picture=True),
        # With the first picture alone it draws a random number between those of two batches, and then all are other.
        options=("--task", "k5-pro-i2v-5s-sd", "--i2v_mode", "first_last", *_SHIFT),
        **{**_KANDINSKY, "cache": _kandinsky_cache_from_picture},
    ),
}


def write_caches(family: TinyFamily, folder: Path, *, num: int, batch_size: int) -> Path:
    """Write the caches of some pictures, and the dataset file that names them."""
    cache = folder / f"cache{num}x{batch_size}"
    cache.mkdir()
    for i in range(num):
        latents, text = family.cache(i)
        (cache / f"a{i}.png").touch()
        facts = {"architecture": family.architecture_name, "format_version": "1.0.1"}
        stem = f"a{i}"
        sized = cache / f"{stem}_0064x0064_{family.architecture}.safetensors"
        save_file(_formatted(latents), sized, metadata={**facts, "width": "64", "height": "64"})
        said = cache / f"{stem}_{family.architecture}_te.safetensors"
        save_file(_formatted(text), said, metadata={**facts, "caption1": "a test"})
        (cache / f"{stem}.txt").write_text("a test", encoding="utf-8")
    config = cache / "dataset.toml"
    config.write_text(
        f'[general]\nresolution = [64, 64]\ncaption_extension = ".txt"\nbatch_size = {batch_size}\n'
        f"enable_bucket = false\n\n[[datasets]]\nimage_directory = '{cache}'\ncache_directory = '{cache}'\n"
        "num_repeats = 1\n",
        encoding="utf-8",
    )
    return config


def _formatted(tensors: Tensors) -> Tensors:
    """With the number format in each key, except that of masks."""
    return {
        key if key.endswith("_mask") else f"{key}_{str(tensor.dtype).removeprefix('torch.')}": tensor
        for key, tensor in tensors.items()
    }
