"""What samples of the tiny families need beside the transformer: said prompts, and small autoencoders of their classes.

The engine's own `load_vae` and `do_inference` run; only what would read a file is replaced.
"""

import importlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from PIL import Image
from tests.support.musubi_families import randn, without_zeros

Said = dict[str, Any]
TEXTS = ("a cat", "a black dog")


@dataclass(frozen=True, kw_only=True)
class TinySamples:
    """How one family makes samples."""

    said: Callable[[int], Said]
    """What text encoders say to a prompt of so many letters, in the trainer's own names."""
    loader: str
    """Function of the engine that reads the autoencoder: module, a colon, name."""
    autoencoder: Callable[[], Any]
    """What it gives instead."""
    frames: tuple[int, int] = (1, 1)
    """Of the two samples; 1 is a picture."""
    options: tuple[str, ...] = ()
    pixels: int = 0
    """Of a number of a latent along a side; 0 for autoencoders that work in tiles by themselves."""


def _engine(name: str) -> Any:
    return importlib.import_module(f"musubi_tuner.{name}")


def _filled(make: Callable[..., torch.nn.Module], *args: Any, **sizes: Any) -> Any:
    torch.manual_seed(0)
    return without_zeros(make(*args, **sizes)).eval()


def _wan() -> Any:
    engine = _engine("wan.modules.vae")
    sizes = {"dim_mult": [1, 2, 4, 4], "num_res_blocks": 1, "attn_scales": [], "dropout": 0.0}
    vae = object.__new__(engine.WanVAE)
    vae.dtype, vae.device = torch.bfloat16, "cpu"
    vae.mean, vae.std = torch.zeros(16), torch.ones(16)
    vae.scale = [vae.mean, 1.0 / vae.std]
    model = _filled(engine.WanVAE_, dim=8, z_dim=16, temperal_downsample=[False, True, True], **sizes)
    vae.model = model.to(torch.bfloat16).requires_grad_(False)
    return vae


def _flux2() -> Any:
    engine = _engine("flux_2.flux2_models")
    return _filled(engine.AutoEncoder, engine.AutoEncoderParams(ch=32, num_res_blocks=1))


def _flux() -> Any:
    engine = _engine("flux.flux_models")
    sizes = {"resolution": 64, "in_channels": 3, "ch": 32, "out_ch": 3, "ch_mult": [1, 1, 1, 1], "num_res_blocks": 1}
    return _filled(
        engine.AutoEncoder, engine.AutoEncoderParams(**sizes, z_channels=16, scale_factor=0.36, shift_factor=0.12)
    )


def _qwen_image() -> Any:
    numbers = {"latents_mean": [0.0] * 16, "latents_std": [1.0] * 16}
    sizes = {"base_dim": 8, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 1, "attn_scales": []}
    make = _engine("qwen_image.qwen_image_autoencoder_kl").AutoencoderKLQwenImage
    made = _filled(make, **sizes, **numbers, temperal_downsample=[False, True, True], dropout=0.0, input_channels=3)
    return made.to(torch.bfloat16)


def _z_image() -> Any:
    sizes = {"layers_per_block": 1, "latent_channels": 16, "norm_num_groups": 8, "block_out_channels": (8, 8, 16, 16)}
    make = _engine("zimage.zimage_autoencoder").AutoencoderKL
    return _filled(make, **sizes, use_quant_conv=False, use_post_quant_conv=False)


def _hunyuan() -> Any:
    made = _filled(
        _engine("hunyuan_model.autoencoder_kl_causal_3d").AutoencoderKLCausal3D,
        down_block_types=("DownEncoderBlockCausal3D",) * 4,
        up_block_types=("UpDecoderBlockCausal3D",) * 4,
        block_out_channels=(8, 8, 16, 16),
        norm_num_groups=8,
        layers_per_block=1,
        latent_channels=16,
        sample_size=64,
        scaling_factor=0.476986,
    )
    return made.to(torch.float16)


def _hunyuan_1_5() -> Any:
    engine = _engine("hunyuan_video_1_5.hunyuan_video_1_5_vae")
    made = _filled(
        engine.AutoencoderKLConv3D,
        in_channels=3,
        out_channels=3,
        latent_channels=engine.VAE_LATENT_CHANNELS,
        block_out_channels=(32, 32, 32, 64, 64),
        layers_per_block=1,
        ffactor_spatial=16,
        ffactor_temporal=4,
        sample_size=64,
        sample_tsize=16,
        scaling_factor=engine.VAE_SCALING_FACTOR,
    )
    return made.to(torch.float16)


