"""What a card keeps for the backward pass where the CPU's implementation of an operation keeps something else.

Fake tensors of the CPU run the real model code without a card, and most operations save the same tensors there as on a
card. Three that matter do not: attention on a card is one fused kernel that never holds the matrix of scores (unless it
is given no heads), RMS norm is one kernel instead of five, and dropout saves a mask of one byte a number. Mixed
precision differs too: autocast for the CPU leaves norms and losses in half precision that autocast for a card runs in
full. The stand-ins here make and save tensors of the sizes that the card's kernels make and save; what is in them is
never read.

Legend: B batch, H heads, N queries, M keys, E numbers a head.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

_IN_FULL_PRECISION = {
    F.layer_norm,
    torch.layer_norm,
    F.group_norm,
    torch.group_norm,
    F.mse_loss,
    F.l1_loss,
    F.smooth_l1_loss,
    F.huber_loss,
    F.cosine_similarity,
    F.softmax,
    torch.softmax,
    torch.Tensor.softmax,
    F.log_softmax,
    torch.log_softmax,
    torch.exp,
    torch.Tensor.exp,
    torch.log,
    torch.Tensor.log,
    torch.pow,
    torch.Tensor.pow,
    torch.Tensor.__pow__,
    torch.rsqrt,
    torch.Tensor.rsqrt,
    torch.reciprocal,
    torch.Tensor.reciprocal,
    torch.sum,
    torch.Tensor.sum,
    torch.norm,
    torch.Tensor.norm,
    torch.cumsum,
    torch.Tensor.cumsum,
}


_NUM_BACKWARD_KERNELS = 3
"""Of fused attention: row sums, gradients, and the conversion of those that were summed up in float32."""

_STOOD_IN_FOR = _IN_FULL_PRECISION | {
    F.scaled_dot_product_attention,
    F.rms_norm,
    torch.rms_norm,
    F.dropout,
    torch.dropout,
    F.normalize,
}

RMS_NORM_IN_FULL_PRECISION = torch.__version__ >= (2, 12)  # pyright: ignore[reportOperatorIssue]
"""From this PyTorch on autocast runs RMS norm in full precision too; before, it stayed in what it was given. Of a model
that norms queries and keys and keeps its activations, that is a seventh of all that is kept."""


class CardKernels(TorchFunctionMode):
    """Runs operations as a card would, as far as memory is concerned. For fake tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0
        """Multiplications and additions of attention so far, which no operation that runs here shows."""
        self.launches = 0
        """Kernels of attention and RMS norm so far, likewise."""
        self.moved_bytes = 0
        """What RMS norm's have read and written."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func not in _STOOD_IN_FOR:
            return func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            return self._attention(*args, **kwargs)
        if func in (F.rms_norm, torch.rms_norm):
            return _rms_norm(self, *args, **kwargs)
        if func in (F.dropout, torch.dropout):
            return _dropout(*args, **kwargs)
        if func is F.normalize:
            return _normalized(*args, **kwargs)
        if torch.is_autocast_enabled("cpu"):
            args = tuple(_in_full_precision(value) for value in args)
            kwargs = {name: _in_full_precision(value) for name, value in kwargs.items()}
        return func(*args, **kwargs)

    def _attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **_options: Any,
    ) -> torch.Tensor:
        if torch.is_autocast_enabled("cpu"):
            dtype = torch.get_autocast_dtype("cpu")
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        if query.dim() == 3:
            return _attention_step_by_step(query, key, value)
        return FusedAttention.apply(query, key, value, attn_mask, self)  # pyright: ignore[reportReturnType]


class FusedAttention(torch.autograd.Function):
    """Attention as the fused kernels do it: saves q, k, v, the result and one float a row."""

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        kernels: CardKernels,
    ) -> torch.Tensor:
        """(B, H, N, E), (B, H, M, E), (B, H, M, E), (B, H, N, M) -> (B, H, N, E)"""
        ctx.kernels, ctx.flops = kernels, 2 * query.numel() * key.shape[2] * 2
        kernels.flops += ctx.flops
        kernels.launches += 1
        result = _like_attention(query, query.shape[1], value.shape[-1])
        row_sums = torch.empty(query.shape[:-1], dtype=torch.float32, device=query.device)
        ctx.save_for_backward(query, key, value, mask, result, row_sums)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the inputs; queries' are summed up in float32 first."""
        query, key, value, _, _, row_sums = ctx.saved_tensors
        # Scores are computed again, then come four products of the forward's size: of 2.5 forwards in all.
        ctx.kernels.flops += ctx.flops * 5 // 2
        ctx.kernels.launches += _NUM_BACKWARD_KERNELS
        row_products = torch.empty_like(row_sums)
        summed = torch.empty(query.shape, dtype=torch.float32, device=query.device)
        made = [_like_attention(query, part.shape[1], part.shape[-1], part.shape[2]) for part in (query, key, value)]
        del row_products, summed
        return (*made, None, None)


