"""Cutting an autograd graph where a model crosses from one device to the next, and running the pieces backward.

A schedule wants the backward of one chunk alone, with the gradients that arrived. Autograd runs whole graphs. So every
tensor that enters a segment is replaced by an intake: a tensor without history whose backward only keeps the gradient.
The gradient then travels to the segment that made the tensor and is put in at the edge where it left.

An intake is no leaf: models that write into a boundary tensor in place would be refused otherwise.

Sequence numbers say who made a tensor: autograd numbers the nodes of a thread in the order in which they are made, so
a node belongs to the last segment that began before it. No list of which arguments move and which are constant is
needed for any model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import GradientEdge, Node

from diffusionforce.pipeline.autograd import leaf_of, walk
from diffusionforce.pipeline.transfer import Parcel


@dataclass(slots=True, eq=False)
class Inlet:
    """A tensor that a segment takes in from an earlier one, and the gradient that is owed for it."""

    value: torch.Tensor | None
    """The tensor on the consumer's device, until the intake has taken it over."""
    source: GradientEdge
    """Where the gradient is to be put in."""
    source_device: torch.device
    source_segment: int
    consumer: int
    """The segment that takes it in."""
    gradient: torch.Tensor | None = None
    """Kept by the intake's backward, on the consumer's device."""
    parcel: Parcel | None = None
    """The gradient on its way to the source's device."""


class Intake(torch.autograd.Function):
    """Hands out an inlet's tensor as a new beginning of a graph; backward keeps its gradient in the inlet."""

    @staticmethod
    def forward(ctx: Any, token: torch.Tensor, inlet: Inlet) -> torch.Tensor:
        """`token` is any scalar that requires a gradient, so that autograd records the call."""
        ctx.inlet = inlet
        value, inlet.value = inlet.value, None
        assert value is not None, "an inlet is taken in once"
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, None]:
        """Keep the gradient; nothing goes further."""
        ctx.inlet.gradient = gradients[0]
        return None, None


def is_intake(node: Node) -> bool:
    """Whether a graph node is an intake's."""
    return isinstance(node, Intake._backward_cls)  # pyright: ignore


def next_sequence_number() -> int:
    """The number that the next autograd node made in this thread gets."""
    return torch._C._autograd._get_sequence_nr()  # pyright: ignore


def reaches_trained(tensor: torch.Tensor) -> bool:
    """Whether a gradient of this tensor would reach a parameter, or an earlier segment that may hold one.

    Some trainers let a model's inputs require gradients that nobody reads: those are not worth a copy.
    """
    if tensor.grad_fn is None:
        return tensor.requires_grad and isinstance(tensor, nn.Parameter)
    # A function written in Python may reach parameters that its graph node does not show: checkpointing does.
    return any(
        isinstance(node, BackwardCFunction) or isinstance(leaf_of(node), nn.Parameter)
        for node in walk([tensor.grad_fn])
    )


def find_escapes(roots: Sequence[Node], *, first_number: int) -> list[GradientEdge]:
    """Edges that lead from a segment's graph straight into an earlier segment's.

    They exist where a model keeps a tensor in a local variable across blocks: a skip connection, or the time embedding
    that the head uses again.

    Args:
        roots: Where the segment's graph begins.
        first_number: The sequence number of the segment's first node; smaller ones are an earlier segment's.
    """
    found: dict[tuple[Node, int], None] = {}

    def is_cut(node: Node, number: int) -> bool:
        if leaf_of(node) is not None or node._sequence_nr() >= first_number:  # pyright: ignore
            return False
        found[node, number] = None
        return True

    for _ in walk(roots, is_cut):
        pass
    return [GradientEdge(node, number) for node, number in found]


def backward_until(
    roots: Sequence[torch.Tensor | GradientEdge],
    gradients: Sequence[torch.Tensor],
    escapes: Sequence[GradientEdge],
) -> list[torch.Tensor | None]:
    """Run a segment backward without following its escapes.

    Leaves get their gradients added and intakes keep theirs, as in an ordinary backward.

    Args:
        roots: Where gradients are put in.
        gradients: One for each root.
        escapes: Edges at which to stop.

    Returns:
        The gradient that arrived at each escape.
    """
    cuts = {(edge.node, edge.output_nr) for edge in escapes}
    nodes = list(walk([_node_of(root) for root in roots], lambda node, number: (node, number) in cuts))
    leaves = [leaf for node in nodes if (leaf := leaf_of(node)) is not None and not is_token(leaf)]
    intakes = [node for node in nodes if is_intake(node)]
    targets = [*leaves, *(GradientEdge(node, 0) for node in intakes), *escapes]
    found = torch.autograd.grad(roots, targets, gradients, allow_unused=True)  # pyright: ignore
    for leaf, gradient in zip(leaves, found, strict=False):
        if gradient is not None:
            leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient
    for node, gradient in zip(intakes, found[len(leaves) :], strict=False):
        node.inlet.gradient = gradient  # pyright: ignore
    return list(found[len(leaves) + len(intakes) :])


def new_token() -> torch.Tensor:
    """A scalar that requires a gradient and never gets one."""
    token = torch.zeros((), requires_grad=True)
    token.is_pipeline_token = True  # pyright: ignore
    return token


def is_token(leaf: torch.Tensor) -> bool:
    """Whether a leaf is such a scalar."""
    return getattr(leaf, "is_pipeline_token", False)


def _node_of(root: torch.Tensor | GradientEdge) -> Node | None:
    return root.node if isinstance(root, GradientEdge) else root.grad_fn
