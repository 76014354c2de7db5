"""23: other prompts for the samples to come, while the training goes on.

The trainer reads its prompts once, before the model is loaded. To read others, the text encoder is loaded again: on the
processor, because the cards are full of what is trained. That takes a while and some RAM, but no step is lost.
"""

from typing import Any

import torch

from diffusionforce.hooks.musubi.text_encoders import Elsewhere
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.nesting import map_tensors

_EIGHT_BIT = ("fp8_t5", "fp8_llm", "fp8_vl", "fp8_text_encoder")
"""Options that hold a text encoder in a format that processors do not calculate with."""


class LivePrompts(EngineTrainer):
    """Reads other prompts before a pass of samples."""

    def __init__(self) -> None:
        super().__init__()
        self._fresh: Any = None
        """What the text encoder says to the prompts that came last; None while they are those of the start."""

    def sample_images(
        self,
        accelerator: Any,
        args: Any,
        epoch: int | None,
        steps: int,
        vae: Any,
        transformer: Any,
        sample_parameters: Any,
        dit_dtype: Any,
    ) -> None:
        """Make a pass, of the prompts that were asked for last."""
        # A run that was started without prompts has no autoencoder to make samples with.
        if sample_parameters is not None:
            self._look(args, accelerator)
            sample_parameters = self._fresh if self._fresh is not None else sample_parameters
        super().sample_images(accelerator, args, epoch, steps, vae, transformer, sample_parameters, dit_dtype)

    def _look(self, args: Any, accelerator: Any) -> None:
        """Read other prompts, if there are any."""
        file = self.assignment.listener.take_prompts()
        if file is None:
            return
        processor = torch.device("cpu")
        usual = {name: getattr(args, name) for name in _EIGHT_BIT if hasattr(args, name)}
        encoder_device, self.assignment.encoder_device = self.assignment.encoder_device, processor
        try:
            for name in usual:
                setattr(args, name, False)
            # Loading a model draws random numbers, and those of the training must not depend on it.
            with torch.random.fork_rng(devices=[]):  # pyright: ignore[reportUnknownMemberType]
                said = self.process_sample_prompts(args, Elsewhere(accelerator, processor), str(file))
            self._fresh = map_tensors(said, lambda tensor: tensor.to(processor))
        except (RuntimeError, MemoryError, OSError) as error:
            # A preview that cannot be changed is no reason to lose a night's training.
            self.assignment.listener.on_prompts_refused(error)
        finally:
            self.assignment.encoder_device = encoder_device
            for name, value in usual.items():
                setattr(args, name, value)


HOOK = Seam(
    number=23,
    name="live-prompts",
    overrides=(
        method("sample_images", "8e1311aeec4ef72b930419c510180ef2ab1891216d21cc6d78110bab4a43021c"),
        method("process_sample_prompts", "421f558b79282a9d9fecae03b95e6b2879f59e5572377363452007ec383f2c4a"),
    ),
    reason="The prompts of samples are read once, before the training.",
    prevents="Whoever sees in the first samples that a prompt is wrong has to start the training anew.",
    upstream_revision=REVISION,
    mixin=LivePrompts,
)
