"""What HunyuanVideo's autoencoder takes from diffusers, as far as its memory is concerned.

The library takes seconds to load and brings the text encoders' with it; of it one layer is used here.
"""

import inspect
import logging
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class Attention(nn.Module):
    """One head of attention among the numbers of a picture, with a group norm before it."""

    def __init__(self, width: int, *, norm_num_groups: int, **_other: Any) -> None:
        super().__init__()
        self.group_norm = nn.GroupNorm(norm_num_groups, width)
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width) for _ in range(3))
        self.to_out = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x: torch.Tensor, *, attention_mask: torch.Tensor, **_other: Any) -> torch.Tensor:
        """(B, tokens, width) -> the same"""
        normed = self.group_norm(x.transpose(1, 2)).transpose(1, 2)
        q, k, v = (layer(normed).unsqueeze(1) for layer in (self.to_q, self.to_k, self.to_v))
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask.unsqueeze(1))
        return self.to_out[0](found.squeeze(1)) + x


def allowing_all(num_frames: int, num_each: int, dtype: torch.dtype, device: Any, batch_size: int) -> torch.Tensor:
    """A mask of (batch, tokens, tokens) of which a batch shares the numbers; theirs is filled row by row."""
    num_tokens = num_frames * num_each
    return torch.empty(num_tokens, num_tokens, dtype=dtype, device=device).unsqueeze(0).expand(batch_size, -1, -1)


def _with_config(init: Callable[..., None]) -> Callable[..., None]:
    """Remember what an object is made with."""
    defaults = {name: one.default for name, one in inspect.signature(init).parameters.items() if name != "self"}

    def wrapped(self: Any, **settings: Any) -> None:
        object.__setattr__(self, "config", SimpleNamespace(**{**defaults, **settings}))
        init(self, **settings)

    return wrapped


DIFFUSERS: Mapping[str, Mapping[str, Any]] = {
    "diffusers": {},
    "diffusers.configuration_utils": {"register_to_config": _with_config},
    "diffusers.models": {},
    "diffusers.models.activations": {"get_activation": lambda _name: nn.SiLU()},
    "diffusers.models.attention_processor": {"Attention": Attention},
    "diffusers.models.modeling_outputs": {"AutoencoderKLOutput": SimpleNamespace},
    "diffusers.models.modeling_utils": {"ModelMixin": nn.Module},
    "diffusers.models.normalization": {},
    "diffusers.utils": {
        "BaseOutput": object,
        "is_torch_version": lambda *_words: True,
        "logging": SimpleNamespace(get_logger=logging.getLogger),
    },
    "diffusers.utils.accelerate_utils": {"apply_forward_hook": lambda method: method},
    "diffusers.utils.torch_utils": {"randn_tensor": lambda shape, **_other: torch.empty(shape, dtype=torch.float16)},
}
"""For `import_light`."""
