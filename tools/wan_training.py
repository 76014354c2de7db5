"""Wan's diffusion transformer out of the installed engine, with random weights, trained as the engine's trainer does.

The class, its checkpointing and the LoRA are the engine's own; the loop around them does in a few lines what the
engine's trainer does in many. Weights are made on the card, a tensor at a time, and kept in RAM: 14 billion parameters
are there in seconds and never touch a disk. On a processor they have 32 bits, because the class needs that there.

Letters: B batch, F frames, H and W height and width of the latent, S text tokens.
"""

import gc
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator, init_empty_weights
from torch import nn

from diffusionforce.engines.musubi.modules import import_light

LATENT_CHANNELS = 16
TEXT_WIDTH = 4096
TEXT_TOKENS = 512
PATCH = 2
_WEIGHT_SCALE = 0.02
_GRADIENT_NORM = 1.0
_LEARNING_RATE = 1e-4
_BYTES_A_TRAINED = 16
"""Of a trained parameter: itself, its gradient and two moments in fp32."""
_BOUNDARIES_AT_WORK = 32
"""About what recomputing a block and its backward need, in sizes of what crosses from block to block."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is trained, and on what."""

    device: torch.device
    num_blocks: int = 40
    width: int = 5120
    feed_forward_width: int = 13824
    num_heads: int = 40
    latent_size: int = 128
    """Height and width of the latent: 128 is a picture of 1024 x 1024 and 4096 tokens."""
    batch_size: int = 1
    num_microbatches: int = 4
    """Batches whose gradients make one step."""
    rank: int = 32
    seed: int = 0

    @property
    def dtype(self) -> torch.dtype:
        """The weights' type: 16 bits on a card."""
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32

    @property
    def num_tokens(self) -> int:
        """Tokens of one picture."""
        return (self.latent_size // PATCH) ** 2


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Pictures and texts of one forward."""

    latents: torch.Tensor
    """(B, 16, F, H, W) fp32."""
    noise: torch.Tensor
    """As `latents`."""
    sigmas: torch.Tensor
    """(B,) share of the noise, 0 to 1, fp32."""
    texts: tuple[torch.Tensor, ...]
    """B times (S, 4096) fp32."""


class WanTraining:
    """The model, its LoRA and its optimiser.

    Args:
        work: What is trained.
        source: The folder that holds `musubi_tuner`; it is on the import path.
    """

    def __init__(self, work: Work, *, source: Path) -> None:
        os.environ["ACCELERATE_TORCH_DEVICE"] = str(work.device)
        self.work = work
        self._wan = import_light("musubi_tuner.wan.modules.model", source=source)
        self._lora = import_light("musubi_tuner.networks.lora_wan", source=source)
        self._accelerator = Accelerator(mixed_precision="bf16" if work.device.type == "cuda" else "no")
        self._weights = self._random_weights()
        self._optimizer: Any = None
        self._batches = [_batch(work, number) for number in range(work.num_microbatches)]
        self.model: Any = None
        self.network: Any = None

    @property
    def block_bytes(self) -> int:
        """Size of one block's weights."""
        return sum(_size(tensor) for name, tensor in self._weights.items() if name.startswith("blocks.0."))

    def estimated_rest_bytes(self) -> int:
        """Return about what the card holds beside the blocks' weights."""
        work = self.work
        outside = sum(_size(tensor) for name, tensor in self._weights.items() if not name.startswith("blocks."))
        matrices = [
            tensor.shape for name, tensor in self._weights.items() if name.startswith("blocks.") and tensor.dim() == 2
        ]
        trained = sum(work.rank * sum(shape) * _BYTES_A_TRAINED for shape in matrices)
        boundary = work.batch_size * work.num_tokens * work.width * work.dtype.itemsize
        return outside + trained + boundary * (work.num_blocks + _BOUNDARIES_AT_WORK)

    def make_model(self) -> Any:
        """Return a fresh model in RAM, with the same weights every time."""
        self.model = self._empty_model()
        self.model.load_state_dict(self._weights, strict=True, assign=True)
        return self.model.eval().requires_grad_(False)

    def attach_lora(self) -> None:
        """Give the model a LoRA with the same beginning every time, and turn on checkpointing."""
        torch.manual_seed(self.work.seed)
        rank = self.work.rank
        self.network = self._lora.create_arch_network(1.0, rank, rank, None, [], self.model)
        self.network.apply_to(None, self.model, apply_text_encoder=False, apply_unet=True)
        self.model.enable_gradient_checkpointing(False)
        parameters, _ = self.network.prepare_optimizer_params(unet_lr=_LEARNING_RATE)
        self._optimizer = torch.optim.AdamW(parameters, lr=_LEARNING_RATE)

    def prepare(self) -> None:
        """Hand everything to accelerate as the trainer does for a model that places its blocks itself."""
        self.model = self._accelerator.prepare(self.model, device_placement=[False])

    def prepare_lora(self) -> None:
        """Move LoRA and optimiser to the card."""
        self.network, self._optimizer = self._accelerator.prepare(self.network, self._optimizer)
        self.model.train()
        self.network.prepare_grad_etc(self.model)

    def step(self) -> list[float]:
        """Train one step, and return the loss of each batch."""
        losses = []
        for batch in self._batches:
            loss = self._loss(batch) / len(self._batches)
            self._accelerator.backward(loss)
            losses.append(loss.detach().item() * len(self._batches))
        self._accelerator.clip_grad_norm_(self.network.get_trainable_params(), _GRADIENT_NORM)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return losses

    def release(self) -> None:
        """Let model, LoRA and optimiser go."""
        self.model = self.network = self._optimizer = None
        self._accelerator.free_memory()
        gc.collect()
        if self.work.device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def _loss(self, batch: Batch) -> torch.Tensor:
        sigmas = batch.sigmas.view(-1, 1, 1, 1, 1)
        noisy = ((1 - sigmas) * batch.latents + sigmas * batch.noise).requires_grad_(True)
        texts = [text.detach().requires_grad_(True) for text in batch.texts]
        timesteps = batch.sigmas * 1000 + 1
        with self._accelerator.autocast():
            answer = self.model(noisy, t=timesteps, context=texts, clip_fea=None, seq_len=self.work.num_tokens, y=None)
        return nn.functional.mse_loss(torch.stack(answer).float(), batch.noise - batch.latents)

    def _empty_model(self) -> nn.Module:
        work = self.work
        with init_empty_weights():
            return self._wan.WanModel(
                model_type="t2v",
                dim=work.width,
                ffn_dim=work.feed_forward_width,
                freq_dim=256,
                in_dim=LATENT_CHANNELS,
                out_dim=LATENT_CHANNELS,
                num_heads=work.num_heads,
                num_layers=work.num_blocks,
                text_len=TEXT_TOKENS,
                text_dim=TEXT_WIDTH,
                attn_mode="torch",
            ).to(work.dtype)

    def _random_weights(self) -> dict[str, torch.Tensor]:
        generator = torch.Generator(self.work.device).manual_seed(self.work.seed)
        weights = {}
        for name, tensor in self._empty_model().state_dict().items():
            if name.endswith("bias"):
                weights[name] = torch.zeros(tensor.shape, dtype=tensor.dtype)
            elif "norm" in name:
                weights[name] = torch.ones(tensor.shape, dtype=tensor.dtype)
            else:
                made = torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype, device=self.work.device)
                weights[name] = made.mul_(_WEIGHT_SCALE).cpu()
        return weights


def move_outside_blocks(model: nn.Module, device: torch.device) -> None:
    """Move all of a model but its blocks to a device."""
    for name, part in model.named_children():
        if name != "blocks":
            part.to(device)


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _batch(work: Work, number: int) -> Batch:
    generator = torch.Generator(work.device).manual_seed(work.seed + 1 + number)
    size = (work.batch_size, LATENT_CHANNELS, 1, work.latent_size, work.latent_size)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, device=work.device)

    return Batch(
        latents=normal(*size),
        noise=normal(*size),
        sigmas=torch.rand(work.batch_size, generator=generator, device=work.device),
        texts=tuple(normal(TEXT_TOKENS // 2, TEXT_WIDTH) for _ in range(work.batch_size)),
    )
