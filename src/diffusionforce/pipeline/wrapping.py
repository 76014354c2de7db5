"""Putting something around the forwards of a model's blocks, and taking it away again.

A module's `forward` is looked up on the instance first, so a function set there stands in for the class's. Whoever sets
one may find that somebody else has set one before, and must put that back, not uncover the class's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

from torch import nn

BlockForward = Callable[..., Any]


def replace_forward(block: nn.Module, forward: BlockForward) -> Callable[[], None]:
    """Call another function in place of a block's forward.

    Args:
        block: The block.
        forward: What is called from now on.

    Returns:
        Puts back what was there. Of several replacements the last is undone first.
    """
    shadowed = vars(block).get("forward")
    block.forward = forward

    def put_back() -> None:
        if shadowed is None:
            del block.forward
        else:
            block.forward = shadowed

    return put_back


class Installable(ABC):
    """Wraps the forwards of a model's blocks from `install` to `remove`, or to the end of `with ....install():`."""

    @abstractmethod
    def install(self) -> Self:
        """Wrap the blocks' forwards. Gives the object itself, for `with`."""

    @abstractmethod
    def remove(self) -> None:
        """Give the blocks their own forwards back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.remove()
