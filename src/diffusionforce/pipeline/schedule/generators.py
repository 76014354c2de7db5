"""Schedules as data: in which order the chunks of a model run forward and backward for the micro-batches of a step.

Taking turns leaves every card but one idle. Running all forwards first (GPipe) fills the cards but keeps every
micro-batch's activations. One-forward-one-backward keeps few, and interleaving several chunks a card shrinks the idle
start and end of a step to one chunk. With unequal cards no fixed pattern is right; `greedy` schedules with the real
costs, and `best` takes whichever a clock finds fastest.

Every generator is a pure function that gives the ops in issue order; `validate` checks them, `simulate` times them.
No torch here.
"""

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence

from diffusionforce.pipeline.schedule.simulation import Clock, Costs, Span, Timeline, TransferSeconds, draw, simulate
from diffusionforce.pipeline.schedule.ticks import Op, all_ops, needs, peak_live, validate

__all__ = [
    "Clock",
    "Costs",
    "Op",
    "Span",
    "Timeline",
    "TransferSeconds",
    "all_ops",
    "best",
    "draw",
    "gpipe",
    "greedy",
    "interleaved",
    "needs",
    "one_f_one_b",
    "peak_live",
    "simulate",
    "turns",
    "validate",
]

Priority = Callable[[Op], tuple[int, ...]]
"""Among ops that could start at the same time the one with the smallest priority runs first."""


def turns(*, num_chunks: int, num_microbatches: int) -> list[Op]:
    """One micro-batch after the other, forward and backward: what an unscheduled split model does."""
    return [
        op
        for microbatch in range(num_microbatches)
        for op in [
            *(Op("F", chunk, microbatch) for chunk in range(num_chunks)),
            *(Op("B", chunk, microbatch) for chunk in reversed(range(num_chunks))),
        ]
    ]


def gpipe(
    *,
    num_chunks: int,
    num_microbatches: int,
    device_of: Sequence[Hashable],
    forward_s: Sequence[float] | None = None,
    backward_s: Sequence[float] | None = None,
) -> list[Op]:
    """All forwards, then all backwards.

    Args:
        num_chunks: Chunks of the model.
        num_microbatches: Micro-batches of the step.
        device_of: The device of each chunk.
        forward_s: Seconds of each chunk's forward, for the issue order across devices; 1 each if left out.
        backward_s: Seconds of each chunk's backward; 2 each if left out.

    Returns:
        The ops in issue order.
    """
    costs = _costs(num_chunks, device_of, forward_s, backward_s)
    group = len(dict.fromkeys(device_of))
    programs: dict[Hashable, list[Op]] = {}
    for device in dict.fromkeys(device_of):
        mine = [chunk for chunk in range(num_chunks) if device_of[chunk] == device]
        rounds = [range(first, min(first + group, num_microbatches)) for first in range(0, num_microbatches, group)]
        forwards = [Op("F", chunk, m) for members in rounds for chunk in mine for m in members]
        backwards = [Op("B", chunk, m) for members in rounds for chunk in reversed(mine) for m in members]
        programs[device] = forwards + backwards
    return _merged(programs, costs)


def one_f_one_b(
    *,
    num_chunks: int,
    num_microbatches: int,
    device_of: Sequence[Hashable],
    forward_s: Sequence[float] | None = None,
    backward_s: Sequence[float] | None = None,
) -> list[Op]:
    """One chunk a device: some forwards ahead, then forward and backward in turn. Arguments as for `gpipe`.

    Raises:
        ValueError: A device has more than one chunk.
    """
    if len(set(device_of)) != num_chunks:
        raise ValueError(f"1F1B wants one chunk a device, not {num_chunks} chunks on {len(set(device_of))} devices")
    costs = _costs(num_chunks, device_of, forward_s, backward_s)
    programs: dict[Hashable, list[Op]] = {}
    for rank, device in enumerate(device_of):
        forwards = [Op("F", rank, m) for m in range(num_microbatches)]
        backwards = [Op("B", rank, m) for m in range(num_microbatches)]
        programs[device] = _alternating(forwards, backwards, num_ahead=min(num_chunks - rank - 1, num_microbatches))
    return _merged(programs, costs)


