"""Reading autograd's graphs: which nodes and leaves a backward would reach."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch.autograd.graph import Node


def leaf_of(node: Node) -> torch.Tensor | None:
    """The leaf tensor into whose gradient a node accumulates; None for other nodes."""
    return getattr(node, "variable", None)


def walk(roots: Sequence[Node | None], is_cut: Callable[[Node, int], bool] | None = None) -> Iterator[Node]:
    """Every node reachable from `roots`.

    Args:
        roots: Nodes to begin with; None is skipped.
        is_cut: Asked for every edge (node, input number) whether it is not to be followed.
    """
    seen: set[Node] = set()
    waiting = [root for root in roots if root is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        for following, number in node.next_functions:
            if following is not None and following not in seen and not (is_cut and is_cut(following, number)):
                waiting.append(following)
