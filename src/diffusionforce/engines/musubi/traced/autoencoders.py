"""The engine's autoencoders, called as its programs call them: to prepare pictures, and to decode samples.

Each family's programs have habits of their own (number format, mixed precision, tiles), and those decide how much
memory it takes. Everything is for one picture or video: so many are prepared at a time.

Letters: F frames, H and W height and width in pixels, f, h and w the same of a latent, C its channels.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.engines.musubi.traced.diffusers_parts import DIFFUSERS, allowing_all


@dataclass(frozen=True, kw_only=True)
class Autoencoder:
    """One autoencoder."""

    make: Callable[[Path], nn.Module]
    """Makes it in its number format, from the engine's folder on the import path."""
    make_to_decode: Callable[[Path], nn.Module] | None = None
    """The same where the programs make it differently for samples."""
    encode: Callable[[Any, torch.Tensor], Any]
    """Gives the latent of pixels (1, 3, F, H, W) in its number format."""
    decode: Callable[[Any, torch.Tensor], Any]
    """Gives the pixels of a latent (1, C, f, h, w)."""
    channels: int = 16
    pixels: int = 8
    frames: int = 4
    """Of a number of the latent, along a side and in time."""
    precision: torch.dtype = torch.bfloat16
    latent_precision: torch.dtype = torch.float32
    """Of what is decoded."""
    autocast: bool = False
    """Whether the programs call it in mixed precision."""
    convolutions_share: float = 0.1
    """What convolutions work in on a card, as a share of what the autoencoder holds: how they are computed, and in how
    much memory, is decided there when they run. As seen on an H200 (docs/performance.md)."""

    def pixels_of(self, *, num_frames: int, height: int, width: int) -> torch.Tensor:
        """(1, 3, F, H, W)"""
        return torch.empty(1, 3, num_frames, height, width, dtype=self.precision)

    def latent_of(self, *, num_frames: int, height: int, width: int) -> torch.Tensor:
        """(1, C, f, h, w)"""
        frames = (num_frames - 1) // self.frames + 1
        size = (1, self.channels, frames, height // self.pixels, width // self.pixels)
        return torch.empty(size, dtype=self.latent_precision)

    def as_called(self) -> AbstractContextManager[object]:
        """As the programs call it."""
        return torch.autocast("cuda", dtype=self.precision) if self.autocast else nullcontext()


def _once_for_each_shape(module: nn.Module) -> None:
    """Let a module that works on many tiles of one shape run for the first, and only give the others' results."""
    run: Callable[[torch.Tensor], torch.Tensor] = module.forward
    shapes: dict[torch.Size, tuple[torch.Size, torch.dtype]] = {}

    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.shape not in shapes:
            result = run(x)
            shapes[x.shape] = result.shape, result.dtype
            return result
        shape, dtype = shapes[x.shape]
        return torch.empty(shape, dtype=dtype)

    module.forward = forward


def _in_tiles(model: Any) -> None:
    """Trace a model that works in tiles: they are all alike, and blending them in place takes no memory."""
    for part in (model.encoder, model.decoder):
        _once_for_each_shape(part)
    model.blend_h = model.blend_v = lambda _before, tile, _extent: tile


def _wan(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.wan.modules.vae", source=source)
    downsample = [False, True, True]
    return engine.WanVAE_(dim=96, z_dim=16, temperal_downsample=downsample).to(torch.bfloat16)


_NO_SCALE = [0.0, 1.0]
"""The scales of Wan's numbers are a few bytes."""


def _flux2(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.flux_2.flux2_models", source=source)
    return engine.AutoEncoder(engine.AutoEncoderParams()).to(torch.float32)


def _ideogram(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.ideogram4.ideogram4_autoencoder", source=source)
    return engine.AutoEncoder(engine.AutoEncoderParams()).to(torch.bfloat16)


def _flux(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.flux.flux_models", source=source)
    return engine.AutoEncoder(engine.configs_flux_dev_context.ae_params).to(torch.float32)


def _qwen_image(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.qwen_image.qwen_image_autoencoder_kl", source=source)
    numbers = {"latents_mean": [0.0] * 16, "latents_std": [1.0] * 16}
    sizes = {"base_dim": 96, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_scales": []}
    model = engine.AutoencoderKLQwenImage(**sizes, **numbers, temperal_downsample=[False, True, True], dropout=0.0)
    return model.to(torch.bfloat16)


def _z_image(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.zimage.zimage_autoencoder", source=source)
    published = engine.zimage_config
    return engine.AutoencoderKL(
        block_out_channels=(128, 256, 512, 512),
        layers_per_block=2,
        latent_channels=published.ZIMAGE_VAE_LATENT_CHANNELS,
        norm_num_groups=published.DEFAULT_VAE_NORM_NUM_GROUPS,
        use_quant_conv=False,
        use_post_quant_conv=False,
    ).to(torch.float32)


def _hunyuan_video_1_5(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.hunyuan_video_1_5.hunyuan_video_1_5_vae", source=source)
    model = engine.AutoencoderKLConv3D(
        in_channels=3,
        out_channels=3,
        latent_channels=engine.VAE_LATENT_CHANNELS,
        block_out_channels=(128, 256, 512, 1024, 1024),
        layers_per_block=2,
        ffactor_spatial=16,
        ffactor_temporal=4,
        sample_size=128,
        sample_tsize=64,
    ).to(torch.float16)
    model.enable_tiling()
    _in_tiles(model)
    return model


def _hunyuan(source: Path, *, tile: int) -> nn.Module:
    """`tile`: pixels along a side of the tiles in which it works."""
    engine: Any = import_light("musubi_tuner.hunyuan_model.autoencoder_kl_causal_3d", source=source, without=DIFFUSERS)
    middle: Any = type(engine.EncoderCausal3D(mid_block_add_attention=False).mid_block)
    middle.forward.__globals__["prepare_causal_attention_mask"] = allowing_all
    model = engine.AutoencoderKLCausal3D(
        down_block_types=("DownEncoderBlockCausal3D",) * 4,
        up_block_types=("UpDecoderBlockCausal3D",) * 4,
        block_out_channels=(128, 256, 512, 512),
        layers_per_block=2,
        latent_channels=16,
        sample_size=256,
    ).to(torch.float16)
    model.set_chunk_size_for_causal_conv_3d(32)
    model.enable_spatial_tiling(True)
    model.tile_sample_min_size, model.tile_latent_min_size = tile, tile // 8
    _in_tiles(model)
    return model


def _framed(pixels: torch.Tensor) -> torch.Tensor:
    """(1, C, H, W) of a video of one frame"""
    return pixels[:, :, 0]


AUTOENCODERS: dict[str, Autoencoder] = {
    "wan": Autoencoder(
        make=_wan,
        encode=lambda model, pixels: model.encode(pixels, _NO_SCALE).float(),
        decode=lambda model, latent: model.decode(latent, _NO_SCALE).float().clamp_(-1, 1),
        autocast=True,
    ),
    "flux2": Autoencoder(
        make=_flux2,
        encode=lambda model, pixels: model.encode(_framed(pixels)),
        decode=lambda model, latent: model.decode(_framed(latent)),
        channels=128,
        pixels=16,
        precision=torch.float32,
    ),
    "ideogram4": Autoencoder(
        make=_ideogram,
        encode=lambda model, pixels: model.encode(_framed(pixels)),
        decode=lambda model, latent: model.decoder(_framed(latent)).float(),
        channels=32,
        latent_precision=torch.bfloat16,
    ),
    "flux": Autoencoder(
        make=_flux,
        encode=lambda model, pixels: model.encode(_framed(pixels)),
        decode=lambda model, latent: model.decode(_framed(latent)),
        precision=torch.float32,
    ),
    "qwen_image": Autoencoder(
        make=_qwen_image,
        encode=lambda model, pixels: model.encode_pixels_to_latents(pixels),
        decode=lambda model, latent: model.decode_to_pixels(latent).to(torch.float32),
        convolutions_share=0.4,
    ),
    "z_image": Autoencoder(
        make=_z_image,
        encode=lambda model, pixels: model.encode(_framed(pixels)).mode(),
        decode=lambda model, latent: model.decode(_framed(latent)),
        precision=torch.float32,
        convolutions_share=0.2,
    ),
    "hunyuan_video": Autoencoder(
        make=lambda source: _hunyuan(source, tile=256),
        make_to_decode=lambda source: _hunyuan(source, tile=128),
        encode=lambda model, pixels: model.encode(pixels).latent_dist.sample(),
        decode=lambda model, latent: (model.decode(latent, return_dict=False)[0] / 2 + 0.5).clamp(0, 1),
        precision=torch.float16,
        latent_precision=torch.float16,
    ),
    "kandinsky5": Autoencoder(
        make=lambda source: _hunyuan(source, tile=192),
        make_to_decode=lambda source: _hunyuan(source, tile=192).to(torch.bfloat16),
        encode=lambda model, pixels: model.encode(pixels).latent_dist.sample(),
        decode=lambda model, latent: (model.decode(latent, return_dict=False)[0].clamp(-1, 1) + 1) * 127.5,
        precision=torch.float16,
        latent_precision=torch.bfloat16,
    ),
    "hunyuan_video_1_5": Autoencoder(
        make=_hunyuan_video_1_5,
        encode=lambda model, pixels: model.encode(pixels)[0].mode(),
        decode=lambda model, latent: model.decode(latent)[0],
        convolutions_share=0.35,
        channels=32,
        pixels=16,
        precision=torch.float16,
        autocast=True,
    ),
}
"""By the name under which a family's record of side models has it."""
