"""24: a LoRA does on the card what it is there for, and nothing else.

The engine multiplies what a LoRA adds to a layer by two numbers one after the other, which are 1 in most trainings: a
pass over the layer's whole output each, in the forward, when it is recomputed, and in the backward. With short blocks
that is a tenth of all that the processor has to start on the cards, which is what several micro-batches wait for on
fast ones. Leaving out a multiplication by 1 changes no bit of any result.
"""

from typing import Any

from torch import nn
from torch.nn import functional

from diffusionforce.hooks.hook import Function, Hook, Target
from diffusionforce.hooks.musubi.upstream import REVISION


def leaner(original: Function) -> Function:
    """The forward of a LoRA module without needless steps, which gives the same to the last bit.

    Args:
        original: The engine's, for LoRA modules of other kinds than a plain pair of linear layers.
    """

    def forward(self: Any, x: Any) -> Any:
        if not _is_plain(self):
            return original(self, x)
        before = self.org_forward(x)
        added = functional.linear(self._lora_input(x), self.lora_down.weight)
        added = functional.linear(added, self.lora_up.weight)
        for factor in (self.multiplier, self.scale):
            if factor != 1:
                added = added * factor
        return self._match_org_dtype(before + added, before)

    return forward


def _is_plain(lora: Any) -> bool:
    """Whether it is a pair of linear layers from which nothing is dropped at the moment."""
    drops = (lora.dropout, lora.rank_dropout, lora.module_dropout)
    if lora.split_dims is not None or (lora.training and drops != (None, None, None)):
        return False
    return type(lora.lora_down) is nn.Linear and type(lora.lora_up) is nn.Linear


def lean_lora() -> Hook:
    """The hook for one run."""
    return Hook(
        number=24,
        name="lean-lora",
        target=Target(module="musubi_tuner.networks.lora", attribute="LoRAModule.forward"),
        reason="A LoRA may have any strength, so what it adds is multiplied by it.",
        prevents="Every layer with a LoRA takes six passes over its output more than it has to, which a card with slow "
        "memory spends time on, and a processor with fast cards.",
        upstream_revision=REVISION,
        fingerprint="4c967ad415a33f090680d4dca769498603d15d870bd9276990078dd8f9b53a10",
        wrap=leaner,
    )


HOOK = lean_lora()
