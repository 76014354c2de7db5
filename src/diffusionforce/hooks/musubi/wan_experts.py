"""11: the weights of Wan 2.2 that are not at work wait in RAM, and change places with those on the devices."""

from itertools import accumulate
from typing import Any

import psutil
import torch

from diffusionforce.errors import DeviceError
from diffusionforce.hooks.hook import Target
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.pager.store import PinnedMemory, page_aligned

_ALIGNMENT_BYTES = 256
_GROUP_BYTES = 1 << 30
"""So much is moved to locked memory at a time, before what it was moved from is let go."""


class WanExperts(EngineTrainer):
    """Exchanges what the parameters hold, tensor by tensor, and leaves the parameters in place.

    The trainer would put other parameters in their place, on the devices that those come from. Here a parameter keeps
    its device and its identity, so that whoever holds it (the LoRA, the router, a pager) goes on holding the right one.
    """

    high_low_training = False
    """Set by the trainer, which has one set of weights only for Wan 2.1."""
    _pinned: PinnedMemory | None = None

    def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Lock the weights that wait in RAM, so that they change places as fast as the links of all cards allow.

        Raises:
            DeviceError: Blocks are to be paged.
        """
        super().on_transformer_loaded(args, accelerator, transformer)
        if self.high_low_training and self.assignment.paged:
            raise DeviceError(
                "Wan 2.2 with both of its models cannot be trained with blocks in RAM: they change places there.",
                hint="Train one of the two models, or hold the weights in 8 bits so that all blocks fit on the cards.",
            )
        if self.high_low_training and self.dit_inactive_state_dict and torch.cuda.is_available():
            self._pinned = PinnedMemory(limit_bytes=psutil.virtual_memory().available // 2)
            move_to_locked_memory(self.dit_inactive_state_dict, self._pinned)

    def release(self) -> None:
        """Unlock them."""
        if self._pinned is not None:
            torch.cuda.synchronize()
            self._pinned.release()
            self._pinned = None
        super().release()

    def before_samples(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Samples are made by the model for low noise; blocks that step aside for them cannot change places."""
        super().before_samples(args, accelerator, transformer)
        if self.high_low_training:
            self.next_model_is_high_noise = False
            self.switch_expert(args, accelerator, transformer)

    current_model_is_high_noise: Any
    next_model_is_high_noise: Any
    dit_inactive_state_dict: dict[str, torch.Tensor] | None

    def needs_other_expert(self) -> bool:
        """Whether the noise levels just drawn are for the weights that wait."""
        return self.high_low_training and bool(self.current_model_is_high_noise != self.next_model_is_high_noise)

    def switch_expert(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Bring them in."""
        if self.needs_other_expert():
            exchange(accelerator.unwrap_model(transformer), self.dit_inactive_state_dict or {})
            self.current_model_is_high_noise = self.next_model_is_high_noise

    def swap_high_low_weights(self, args: Any, accelerator: Any, model: Any) -> None:
        """What the trainer calls before every forward pass: a switch if one is due.

        Micro-batches that wait were drawn for the weights that are at work, and run before a switch; for them nothing
        is due.
        """
        if not self.is_running_pieces:
            self.switch_expert(args, accelerator, model)


@torch.no_grad()
def exchange(model: torch.nn.Module, waiting: dict[str, torch.Tensor]) -> None:
    """Let parameters and buffers hold what waits, and what waits be what they held.

    Copies of locked memory are queued on each card's current stream, so that all cards exchange at once.

    Args:
        model: Its tensors stay where they are.
        waiting: In RAM, by the names of the model's state; its values are replaced in place.
    """
    for name, held in model.state_dict().items():
        before = held.clone()
        held.copy_(waiting[name], non_blocking=True)
        waiting[name].copy_(before, non_blocking=True)


@torch.no_grad()
def move_to_locked_memory(waiting: dict[str, torch.Tensor], pinned: PinnedMemory) -> None:
    """Move tensors in RAM to memory that is locked, as far as it may be.

    Args:
        waiting: By name; its values are replaced.
        pinned: Locks.
    """
    group: list[str] = []
    for number, name in enumerate(waiting, 1):
        group.append(name)
        if sum(waiting[one].nbytes for one in group) >= _GROUP_BYTES or number == len(waiting):
            sizes = [-(-waiting[one].nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES for one in group]
            run = page_aligned(sum(sizes))
            pinned.lock(run)
            for one, start in zip(group, accumulate(sizes, initial=0), strict=False):
                tensor = waiting[one]
                piece = run[start : start + tensor.nbytes]
                waiting[one] = piece.view(tensor.dtype).view(tensor.shape).copy_(tensor)
            group.clear()


HOOK = Seam(
    number=11,
    name="wan-experts",
    overrides=(
        (
            Target(
                module="musubi_tuner.wan_train_network",
                attribute="WanNetworkTrainer.swap_high_low_weights",
            ),
            "d0f88ef7960517bfb9e6cb49acdcbfe01d25195eef3504b0821eec04424fa5e2",
        ),
        (
            Target(
                module="musubi_tuner.wan_train_network",
                attribute="WanNetworkTrainer.get_noisy_model_input_and_timesteps",
            ),
            "39f8c07c2b9eda58f013042e916336bac4068ef298ffc7c88168d0f4ed0fc924",
        ),
    ),
    reason="Both experts of Wan 2.2 fit on the training device, or are moved there as a whole.",
    prevents="At the first switch all blocks are on the first card, which runs out of memory.",
    upstream_revision=REVISION,
    mixin=WanExperts,
)
