"""Which blocks are paged, for those who must treat them otherwise.

A paged block's weights lie in RAM between its visits and in another slot at each of them. So whoever verifies where
weights are must know which are allowed to be away, and whoever captures a block as a graph must leave it alone. The
function that the pager puts in place of a block's forward therefore carries a mark, which `functools.wraps` hands on to
whatever wraps that.
"""

from collections.abc import Callable
from typing import Any

from torch import nn

from diffusionforce.pipeline.pager.store import PackedBlock

_MARK = "_packed_block"


def mark_paged(forward: Callable[..., Any], packed: PackedBlock) -> None:
    """Note on a function that calls a block's forward that it brings the block in."""
    setattr(forward, _MARK, packed)


def packed_block(block: nn.Module) -> PackedBlock | None:
    """What of the block is paged; None if it is resident."""
    return getattr(block.forward, _MARK, None)


def is_paged(block: nn.Module) -> bool:
    """Whether a pager brings the block's weights in when its forward is called."""
    return packed_block(block) is not None
