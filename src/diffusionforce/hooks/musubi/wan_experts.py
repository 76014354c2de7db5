"""11: the weights of Wan 2.2 that are not at work wait in RAM, and change places with those on the devices."""

from typing import Any

import torch

from diffusionforce.errors import DeviceError
from diffusionforce.hooks.hook import Target
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer
from diffusionforce.hooks.seam import Seam


class WanExperts(EngineTrainer):
    """Exchanges what the parameters hold, tensor by tensor, and leaves the parameters in place.

    The trainer would put other parameters in their place, on the devices that those come from. Here a parameter keeps
    its device and its identity, so that whoever holds it (the LoRA, the router, a pager) goes on holding the right one.
    """

    high_low_training = False
    """Set by the trainer, which has one set of weights only for Wan 2.1."""

    def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Refuse a plan that cannot be followed.

        Raises:
            DeviceError: Blocks are to be paged.
        """
        super().on_transformer_loaded(args, accelerator, transformer)
        if self.high_low_training and self.assignment.paged:
            raise DeviceError(
                "Wan 2.2 with both of its models cannot be trained with blocks in RAM: they change places there.",
                hint="Train one of the two models, or hold the weights in 8 bits so that all blocks fit on the cards.",
            )

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

    Args:
        model: Its tensors stay where they are.
        waiting: In RAM, by the names of the model's state; its values are replaced in place.
    """
    for name, held in model.state_dict().items():
        before = held.clone()
        held.copy_(waiting[name])
        waiting[name].copy_(before)


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
