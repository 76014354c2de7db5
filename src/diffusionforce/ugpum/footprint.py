"""What a model needs, as numbers that a trace of its code found, and where they are kept.

Tracing takes PyTorch and seconds; a window has neither. A trace depends on nothing but its inputs (the model, LoRA,
precision, sizes, the versions of the software), so it is written to a file named by them, and whoever describes the
same inputs again finds it there.

All sizes are bytes, rounded as the card's allocator rounds them. "Of a block" means of one block for one micro-batch.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from diffusionforce.job import write_whole

_FORMAT = 4


@dataclass(frozen=True, kw_only=True)
class Part:
    """The tensors that a part of the model owns.

    Attributes:
        weights_bytes: Frozen weights by dtype (`bfloat16`: ...).
        trained_bytes: Trained parameters, the LoRA.
        gradient_bytes: Their gradients, from the first micro-batch's backward to the end of the step.
        optimizer_bytes: The optimiser's state for them.
        paged_bytes: The frozen weights as one run of bytes, as they lie in RAM and in a slot.
    """

    weights_bytes: Mapping[str, int]
    trained_bytes: int = 0
    gradient_bytes: int = 0
    optimizer_bytes: int = 0
    paged_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class CardRates:
    """What a card reaches in training.

    Attributes:
        flops: Multiplications and additions a second in large matrix products.
        memory_bytes_per_s: Bytes a second that everything else reads and writes of its memory.
    """

    flops: float
    memory_bytes_per_s: float

    def seconds(self, flops: float, moved_bytes: float) -> float:
        """How long work takes: kernels run one after the other, and each waits for one of the two."""
        return flops / self.flops + moved_bytes / self.memory_bytes_per_s


_FLOPS_WHILE_MOVING_A_BYTE = 150
"""What cards multiply in the time in which they move a byte: 100 to 200. Enough to compare blocks by."""


@dataclass(frozen=True, kw_only=True)
class BlockKind:
    """One kind of block.

    Attributes:
        part: What one such block owns.
        output_bytes: What it hands to the next block, and what crosses where a chunk ends.
        kept_bytes: More memory held after its forward than before, its output included.
        forward_bytes: Peak during its forward, above what was held when it began.
        backward_bytes: Peak during its backward, above what the forward kept and the gradient of its output. The
            gradients of its trained parameters are part of it.
        forward_flops: Multiplications and additions of the forward's matrix products.
        backward_flops: Those of the backward, recomputing included.
        launches: Kernels that the host starts for forward and backward, recomputing included.
        forward_moved_bytes: What the forward's other kernels read and write, which wait for the card's memory.
        backward_moved_bytes: Those of the backward, recomputing included.
    """

    part: Part
    output_bytes: int
    kept_bytes: int
    forward_bytes: int
    backward_bytes: int
    forward_flops: int = 0
    backward_flops: int = 0
    launches: int = 0
    forward_moved_bytes: int = 0
    backward_moved_bytes: int = 0

    @property
    def forward_work(self) -> int:
        """What share of a model's time the forward takes: a number to be set against other blocks' alone."""
        return self.forward_flops + _FLOPS_WHILE_MOVING_A_BYTE * self.forward_moved_bytes

    @property
    def backward_work(self) -> int:
        """The same of the backward, recomputing included."""
        return self.backward_flops + _FLOPS_WHILE_MOVING_A_BYTE * self.backward_moved_bytes


@dataclass(frozen=True, kw_only=True)
class Outside:
    """The model around the blocks, for one micro-batch.

    Attributes:
        part: What it owns.
        batch_bytes: Inputs and targets of a micro-batch.
        shared_bytes: What blocks take besides each other's output (modulation, text).
        prologue_kept_bytes: Held from the prologue on, the first block's input and what is shared included.
        prologue_bytes: Peak during the prologue, above what was held when it began.
        tail_bytes: Peak from the end of the last block until its backward begins, above what was held before.
        flops: Multiplications and additions of prologue and tail.
    """

    part: Part
    batch_bytes: int = 0
    shared_bytes: int = 0
    prologue_kept_bytes: int = 0
    prologue_bytes: int = 0
    tail_bytes: int = 0
    flops: int = 0


@dataclass(frozen=True, kw_only=True)
class OptimizerStep:
    """What an optimiser step takes for a moment: `fixed_bytes`, and `share` times a card's trained parameters."""

    fixed_bytes: int = 0
    share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """A model with one micro-batch size and one number of tokens.

    Attributes:
        kinds: The kinds of blocks.
        kind_of_block: Index into `kinds`, one a block in calling order.
        outer: The model around the blocks.
        optimizer: What an optimiser step takes.
    """

    kinds: tuple[BlockKind, ...]
    kind_of_block: tuple[int, ...]
    outer: Outside
    optimizer: OptimizerStep = OptimizerStep()

    @cached_property
    def blocks(self) -> tuple[BlockKind, ...]:
        """Every block's kind, in calling order."""
        return tuple(self.kinds[kind] for kind in self.kind_of_block)

    @property
    def block_work(self) -> int:
        """The work of all blocks, forward and backward, for one micro-batch, as `BlockKind` counts it."""
        return sum(block.forward_work + block.backward_work for block in self.blocks)

    def blocks_s(self, rates: CardRates) -> float:
        """Seconds of all blocks, forward and backward, for one micro-batch on a card."""
        return rates.seconds(
            sum(block.forward_flops + block.backward_flops for block in self.blocks),
            sum(block.forward_moved_bytes + block.backward_moved_bytes for block in self.blocks),
        )

    @property
    def block_launches(self) -> int:
        """Kernels that the host starts for all blocks, forward and backward, for one micro-batch."""
        return sum(block.launches for block in self.blocks)

    @classmethod
    def from_json(cls, text: str) -> "Footprint":
        """Read what a trace wrote.

        Raises:
            ValueError: It is no trace.
        """
        try:
            data: dict[str, Any] = json.loads(text)
            return cls(
                kinds=tuple(BlockKind(**_with_part(kind)) for kind in data["kinds"]),
                kind_of_block=tuple(data["kind_of_block"]),
                outer=Outside(**_with_part(data["outer"])),
                optimizer=OptimizerStep(**data["optimizer"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the trace of a model: {error}") from error


@dataclass(frozen=True)
class FootprintFiles:
    """Traces on disk, one file each.

    Attributes:
        folder: Where they are; made when the first is written.
    """

    folder: Path

    def path_of(self, inputs: Mapping[str, Any]) -> Path:
        """The file for a description of everything that the trace depends on.

        Args:
            inputs: Names and values that JSON can hold, in any order.
        """
        text = json.dumps({"format": _FORMAT, **inputs}, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def load(self, inputs: Mapping[str, Any]) -> Footprint | None:
        """The trace for these inputs; None if there is none, or none that can be read."""
        try:
            return Footprint.from_json(self.path_of(inputs).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def store(self, inputs: Mapping[str, Any], text: str) -> None:
        """Write a trace; another process reads the old file or the new one, never half of one."""
        path = self.path_of(inputs)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())


def _with_part(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "part": Part(**data["part"])}