def _ideogram() -> Any:
    engine = _engine("ideogram4.ideogram4_autoencoder")
    made = _filled(engine.AutoEncoder, engine.AutoEncoderParams(ch=32, num_res_blocks=1))
    return made.to(torch.bfloat16)


class KandinskyEncoder:
    """Stands for the two text encoders, which Kandinsky 5 loads for every sample."""

    loaded: ClassVar[list[str]] = []
    """The devices that they were loaded on."""

    def __init__(self, _conf: Any, device: Any = "cpu", quantized_qwen: bool = False) -> None:
        self.loaded.append(str(device))
        self._device = torch.device(device)

    def encode(self, texts: list[str], type_of_content: str = "image") -> tuple[Said, torch.Tensor, torch.Tensor]:
        seed = len(texts[0]) + len(type_of_content)
        said = {"text_embeds": randn(6, 48, seed=seed), "pooled_embed": randn(1, 32, seed=seed)}
        mask = torch.ones(1, 6, dtype=torch.bool).to(self._device)
        return {key: tensor.to(self._device) for key, tensor in said.items()}, torch.tensor([0, 6]), mask

    def to(self, _device: Any) -> "KandinskyEncoder":
        return self


def _picture() -> str:
    """A picture to begin with."""
    path = Path(tempfile.mkdtemp()) / "first.png"
    Image.new("RGB", (64, 64), (200, 90, 30)).save(path)
    return str(path)


def _twice(make: Callable[[int], Said]) -> Callable[[int], Said]:
    """The same of a negative prompt."""

    def said(seed: int) -> Said:
        negative = {f"negative_{name}": value for name, value in make(seed + 100).items()}
        return {**make(seed), **negative, "negative_prompt": "bad"}

    return said


def _from_picture(seed: int) -> Said:
    """A clip that begins with a picture."""
    return {**_WAN.said(seed), "clip_embeds": randn(1, 257, 1280, seed=seed), "image_path": _picture()}


def _with_control(samples: "TinySamples") -> "TinySamples":
    """The same from a control picture, in the second of the two samples."""

    def said(length: int) -> Said:
        return {**samples.said(length), **({"control_image_path": [_picture()]} if length > len(TEXTS[0]) else {})}

    return replace(samples, said=said)


def _edit(length: int) -> Said:
    picture = randn(1, 3, 64, 64, seed=length).clamp(-1, 1)
    said = _twice(lambda seed: {"vl_embed": randn(1, 6, 48, seed=seed)})(length)
    return {**said, "control_image_path": ["read.png"], "control_image_tensors": [picture]}


def _mask(length: int) -> torch.Tensor:
    return torch.ones(1, length, dtype=torch.bool)


_QWEN_LOADER = "qwen_image.qwen_image_utils:load_vae"
_WAN = TinySamples(
    said=_twice(lambda seed: {"t5_embeds": randn(6, 4096, seed=seed)}),
    loader="wan_train_network:WanVAE",
    autoencoder=_wan,
    frames=(1, 5),
    pixels=8,
)
_KANDINSKY = TinySamples(
    said=lambda seed: {},
    loader="kandinsky5_train_network:build_vae",
    autoencoder=_hunyuan,
    frames=(1, 5),
)

