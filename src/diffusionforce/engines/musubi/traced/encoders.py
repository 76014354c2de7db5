"""Text and image encoders as the engine's programs call them when pictures, captions and sample prompts are prepared.

T5 and the CLIP of Wan are the engine's own classes. For those of a library see `language`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import torch
from torch import nn

from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.engines.musubi.traced.language import Decoder, DecoderSizes, Encoder, EncoderSizes
from diffusionforce.engines.musubi.traced.parts import WHOLE_ROW, with_8_bits

_TOKENIZERS = {"musubi_tuner.wan.modules.tokenizers": {}}
_MADE_LAYERS = 2
_FOR_CLIP = {**_TOKENIZERS, "torchvision": {}, "torchvision.transforms": {}}


@dataclass(frozen=True, kw_only=True)
class TextEncoder:
    """One encoder of captions."""

    make: Callable[[Path], nn.Module]
    """Makes it in its number format, from the engine's folder on the import path."""
    num_tokens: int = 512
    """Of a caption, with what the engine puts around it."""
    call: Callable[[Any, torch.Tensor], Any] = lambda module, ids: module(ids)

    def caption(self) -> torch.Tensor:
        """(1, T)"""
        return torch.empty(1, self.num_tokens, dtype=torch.long)


@dataclass(frozen=True, kw_only=True)
class ImageEncoder:
    """One encoder of pictures."""

    make: Callable[[Path], nn.Module]
    """As for captions."""
    side: int
    """Of what it reads, in pixels."""
    call: Callable[[Any, torch.Tensor], Any] = lambda module, picture: module(picture)

    def picture(self) -> torch.Tensor:
        """(1, 3, side, side)"""
        return torch.empty(1, 3, self.side, self.side, dtype=torch.float16)


def _t5(source: Path, *, num_layers: int = 24, **sizes: Any) -> nn.Module:
    """Only two layers are made: the others are as large, and nothing is kept of them."""
    # The module asks for the card that it is on when it is read, which opens one, or fails where there is none.
    with mock.patch.object(torch.cuda, "current_device", lambda: 0):
        engine: Any = import_light("musubi_tuner.wan.modules.t5", source=source, without=_TOKENIZERS)
    usual = {"dim": 4096, "dim_attn": 4096, "dim_ffn": 10240, "num_heads": 64, "num_buckets": 32}
    model = engine.T5Encoder(**{**usual, **sizes}, num_layers=_MADE_LAYERS)
    of_one = [parameter.shape for parameter in model.blocks[-1].parameters()]
    model.others = nn.ParameterList(torch.empty(shape) for shape in of_one * (num_layers - _MADE_LAYERS))
    return model.to(torch.bfloat16)


def _read_t5(module: Any, ids: torch.Tensor) -> Any:
    return module(ids, torch.empty(ids.shape, dtype=torch.long))


