"""What the engine does with every model: the LoRA, 8-bit weights, mixed precision, the loss.

The engine's modules are used as they are. Two of their habits need help where tensors have no contents: they keep LoRA
modules beside the model (whoever asks a block what it holds would not hear of them), and they read the sizes of
pictures out of tensors of integers. Such tensors are kept real here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.hooks.musubi.lean_lora import leaner
from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.tracer.hollow import contents_kept, is_hollow

MADE_BLOCKS = 3
"""Of blocks that are all alike, so many are made: the first, the second, and one that stands for the rest. Making them
all takes longer than tracing them."""
_FP8_BLOCK, WHOLE_ROW = 64, 1 << 30
"""Numbers of a row that share a scale in the engine's 8-bit weights, and in those that others publish."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """How a model is used, in the values that its memory depends on."""

    width: int
    height: int
    """Of the picture, in pixels."""
    num_frames: int
    """Of the video; 1 is a picture."""
    batch_size: int
    weights: Literal["bf16", "fp8"]
    rank: int
    alpha: float
    dropout: float
    recompute: bool
    """Whether blocks recompute their activations in the backward."""


def num_alike(num_blocks: int) -> list[int]:
    """For each block that is made, how many blocks of the model it stands for.

    Args:
        num_blocks: Blocks that are all alike.
    """
    made = min(num_blocks, MADE_BLOCKS)
    return [1] * (made - 1) + [num_blocks - (made - 1)]


def with_lora(model: nn.Module, network: str, use: Use, *, source: Path) -> nn.Module:
    """Freeze a model and give it the engine's LoRA, in fp32; each LoRA module becomes a part of what it is on.

    Args:
        model: The model.
        network: Name of the engine's LoRA module, for example `lora_wan`.
        use: Rank, alpha, dropout.
        source: The engine's folder on the import path.
    """
    module: Any = import_light(f"musubi_tuner.networks.{network}", source=source)
    model.requires_grad_(False)
    lora = module.create_arch_network(1.0, use.rank, use.alpha, None, [], model, neuron_dropout=use.dropout or None)
    lora.apply_to(None, model, apply_text_encoder=False, apply_unet=True)
    lora.requires_grad_(True).train()
    for part in lora.unet_loras:
        owner = part.org_forward.__self__
        owner.forward = leaner(type(part).forward).__get__(part)
        owner.add_module("lora", part)
    return model


def with_8_bits(
    model: nn.Module,
    *,
    targets: tuple[str, ...],
    exclusions: tuple[str, ...],
    source: Path,
    numbers_a_scale: int = _FP8_BLOCK,
) -> nn.Module:
    """Give linear layers 8-bit weights with scales, as the engine does with `--fp8_base --fp8_scaled`.

    Args:
        model: The model, without a LoRA.
        targets: Only layers with one of these in their name.
        exclusions: But none with one of these.
        source: The engine's folder on the import path.
        numbers_a_scale: Of a row; all of a row share one where that does not divide it.
    """
    engine: Any = import_light("musubi_tuner.modules.fp8_optimization_utils", source=source)
    scales: dict[str, torch.Tensor] = {}
    for name, layer in model.named_modules():
        wanted = any(target in name for target in targets) and not any(word in name for word in exclusions)
        if isinstance(layer, nn.Linear) and wanted:
            num_out, num_in = layer.weight.shape
            has_parts = num_in % numbers_a_scale == 0
            shape = (num_out, num_in // numbers_a_scale, 1) if has_parts else (num_out, 1)
            scales[f"{name}.scale_weight"] = torch.empty(shape, dtype=layer.weight.dtype)
    engine.apply_fp8_monkey_patch(model, scales)
    for name in scales:
        layer: Any = model.get_submodule(name.removesuffix(".scale_weight"))
        layer.weight = nn.Parameter(torch.empty_like(layer.weight, dtype=torch.float8_e4m3fn), requires_grad=False)
    return model


def with_weights_of(engine: Any, model: nn.Module, use: Use, *, source: Path) -> nn.Module:
    """Give linear layers the number format of a use, where the module of the model's class lists which take 8 bits.

    Args:
        engine: That module.
        model: The model, without a LoRA.
        use: Names the format.
        source: The engine's folder on the import path.
    """
    if use.weights != "fp8":
        return model
    targets, exclusions = engine.FP8_OPTIMIZATION_TARGET_KEYS, engine.FP8_OPTIMIZATION_EXCLUDE_KEYS
    return with_8_bits(model, targets=tuple(targets), exclusions=tuple(exclusions), source=source)


def mixed_precision() -> torch.autocast:
    """The engine's `--mixed_precision bf16` on a card."""
    return torch.autocast("cuda", dtype=torch.bfloat16)


def flow_loss(prediction: torch.Tensor, batch: "FlowBatch") -> torch.Tensor:
    """The engine's loss, fp32, a scalar."""
    target = batch.noise - batch.latents
    return nn.functional.mse_loss(prediction.to(torch.float32), target, reduction="none").mean()


@dataclass(frozen=True, kw_only=True)
class FlowBatch:
    """Inputs of one forward, as the engine has them on the card."""

    latents: torch.Tensor
    noise: torch.Tensor
    timesteps: torch.Tensor
    """(B,)"""
    text: tuple[torch.Tensor, ...]

    def noisy(self) -> torch.Tensor:
        """The mixture of both, which the engine lets require gradients so that checkpointing works."""
        share = (self.timesteps / 1000).view(-1, *(1 for _ in self.latents.shape[1:]))
        return ((1 - share) * self.latents + share * self.noise).requires_grad_(True)


_MADE_REAL: dict[Any, torch.dtype] = {torch.tensor: torch.long, torch.ones: torch.bool}
"""What is made of numbers that some model reads again: sizes, and masks of captions."""
_INDEXED = {torch.Tensor.__getitem__, torch.Tensor.__setitem__}


class RealNumbers(TorchFunctionMode):
    """Lets tensors of integers made from numbers, and what is computed from them alone, be real."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _INDEXED:
            args = (args[0], _with_plain_ends(args[1]), *args[2:])
        if any(isinstance(value, torch.Tensor) and is_hollow(value) for value in args):
            return func(*args, **kwargs)  # Nearly always, and looking through all arguments takes its time.
        tensors = list_tensors((args, kwargs))
        made = kwargs.get("dtype") is _MADE_REAL.get(func, "")
        if made or (tensors and all(_is_real_number(tensor) for tensor in tensors)):
            with contents_kept():
                return func(*args, **kwargs)
        return func(*args, **kwargs)


def in_real_numbers(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Run a function with real integers, whenever it runs: when it is recomputed, too."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with RealNumbers():
            return forward(*args, **kwargs)

    return wrapped


def _with_plain_ends(index: Any) -> Any:
    """An index with numbers in place of tensors at the ends of its slices."""
    if isinstance(index, tuple):
        return tuple(_with_plain_ends(one) for one in cast(tuple[Any, ...], index))
    if not isinstance(index, slice):
        return index
    with contents_kept():
        ends = [int(end) if isinstance(end, torch.Tensor) else end for end in (index.start, index.stop, index.step)]
    return slice(*ends)


def _is_real_number(tensor: torch.Tensor) -> bool:
    is_number = not tensor.dtype.is_floating_point and not tensor.dtype.is_complex
    return is_number and not is_hollow(tensor) and tensor.device.type == "cpu"