class FusedRmsNorm(torch.autograd.Function):
    """RMS norm in one kernel: saves its input, its weight and one float a row."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor | None, num_axes: int, kernels: CardKernels
    ) -> torch.Tensor:
        """Normalise the last `num_axes` axes of `x`, of any shape."""
        ctx.kernels = kernels
        kernels.launches += 1
        kernels.moved_bytes += 2 * x.numel() * x.itemsize
        scale = torch.empty(x.shape[: x.dim() - num_axes], dtype=torch.float32, device=x.device)
        ctx.save_for_backward(x, weight, scale)
        return torch.empty_like(x, memory_format=torch.contiguous_format)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the input and the weight."""
        x, weight, _ = ctx.saved_tensors
        needs_x, needs_weight, _, _ = ctx.needs_input_grad
        ctx.kernels.launches += needs_x + needs_weight
        ctx.kernels.moved_bytes += (3 * needs_x + 2 * needs_weight) * x.numel() * x.itemsize
        return (
            torch.empty_like(x, memory_format=torch.contiguous_format) if needs_x else None,
            torch.empty_like(weight) if needs_weight else None,
            None,
            None,
        )


@contextmanager
def autocast_for_cards() -> Iterator[None]:
    """Let autocast work on tensors of the CPU, on which code is traced, as it would on a card's.

    A card's takes float32 as well, and then casts half-precision weights up; the CPU's would warn and do nothing.
    """
    original = torch.autocast.__init__

    @functools.wraps(original)
    def for_cpu(self: Any, device_type: str, dtype: torch.dtype | None = None, *args: Any, **kwargs: Any) -> None:
        device_type = "cpu" if device_type == "cuda" else device_type
        if dtype == torch.float32:
            original(self, device_type, torch.bfloat16, *args, **kwargs)
            self.fast_dtype = dtype
        else:
            original(self, device_type, dtype, *args, **kwargs)

    torch.autocast.__init__ = for_cpu
    try:
        yield
    finally:
        torch.autocast.__init__ = original


def _rms_norm(
    kernels: CardKernels,
    x: torch.Tensor,
    normalized_shape: Any,
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> torch.Tensor:
    if RMS_NORM_IN_FULL_PRECISION and torch.is_autocast_enabled("cpu"):
        x, weight = _in_full_precision(x), _in_full_precision(weight)
    if weight is not None and weight.dtype != x.dtype:
        # Cards fuse one dtype only; what follows is the sequence of operations that they run instead.
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True))
        return (x.float() * scale).to(x.dtype) * weight
    return FusedRmsNorm.apply(x, weight, len(normalized_shape), kernels)  # pyright: ignore[reportReturnType]


def _normalized(x: torch.Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_out: Any) -> torch.Tensor:
    """Divided by its norm, which autocast works out in full precision without a copy; so the result is in it, too."""
    dtype = torch.float32 if torch.is_autocast_enabled("cpu") else None
    return x / torch.linalg.vector_norm(x, p, dim, keepdim=True, dtype=dtype).clamp_min(eps).expand_as(x)


def _attention_step_by_step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """(B, N, E), (B, M, E), (B, M, E) -> (B, N, E): without heads there is no fused kernel."""
    scale = query.shape[-1] ** -0.25
    scores = torch.bmm(query * scale, (key * scale).transpose(1, 2))
    return torch.bmm(scores.softmax(-1), value)


def _dropout(x: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


def _like_attention(like: torch.Tensor, num_heads: int, num_each: int, num_tokens: int | None = None) -> torch.Tensor:
    """(B, heads, tokens, each), laid out token by token as the kernels write it."""
    batch, tokens = like.shape[0], like.shape[2] if num_tokens is None else num_tokens
    return like.new_empty(batch, tokens, num_heads, num_each).transpose(1, 2)


def _in_full_precision(value: Any) -> Any:
    half = isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if half else value
