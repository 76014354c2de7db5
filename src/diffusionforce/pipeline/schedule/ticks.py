"""The ops of a schedule, what each waits for, and a check that a list of them is a schedule. No torch here.

A schedule is one list of ops in the order in which a single host thread issues them. Restricted to the chunks of one
device it is that device's program, because devices run what they are given in order.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple


class Op(NamedTuple):
    """The forward ("F") or backward ("B") of one chunk for one micro-batch.

    The forward of chunk 0 includes the prologue. The tail (head and loss, forward and backward) belongs to no op: it
    runs between the forward and the backward of the last chunk, as soon as its input is there.
    """

    kind: Literal["F", "B"]
    chunk: int
    microbatch: int

    def __str__(self) -> str:
        return f"{self.kind}{self.chunk}.{self.microbatch}"


def all_ops(*, num_chunks: int, num_microbatches: int) -> list[Op]:
    """Every op of a step, in no useful order."""
    kinds: tuple[Literal["F", "B"], ...] = ("F", "B")
    return [
        Op(kind, chunk, microbatch)
        for microbatch in range(num_microbatches)
        for chunk in range(num_chunks)
        for kind in kinds
    ]


def needs(op: Op, *, num_chunks: int) -> Op | None:
    """The op whose result this op takes in; None for the forward of chunk 0."""
    if op.kind == "F":
        return Op("F", op.chunk - 1, op.microbatch) if op.chunk else None
    if op.chunk == num_chunks - 1:
        return Op("F", op.chunk, op.microbatch)
    return Op("B", op.chunk + 1, op.microbatch)


def validate(order: Iterable[Op], *, num_chunks: int, num_microbatches: int, max_live: int | None = None) -> list[Op]:
    """Check that a list runs every op once, after what it needs, with few enough micro-batches in flight.

    Args:
        order: The ops in issue order.
        num_chunks: Chunks of the model.
        num_microbatches: Micro-batches of the step.
        max_live: The most micro-batches that any chunk may hold between their forward and their backward.

    Returns:
        The ops as a list.

    Raises:
        ValueError: The list is no schedule; the message names the position and the op.
    """
    listed = list(order)
    missing = set(all_ops(num_chunks=num_chunks, num_microbatches=num_microbatches))
    live = [0] * num_chunks
    done: set[Op] = set()
    for position, op in enumerate(listed):
        if op in done:
            raise ValueError(f"position {position}: {op} is listed twice")
        if op not in missing:
            raise ValueError(f"position {position}: {op} is no op of this step")
        needed = needs(op, num_chunks=num_chunks)
        if needed is not None and needed not in done:
            raise ValueError(f"position {position}: {op} runs before {needed}")
        missing.discard(op)
        done.add(op)
        live[op.chunk] += 1 if op.kind == "F" else -1
        if max_live is not None and live[op.chunk] > max_live:
            raise ValueError(f"position {position}: {op} makes {live[op.chunk]} live micro-batches, limit {max_live}")
    if missing:
        raise ValueError(f"{len(missing)} ops are missing, the first is {min(missing)}")
    return listed


def peak_live(order: Sequence[Op], *, num_chunks: int) -> list[int]:
    """The most micro-batches that each chunk holds at once between their forward and their backward."""
    live, peak = [0] * num_chunks, [0] * num_chunks
    for op in order:
        live[op.chunk] += 1 if op.kind == "F" else -1
        peak[op.chunk] = max(peak[op.chunk], live[op.chunk])
    return peak