def _wan_clip(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.wan.modules.clip", source=source, without=_FOR_CLIP)
    return engine.clip_xlm_roberta_vit_h_14(return_transforms=False, return_tokenizer=False).to(torch.float16)


def _qwen3_vl_in_8_bits(source: Path) -> nn.Module:
    model = Decoder(_QWEN3_VL_8B).to(torch.bfloat16)
    return with_8_bits(model, targets=("layers.",), exclusions=(), source=source, numbers_a_scale=WHOLE_ROW)


def _made(sizes: DecoderSizes | EncoderSizes, precision: torch.dtype) -> Callable[[Path], nn.Module]:
    kind = Decoder if isinstance(sizes, DecoderSizes) else Encoder
    return lambda _source: kind(cast(Any, sizes)).to(precision)


# The engine ties the two matrices of words of both, whatever their files hold.
_QWEN3_4B = DecoderSizes(
    num_words=151936, width=2560, num_layers=36, feed_forward_width=9728, has_head_norms=True, is_tied=True
)
_QWEN3_8B = replace(_QWEN3_4B, width=4096, feed_forward_width=12288)
_QWEN2_5_VL = DecoderSizes(
    num_words=152064,
    width=3584,
    num_layers=28,
    feed_forward_width=18944,
    num_heads=28,
    num_shared=4,
    has_bias=True,
    other_numbers=676_550_144,
)
# With the layers for pictures, which nothing is given to.
_QWEN3_VL_4B = replace(_QWEN3_4B, other_numbers=415_347_712)
_QWEN3_VL_8B = replace(_QWEN3_8B, scores_words=False, keeps_keys=False)
_MISTRAL3 = DecoderSizes(
    num_words=131072,
    width=5120,
    num_layers=40,
    feed_forward_width=32768,
    keeps_keys=False,
    other_numbers=438_958_080,
)
_LLAMA = DecoderSizes(num_words=128320, width=4096, num_layers=32, feed_forward_width=14336)
_CLIP_L = EncoderSizes(width=768, num_layers=12, feed_forward_width=3072, num_heads=12, num_tokens=77, num_words=49408)
_SIGLIP = EncoderSizes(width=1152, num_layers=27, feed_forward_width=4304, num_heads=16, num_tokens=729, pooled=True)
_BYT5_SIZES = {"vocab": 384, "dim": 1472, "dim_attn": 384, "dim_ffn": 3584, "num_heads": 6, "num_layers": 12}

TEXT_ENCODERS: dict[str, TextEncoder] = {
    "umt5": TextEncoder(make=partial(_t5, vocab=256384, shared_pos=False), call=_read_t5),
    "t5": TextEncoder(make=partial(_t5, vocab=32128), call=_read_t5),
    "byt5": TextEncoder(make=partial(_t5, **_BYT5_SIZES), num_tokens=128, call=_read_t5),
    "clip_l": TextEncoder(make=_made(_CLIP_L, torch.float16), num_tokens=77),
    "qwen3_4b": TextEncoder(make=_made(_QWEN3_4B, torch.bfloat16)),
    "qwen3_4b_for_flux2": TextEncoder(make=_made(replace(_QWEN3_4B, keeps_keys=False), torch.bfloat16)),
    "qwen3_8b_for_flux2": TextEncoder(make=_made(replace(_QWEN3_8B, keeps_keys=False), torch.bfloat16)),
    "qwen2_5_vl": TextEncoder(make=_made(_QWEN2_5_VL, torch.bfloat16), num_tokens=512 + 34),
    "qwen2_5_vl_for_video": TextEncoder(make=_made(_QWEN2_5_VL, torch.bfloat16), num_tokens=512 + 108),
    "qwen2_5_vl_for_edit": TextEncoder(make=_made(_QWEN2_5_VL, torch.bfloat16), num_tokens=512 + 64 + 188),
    "qwen2_5_vl_for_kandinsky": TextEncoder(make=_made(_QWEN2_5_VL, torch.bfloat16), num_tokens=256 + 129),
    "qwen3_vl_4b": TextEncoder(make=_made(_QWEN3_VL_4B, torch.bfloat16), num_tokens=512 + 34),
    "qwen3_vl_8b_in_8_bits": TextEncoder(make=_qwen3_vl_in_8_bits),
    "mistral3": TextEncoder(make=_made(_MISTRAL3, torch.bfloat16)),
    "llama": TextEncoder(make=_made(_LLAMA, torch.float16), num_tokens=256 + 95),
    "llama_without_scores": TextEncoder(
        make=_made(replace(_LLAMA, scores_words=False), torch.float16), num_tokens=256 + 95
    ),
}
"""By the name under which a family's record of side models has it. Captions are padded to a fixed length by most; of
those that are not, hardly one is longer than 512."""

IMAGE_ENCODERS: dict[str, ImageEncoder] = {
    "wan_clip": ImageEncoder(
        make=_wan_clip, side=224, call=lambda model, picture: model.visual(picture, use_31_block=True)
    ),
    "siglip": ImageEncoder(make=_made(_SIGLIP, torch.float16), side=_SIGLIP.side),
}
