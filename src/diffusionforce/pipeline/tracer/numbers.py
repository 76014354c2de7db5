"""What tracing a model gives: plain numbers, which another process may read without torch.

All sizes are bytes as the card's allocator counts them. "Of a block" means of one block for one micro-batch.
"""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class PartTrace:
    """The tensors that a part of the model owns: one block, or everything outside the blocks."""

    weights_bytes: dict[str, int]
    """Frozen parameters and buffers by dtype ("bfloat16": ...)."""
    trained_bytes: int
    """Trained parameters (LoRA)."""
    gradient_bytes: int
    """Their gradients, from the first micro-batch's backward to the end of the step."""
    optimizer_bytes: int
    """The optimiser's state for them, from the first step on."""
    paged_bytes: int
    """The frozen tensors packed into one run of bytes, as they lie in RAM and in a slot."""


@dataclass(frozen=True, kw_only=True)
class BlockTrace:
    """One kind of block.

    In a forward pass only, everything about keeping and about the backward is 0.
    """

    part: PartTrace
    output_bytes: int
    """What the block hands to the next one: what crosses where a chunk ends."""
    kept_bytes: int
    """More memory held after the block's forward than before it, its output included."""
    forward_bytes: int
    """Peak during the forward, above what was held when it began."""
    backward_bytes: int
    """Peak during the backward, recomputing included, above what was held when it began (what the forward kept, and
    the gradient of the output). Gradients of trained parameters that stay are part of it."""
    forward_flops: int
    """Multiplications and additions of the forward's matrix products."""
    backward_flops: int
    """Those of the backward, recomputing included."""
    launches: int = 0
    """Kernels that the host starts for forward and backward, recomputing included."""
    forward_moved_bytes: int = 0
    """What the forward's kernels read and write that wait for the card's memory: all but the large products."""
    backward_moved_bytes: int = 0
    """The same of the backward, recomputing included."""


@dataclass(frozen=True, kw_only=True)
class OuterTrace:
    """The model around the blocks, for one micro-batch."""

    part: PartTrace
    batch_bytes: int
    """One micro-batch's inputs and targets."""
    shared_bytes: int
    """What the blocks take besides each other's output (modulation, text): each other card gets a copy."""
    prologue_kept_bytes: int
    """Held from the prologue on (the first block's input and what the blocks share included)."""
    prologue_bytes: int
    """Peak during the prologue, above what was held when it began."""
    tail_bytes: int
    """Peak from the end of the last block until its backward begins: head, loss and their backward; above what was
    held at the end of the last block."""
    flops: int
    """Multiplications and additions of prologue and tail."""


@dataclass(frozen=True, kw_only=True)
class OptimizerTrace:
    """What an optimiser step takes for a moment: `fixed_bytes` and `share` times a device's trained bytes."""

    fixed_bytes: int
    share: float


@dataclass(frozen=True, kw_only=True)
class ModelTrace:
    """All that a forecast needs to know of a model, one micro-batch size and one token count."""

    kinds: tuple[BlockTrace, ...]
    kind_of_block: tuple[int, ...]
    """Index into `kinds`, one a block in calling order."""
    outer: OuterTrace
    optimizer: OptimizerTrace

    def to_json(self) -> str:
        """The form in which a trace is kept, and which `ugpum.footprint` reads."""
        return json.dumps(asdict(self), indent=1)


@dataclass(frozen=True, kw_only=True)
class CallTrace:
    """A module that is called by itself, without gradients (a text encoder, a VAE)."""

    weights_bytes: int
    input_bytes: int
    output_bytes: int
    peak_bytes: int
    """Peak above the weights and the inputs."""
    flops: int
    """Multiplications and additions of its matrix products and convolutions."""
