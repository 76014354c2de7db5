"""Which block lies on which device, as data; putting the blocks there; and reading back where they really are.

A plan that was not applied is worse than no plan: a single bias left on the wrong card makes every step copy it, or
fail in a kernel far from the cause. So a placement is never believed. `place_blocks` moves, `verify_placement` reads
the device of every parameter and buffer and names the first that is wrong. Blocks that are paged are the exception:
what the pager brings in for their turns must be in RAM at other times, that and nothing else.
"""

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.pager.marks import packed_block

_RAM = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Block -> chunk -> stage -> device."""

    devices: tuple[torch.device, ...]
    """The device of each stage. The same device may appear twice: two logical stages on one device."""
    chunk_sizes: tuple[int, ...]
    """Number of blocks of each chunk, in the order in which the model calls them."""
    stage_of_chunk: tuple[int, ...]
    """Index into `devices`, one a chunk."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", tuple(full_device(device) for device in self.devices))
        if not self.devices:
            raise DeviceError("A placement needs at least one device.")
        if len(self.chunk_sizes) != len(self.stage_of_chunk):
            raise DeviceError(
                f"A placement names {len(self.chunk_sizes)} chunks but {len(self.stage_of_chunk)} stages for them."
            )
        if any(size < 1 for size in self.chunk_sizes):
            raise DeviceError(f"Every chunk needs at least one block, not {list(self.chunk_sizes)}.")
        if any(not 0 <= stage < len(self.devices) for stage in self.stage_of_chunk):
            raise DeviceError(f"Stages {list(self.stage_of_chunk)} go beyond the {len(self.devices)} devices given.")

    @property
    def num_blocks(self) -> int:
        """Number of blocks of the model."""
        return sum(self.chunk_sizes)

    @property
    def num_chunks(self) -> int:
        """Number of chunks."""
        return len(self.chunk_sizes)

    @property
    def chunks(self) -> tuple[range, ...]:
        """The block indices of each chunk."""
        ends = [sum(self.chunk_sizes[: index + 1]) for index in range(self.num_chunks)]
        return tuple(range(end - size, end) for end, size in zip(ends, self.chunk_sizes, strict=True))

    @property
    def chunk_of_block(self) -> tuple[int, ...]:
        """The chunk of each block."""
        return tuple(chunk for chunk, size in enumerate(self.chunk_sizes) for _ in range(size))

    @property
    def device_of_chunk(self) -> tuple[torch.device, ...]:
        """The device of each chunk."""
        return tuple(self.devices[stage] for stage in self.stage_of_chunk)

    @property
    def device_of_block(self) -> tuple[torch.device, ...]:
        """The device of each block."""
        return tuple(self.device_of_chunk[chunk] for chunk in self.chunk_of_block)

    def blocks_of_stage(self, stage: int) -> tuple[int, ...]:
        """The block indices that a stage owns, over all of its chunks."""
        return tuple(block for block, chunk in enumerate(self.chunk_of_block) if self.stage_of_chunk[chunk] == stage)


def full_device(device: torch.device | str) -> torch.device:
    """A device with its index spelt out, so that it compares equal to a tensor's `.device`.

    "cuda" means the first card here, whatever the current device: a placement must not depend on hidden state.

    Raises:
        DeviceError: PyTorch knows no device of that name.
    """
    try:
        device = torch.device(device)
    except RuntimeError as error:
        raise DeviceError(
            f'"{device}" is no device.', hint="Write cpu, or cuda: and the number of a card.", detail=str(error)
        ) from error
    return torch.device(device.type, 0) if device.index is None and device.type == "cuda" else device


def even_placement(num_blocks: int, devices: Sequence[torch.device | str], *, chunks_per_stage: int = 1) -> Placement:
    """Split blocks as evenly as whole blocks allow, chunk by chunk over the devices in turn.

    Args:
        num_blocks: Number of blocks of the model.
        devices: One device a stage.
        chunks_per_stage: 1 gives each device one run of blocks; more gives interleaved chunks (device 0, 1, 0, 1 ...),
            which shrink the time that devices wait for each other.

    Returns:
        The placement; chunk sizes differ by one block at most.

    Raises:
        DeviceError: There are more chunks than blocks, or no device.
    """
    num_chunks = len(devices) * chunks_per_stage
    if num_chunks < 1:
        raise DeviceError("A placement needs at least one device and one chunk a device.")
    if num_blocks < num_chunks:
        raise DeviceError(
            f"{num_blocks} blocks cannot fill {num_chunks} chunks ({len(devices)} devices x {chunks_per_stage}).",
            hint="Use fewer devices or fewer chunks a device.",
        )
    cuts = [round(index * num_blocks / num_chunks) for index in range(num_chunks + 1)]
    return Placement(
        devices=tuple(torch.device(device) for device in devices),
        chunk_sizes=tuple(end - start for start, end in itertools.pairwise(cuts)),
        stage_of_chunk=tuple(chunk % len(devices) for chunk in range(num_chunks)),
    )


def place_blocks(blocks: Iterable[nn.Module], placement: Placement) -> None:
    """Move every block, with whatever is attached to it as a submodule, to its device.

    Args:
        blocks: The model's blocks in calling order.
        placement: Where each belongs.

    Raises:
        DeviceError: The number of blocks is not the placement's.
    """
    for block, device in zip(_counted(blocks, placement), placement.device_of_block, strict=True):
        block.to(device)


def verify_placement(
    blocks: Iterable[nn.Module], placement: Placement, *, paged: Collection[int] = ()
) -> dict[torch.device, int]:
    """Read where every parameter and buffer of every block really is.

    Args:
        blocks: The model's blocks in calling order, none of them at work.
        placement: Where each should be.
        paged: The blocks that should be paged.

    Returns:
        Bytes of parameters and buffers that stay on each device; a tensor of several blocks counts once.

    Raises:
        DeviceError: A tensor is not where the plan puts it, a block is paged that should not be or the other way
            round, or the number of blocks is not the placement's.
    """
    held_bytes = dict.fromkeys(placement.devices, 0)
    counted: set[int] = set()
    for index, (block, device) in enumerate(zip(_counted(blocks, placement), placement.device_of_block, strict=True)):
        away = _paged_tensors(block, index, is_planned=index in paged)
        for name, tensor in [*block.named_parameters(), *block.named_buffers()]:
            planned = _RAM if id(tensor) in away else device
            if tensor.device != planned:
                raise _misplaced(
                    f'Tensor "{name}" of block {index} is on {tensor.device}, but the plan puts it on {planned}.'
                )
            if id(tensor) not in counted and id(tensor) not in away:
                counted.add(id(tensor))
                held_bytes[device] += tensor.numel() * tensor.element_size()
    return held_bytes


def _paged_tensors(block: nn.Module, index: int, *, is_planned: bool) -> set[int]:
    """The identities of the tensors that a pager brings in."""
    packed = packed_block(block)
    if is_planned != (packed is not None):
        raise _misplaced(
            f"Block {index} is to be paged, but it is not."
            if is_planned
            else f"Block {index} is paged, but the plan keeps it on its device."
        )
    return {id(item.tensor) for item in packed.tensors} if packed is not None else set()


def _misplaced(sentence: str) -> DeviceError:
    return DeviceError(sentence, hint="The model was not placed as planned; nothing was trained.")


def _counted(blocks: Iterable[nn.Module], placement: Placement) -> list[nn.Module]:
    listed = list(blocks)
    if len(listed) != placement.num_blocks:
        raise DeviceError(f"The placement is for {placement.num_blocks} blocks, but the model has {len(listed)}.")
    return listed