SAMPLES: dict[str, TinySamples] = {
    "wan21": _WAN,
    "wan22": _WAN,
    "wan21-i2v": replace(_WAN, said=_from_picture),
    "wan22-i2v": replace(_WAN, said=_from_picture),
    "klein": _with_control(
        TinySamples(
            said=_twice(lambda seed: {"ctx_vec": randn(1, 16, 48, seed=seed)}),
            loader="flux_2.flux2_utils:load_ae",
            autoencoder=_flux2,
            pixels=16,
        )
    ),
    "qwen": TinySamples(
        said=_twice(lambda seed: {"vl_embed": randn(1, 6, 48, seed=seed)}),
        loader=_QWEN_LOADER,
        autoencoder=_qwen_image,
        pixels=8,
    ),
    "qwen-edit": TinySamples(said=_edit, loader=_QWEN_LOADER, autoencoder=_qwen_image, pixels=8),
    "krea2": TinySamples(
        said=_twice(lambda seed: {"krea2_vl_embed": randn(6, 2, 48, seed=seed)}),
        loader=_QWEN_LOADER,
        autoencoder=_qwen_image,
        pixels=8,
    ),
    "zimage": TinySamples(
        said=_twice(lambda seed: {"cap_feats": randn(1, 32, 48, seed=seed), "cap_mask": _mask(32)}),
        loader="zimage.zimage_autoencoder:load_autoencoder_kl",
        autoencoder=_z_image,
        pixels=8,
    ),
    "kontext": _with_control(
        TinySamples(
            said=lambda seed: {"t5_vec": randn(1, 8, 48, seed=seed), "clip_l_pooler": randn(1, 32, seed=seed)},
            loader="flux.flux_utils:load_ae",
            autoencoder=_flux,
            pixels=8,
        )
    ),
    "hunyuan": TinySamples(
        said=lambda seed: {
            "llm_embeds": randn(1, 8, 48, seed=seed),
            "llm_mask": _mask(8),
            "clipL_embeds": randn(1, 32, seed=seed),
        },
        loader="hv_train_network:hv_load_vae",
        autoencoder=_hunyuan,
        frames=(1, 5),
    ),
    "hunyuan-1.5": TinySamples(
        said=_twice(
            lambda seed: {
                "vl_embed": randn(1, 6, 3584, seed=seed),
                "vl_mask": _mask(6),
                "byt5_embed": randn(1, 4, 1472, seed=seed),
                "byt5_mask": _mask(4),
                "image_encoder_last_hidden_state": None,
            }
        ),
        loader="hunyuan_video_1_5.hunyuan_video_1_5_vae:load_vae_from_checkpoint",
        autoencoder=_hunyuan_1_5,
        frames=(1, 5),
    ),
    "framepack": TinySamples(
        said=lambda seed: {
            "llama_vec": randn(1, 8, 48, seed=seed),
            "llama_attention_mask": _mask(8),
            "clip_l_pooler": randn(1, 32, seed=seed),
            "image_encoder_last_hidden_state": randn(1, 9, 24, seed=seed),
            "image_path": _picture(),
        },
        loader="fpack_train_network:load_framepack_vae",
        autoencoder=_hunyuan,
        frames=(13, 13),
        options=("--latent_window_size", "3"),
    ),
    "hunyuan-1.5-i2v": TinySamples(
        said=_twice(
            lambda seed: {
                "vl_embed": randn(1, 6, 3584, seed=seed),
                "vl_mask": _mask(6),
                "byt5_embed": randn(1, 4, 1472, seed=seed),
                "byt5_mask": _mask(4),
                "image_encoder_last_hidden_state": randn(1, 9, 1152, seed=seed),
                "image_path": _picture(),
            }
        ),
        loader="hunyuan_video_1_5.hunyuan_video_1_5_vae:load_vae_from_checkpoint",
        autoencoder=_hunyuan_1_5,
        frames=(1, 5),
    ),
    "ideogram4": TinySamples(
        said=lambda seed: {
            "i4_llm_features": randn(6, 48, seed=seed),
            "i4_unconditional_llm_features": randn(4, 48, seed=seed + 1),
        },
        loader="ideogram4.ideogram4_utils:load_ideogram4_autoencoder",
        autoencoder=_ideogram,
        pixels=8,
        options=("--text_encoder", "none", "--sampler_preset", "V4_TURBO_12"),
    ),
    "kandinsky5": _KANDINSKY,
    "kandinsky5-i2v": replace(_KANDINSKY, said=lambda seed: {"image_path": _picture()}),
}


def prompts(samples: TinySamples) -> list[Said]:
    """Two prompts, as the trainers read them from a file."""
    return [
        {
            "enum": index,
            "prompt": text,
            "width": 64,
            "height": 64,
            "frame_count": samples.frames[index],
            "sample_steps": 2,
            "seed": 40 + index,
            **samples.said(len(text)),
        }
        for index, text in enumerate(TEXTS)
    ]


def put_in_place(name: str) -> None:
    """Let a family's trainer get the small autoencoder, and Kandinsky 5 the made-up encoder."""
    samples = SAMPLES[name]
    module, _, attribute = samples.loader.partition(":")

    def load(*_args: Any, **named: Any) -> Any:
        made, dtype = samples.autoencoder(), named.get("dtype", named.get("vae_dtype"))
        if dtype is not None:
            made.to(dtype)
        return (made, "", 8, 4) if attribute == "hv_load_vae" else made

    setattr(_engine(module), attribute, load)
    if name == "framepack":
        _engine("fpack_train_network").time = SimpleNamespace(sleep=lambda seconds: None)
    if name.startswith("kandinsky5"):
        _engine("kandinsky5_train_network").get_text_embedder = KandinskyEncoder


def speaking(name: str) -> Callable[[type[Any]], type[Any]]:
    """A family's trainer that has read its prompts already."""

    def change(trainer: type[Any]) -> type[Any]:
        class Speaking(trainer):
            def process_sample_prompts(self, args: Any, accelerator: Any, sample_prompts: str) -> list[Said]:
                return prompts(SAMPLES[name])

        return Speaking

    return change
