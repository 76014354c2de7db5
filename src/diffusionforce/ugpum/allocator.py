"""What a card's allocator holds beside the tensors of a plan: workspaces of the libraries, and room that it cannot use.

A forecast adds up tensors. Two things come on top, and both grow with how a step is run, not with the model:

Matrix products work in a scratch buffer, of which PyTorch keeps one for every thread and stream that ever multiplied.
A pipelined step has a thread for each micro-batch that is in the middle of its forward, and at home a second stream for
the tail, so a card has many of them. They are allocated like tensors and count as such.

A budget is enforced on what the allocator took from the driver. It takes pages of many tensors' size, and the pages at
the ends of what is in use are only partly used. What is held is therefore more than what is handed out.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diffusionforce.ugpum.forecast import Layout, Op


@dataclass(frozen=True, kw_only=True)
class Slack:
    """What an allocator holds beside what it has handed out.

    Attributes:
        share: Of what is handed out.
        fixed_bytes: On top of that.
    """

    share: float
    fixed_bytes: int


GROWING = Slack(share=0.015, fixed_bytes=64 << 20)
"""Taken from the allocator's rules: with growing segments a page has 20 MiB, and a card in the middle of a backward has
about a dozen runs of tensors with holes between them, each ending in a page of which half is lost on average."""
FIXED = Slack(share=0.04, fixed_bytes=256 << 20)
"""Without growing segments, as on Windows. A card held to 16 GiB was seen to run out of memory with 15.6 GiB handed
out, and cards that had more room to hold 4 to 8 % more than they had handed out. With this much kept back two jobs on
one card ran to within 2 and 4 % of their budgets (docs/performance.md)."""


def slack_here(environment: Mapping[str, str] = os.environ) -> Slack:
    """The slack of PyTorch's allocator in a process of this environment."""
    return GROWING if "expandable_segments:True" in environment.get("PYTORCH_ALLOC_CONF", "") else FIXED


def held_bytes(allocated_bytes: int, *, slack: Slack = GROWING) -> int:
    """What the allocator holds of a card when so much is handed out at the fullest moment.

    Args:
        allocated_bytes: Tensors and workspaces together, as a forecast counts them.
        slack: The allocator's.
    """
    return allocated_bytes + slack.fixed_bytes + round(allocated_bytes * slack.share)


def allocatable_bytes(budget_bytes: int, *, slack: Slack = GROWING) -> int:
    """The most that a plan may hand out, so that the allocator stays within a budget."""
    return max(0, int((budget_bytes - slack.fixed_bytes) / (1 + slack.share)))


@dataclass(frozen=True, kw_only=True)
class WorkspaceSizes:
    """What one thread on one stream takes of a card for its matrix products.

    Attributes:
        product_bytes: For products.
        biased_bytes: On top of that, for products that add a bias in the same call.
    """

    product_bytes: int
    biased_bytes: int = 0


def training_workspaces_bytes(
    layout: Layout,
    sizes: WorkspaceSizes,
    *,
    is_pipelined: bool,
    with_bias: bool = False,
    replays_blocks: bool = False,
) -> tuple[int, ...]:
    """The workspaces on each card once a few steps have run.

    Args:
        layout: The plan.
        sizes: Of one workspace.
        is_pipelined: Whether the step executor runs the step; else one thread runs forwards, and one backwards.
        with_bias: Whether the model outside its blocks adds biases.
        replays_blocks: Whether blocks are replayed from captured graphs: they work in their own memory.
    """
    num_threads = most_under_way(layout.order, num_chunks=len(layout.chunk_sizes)) if is_pipelined else 1
    outside_bytes = sizes.product_bytes + (sizes.biased_bytes if with_bias else 0)
    used = set(layout.card_of_chunk) | {layout.home}
    found: list[int] = []
    for card in layout.cards:
        if card not in used:
            found.append(0)
            continue
        # Capturing runs one block forward and backward as it is, and then once more on a stream of its own.
        forwards = 2 if replays_blocks else num_threads
        backwards = 2 if replays_blocks else 1
        total = (forwards + backwards) * sizes.product_bytes
        if card == layout.home:
            # The code around the blocks runs in every thread: the prologue where blocks run, the tail on its stream.
            further = num_threads if replays_blocks else 0
            tails = num_threads * outside_bytes + sizes.product_bytes if is_pipelined else 0
            total += further * sizes.product_bytes + num_threads * (outside_bytes - sizes.product_bytes) + tails
        found.append(total)
    return tuple(found)


def sampling_workspaces_bytes(layout: Layout, sizes: WorkspaceSizes, *, with_bias: bool = False) -> tuple[int, ...]:
    """The workspaces on each card that evaluations outside of training steps take: one thread makes them.

    Args:
        layout: The plan.
        sizes: Of one workspace.
        with_bias: Whether the model outside its blocks adds biases.
    """
    used = set(layout.card_of_chunk) | {layout.home}
    bias_bytes = sizes.biased_bytes if with_bias else 0
    return tuple(sizes.product_bytes * (card in used) + bias_bytes * (card == layout.home) for card in layout.cards)


def most_under_way(order: Sequence[Op], *, num_chunks: int) -> int:
    """The most micro-batches that are in the middle of their forward at once.

    Args:
        order: The operations of a step in the order in which they are issued.
        num_chunks: Chunks of the model.
    """
    begun, most = set[int](), 0
    for kind, chunk, microbatch in order:
        if kind == "F":
            begun.add(microbatch)
            most = max(most, len(begun))
            if chunk == num_chunks - 1:
                begun.discard(microbatch)
    return most