def interleaved(
    *,
    num_chunks: int,
    num_microbatches: int,
    device_of: Sequence[Hashable],
    forward_s: Sequence[float] | None = None,
    backward_s: Sequence[float] | None = None,
) -> list[Op]:
    """Interleaved 1F1B: several chunks a device, the devices in turn. Arguments as for `gpipe`.

    Micro-batches travel in groups as large as the number of devices. A last short group is filled up with
    micro-batches that do not exist, whose ops are then left out.

    Raises:
        ValueError: The chunks do not lie on the devices in turn, equally many on each.
    """
    devices = list(dict.fromkeys(device_of))
    num_devices = len(devices)
    if num_chunks % num_devices or list(device_of) != devices * (num_chunks // num_devices):
        raise ValueError(f"interleaving wants the devices in turn, not {list(map(str, device_of))}")
    if num_chunks == num_devices:
        return one_f_one_b(
            num_chunks=num_chunks,
            num_microbatches=num_microbatches,
            device_of=device_of,
            forward_s=forward_s,
            backward_s=backward_s,
        )
    costs = _costs(num_chunks, device_of, forward_s, backward_s)
    chunks_each = num_chunks // num_devices
    num_filled = -(-num_microbatches // num_devices) * num_devices
    programs: dict[Hashable, list[Op]] = {}
    for rank, device in enumerate(devices):
        forwards: list[Op] = []
        backwards: list[Op] = []
        for first in range(0, num_filled, num_devices):
            for turn, m in itertools.product(range(chunks_each), range(first, first + num_devices)):
                forwards.append(Op("F", turn * num_devices + rank, m))
                backwards.append(Op("B", (chunks_each - 1 - turn) * num_devices + rank, m))
        num_ahead = min((num_devices - rank - 1) * 2 + (chunks_each - 1) * num_devices, len(forwards))
        ordered = _alternating(forwards, backwards, num_ahead=num_ahead)
        programs[device] = [op for op in ordered if op.microbatch < num_microbatches]
    return _merged(programs, costs)


def greedy(
    *,
    num_chunks: int,
    num_microbatches: int,
    device_of: Sequence[Hashable],
    forward_s: Sequence[float] | None = None,
    backward_s: Sequence[float] | None = None,
    transfer_s: TransferSeconds = 0.0,
    tail_s: float = 0.0,
    max_live: int | None = None,
    priority: Priority | None = None,
) -> list[Op]:
    """List scheduling with the real costs: always the op that can start first.

    Args:
        num_chunks: Chunks of the model.
        num_microbatches: Micro-batches of the step.
        device_of: The device of each chunk, in any pattern.
        forward_s: Seconds of each chunk's forward; 1 each if left out.
        backward_s: Seconds of each chunk's backward; 2 each if left out.
        transfer_s: Seconds that a boundary takes from device to device.
        tail_s: Seconds between the last chunk's forward and its backward.
        max_live: The most micro-batches in flight at once, at least 1. Fewer hold less memory and idle more.
        priority: Decides between ops that could start at the same time; backwards first if left out.

    Returns:
        The ops in issue order.

    Raises:
        ValueError: `max_live` is below 1.
    """
    if max_live is not None and max_live < 1:
        raise ValueError(f"at least one micro-batch must be in flight, not {max_live}")
    costs = _costs(num_chunks, device_of, forward_s, backward_s, transfer_s, tail_s)
    prefer = priority or backward_first(num_devices=len(set(device_of)))
    clock = Clock(costs)
    open_ops = _Frontier(num_chunks=num_chunks, num_microbatches=num_microbatches, max_live=max_live)
    while candidates := open_ops.candidates():
        chosen = min(candidates, key=lambda op: (clock.start_s(op), prefer(op)))
        clock.run(chosen)
        open_ops.run(chosen)
    return [span.op for span in clock.spans]


def backward_first(*, num_devices: int) -> Priority:
    """Backwards before forwards; micro-batches in groups of the number of devices, the deepest chunk first."""

    def prefer(op: Op) -> tuple[int, ...]:
        group = op.microbatch // num_devices
        return (0, group, -op.chunk, op.microbatch) if op.kind == "B" else (1, group, op.chunk, op.microbatch)

    return prefer


def forward_first(*, num_devices: int) -> Priority:
    """Forwards before backwards: fills the pipeline sooner and holds more."""
    other = backward_first(num_devices=num_devices)
    return lambda op: (1 - other(op)[0], *other(op)[1:])


def best(
    *,
    num_microbatches: int,
    costs: Costs,
    max_live: int | None = None,
) -> list[Op]:
    """The fastest schedule that a clock finds among all generators; the one that holds least if several are equal.

    Args:
        num_microbatches: Micro-batches of the step.
        costs: What the chunks cost and where they are.
        max_live: The most live micro-batches a chunk may have.

    Returns:
        The ops in issue order.

    Raises:
        ValueError: `max_live` is below 1.
    """
    num_chunks = costs.num_chunks
    ranked: list[tuple[float, int, int, list[Op]]] = []
    for index, order in enumerate(_candidates(num_microbatches, costs, max_live)):
        if max_live is not None and max(peak_live(order, num_chunks=num_chunks)) > max_live:
            continue
        clock = Clock(costs)
        for op in order:
            clock.run(op)
        step_s = Timeline.of_spans(clock.spans).step_s
        ranked.append((round(step_s, 9), sum(peak_live(order, num_chunks=num_chunks)), index, order))
    return min(ranked)[-1]


def _candidates(num_microbatches: int, costs: Costs, max_live: int | None) -> Iterable[list[Op]]:
    devices = list(dict.fromkeys(costs.device_of))
    limits = {max_live} if max_live is not None else {None, len(devices), len(devices) + 1, 2 * len(devices)}
    # Where boundaries cost nothing, ops of several micro-batches are ready at the same instant, and greedy choices
    # can lock into a pattern that leaves devices waiting. Planning with a small cost breaks the ties usefully.
    nudge_s = 0.02 * min(costs.forward_s)
    transfers = [costs.transfer_s, nudge_s] if costs.transfer_s == 0.0 else [costs.transfer_s]
    for limit, transfer_s, priority in itertools.product(
        sorted(limits, key=str), transfers, (backward_first, forward_first)
    ):
        yield greedy(
            num_chunks=costs.num_chunks,
            num_microbatches=num_microbatches,
            device_of=costs.device_of,
            forward_s=costs.forward_s,
            backward_s=costs.backward_s,
            transfer_s=transfer_s,
            tail_s=costs.tail_s,
            max_live=limit,
            priority=priority(num_devices=len(devices)),
        )
    if list(costs.device_of) == devices * (costs.num_chunks // len(devices)):
        yield interleaved(
            num_chunks=costs.num_chunks,
            num_microbatches=num_microbatches,
            device_of=costs.device_of,
            forward_s=costs.forward_s,
            backward_s=costs.backward_s,
        )


class _Frontier:
    """The next op of every micro-batch, forwards of a chunk in micro-batch order."""

    def __init__(self, *, num_chunks: int, num_microbatches: int, max_live: int | None) -> None:
        self._num_chunks, self._max_live = num_chunks, max_live
        self._next: dict[int, Op] = {m: Op("F", 0, m) for m in range(num_microbatches)}
        self._num_live = 0

    def candidates(self) -> list[Op]:
        """Every op whose input exists and that may start."""
        found: list[Op] = []
        seen_chunks: set[int] = set()
        full = self._max_live is not None and self._num_live >= self._max_live
        for op in self._next.values():
            if op.kind == "B":
                found.append(op)
            elif op.chunk not in seen_chunks and not (op.chunk == 0 and full):
                seen_chunks.add(op.chunk)
                found.append(op)
        return found

    def run(self, op: Op) -> None:
        """Take an op off and put its successor in."""
        m = op.microbatch
        if op == Op("F", 0, m):
            self._num_live += 1
        if op.kind == "F":
            deeper = op.chunk + 1 < self._num_chunks
            self._next[m] = Op("F", op.chunk + 1, m) if deeper else Op("B", op.chunk, m)
        elif op.chunk:
            self._next[m] = Op("B", op.chunk - 1, m)
        else:
            del self._next[m]
            self._num_live -= 1


def _costs(
    num_chunks: int,
    device_of: Sequence[Hashable],
    forward_s: Sequence[float] | None,
    backward_s: Sequence[float] | None,
    transfer_s: TransferSeconds = 0.0,
    tail_s: float = 0.0,
) -> Costs:
    if len(device_of) != num_chunks:
        raise ValueError(f"{num_chunks} chunks need {num_chunks} devices, not {len(device_of)}")
    return Costs(
        device_of=device_of,
        forward_s=forward_s if forward_s is not None else [1.0] * num_chunks,
        backward_s=backward_s if backward_s is not None else [2.0] * num_chunks,
        transfer_s=transfer_s,
        tail_s=tail_s,
    )


def _merged(programs: dict[Hashable, list[Op]], costs: Costs) -> list[Op]:
    """One issue order of all devices' programs: by the time at which each op would start."""
    clock = Clock(costs)
    queues = {device: list(reversed(ops)) for device, ops in programs.items()}
    while any(queues.values()):
        heads = [(device, ops[-1]) for device, ops in queues.items() if ops and clock.is_ready(ops[-1])]
        if not heads:
            raise ValueError("the devices' programs wait for each other")
        device, op = min(heads, key=lambda head: (clock.start_s(head[1]), head[1].chunk, head[1].microbatch))
        queues[device].pop()
        clock.run(op)
    return [span.op for span in clock.spans]


def _alternating(forwards: Sequence[Op], backwards: Sequence[Op], *, num_ahead: int) -> list[Op]:
    """`num_ahead` forwards, then one forward and one backward in turn, then the remaining backwards."""
    ordered = list(forwards[:num_ahead])
    for index in range(num_ahead, len(forwards)):
        ordered += [forwards[index], backwards[index - num_ahead]]
    return ordered + list(backwards[len(forwards) - num_ahead :])
