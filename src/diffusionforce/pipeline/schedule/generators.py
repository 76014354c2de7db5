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
from dataclasses import replace

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


def turns(costs: Costs, *, num_microbatches: int) -> list[Op]:
    """One micro-batch after the other, forward and backward: what an unscheduled split model does.

    Args:
        costs: Of which only the number of chunks counts.
        num_microbatches: Micro-batches of the step.

    Returns:
        The ops in issue order.
    """
    return [
        op
        for microbatch in range(num_microbatches)
        for op in [
            *(Op("F", chunk, microbatch) for chunk in range(costs.num_chunks)),
            *(Op("B", chunk, microbatch) for chunk in reversed(range(costs.num_chunks))),
        ]
    ]


def gpipe(costs: Costs, *, num_microbatches: int) -> list[Op]:
    """All forwards, then all backwards.

    Args:
        costs: Where the chunks are, which gives each device's order, and what they cost, which gives the issue order
            across devices.
        num_microbatches: Micro-batches of the step.

    Returns:
        The ops in issue order.
    """
    devices = list(dict.fromkeys(costs.device_of))
    group = len(devices)
    programs: dict[Hashable, list[Op]] = {}
    for device in devices:
        mine = [chunk for chunk, at in enumerate(costs.device_of) if at == device]
        rounds = [range(first, min(first + group, num_microbatches)) for first in range(0, num_microbatches, group)]
        forwards = [Op("F", chunk, m) for members in rounds for chunk in mine for m in members]
        backwards = [Op("B", chunk, m) for members in rounds for chunk in reversed(mine) for m in members]
        programs[device] = forwards + backwards
    return _merged(programs, costs)


def one_f_one_b(costs: Costs, *, num_microbatches: int) -> list[Op]:
    """One chunk a device: some forwards ahead, then forward and backward in turn. Arguments as for `gpipe`.

    Raises:
        ValueError: A device has more than one chunk.
    """
    num_chunks, num_devices = costs.num_chunks, len(set(costs.device_of))
    if num_devices != num_chunks:
        raise ValueError(f"1F1B wants one chunk a device, not {num_chunks} chunks on {num_devices} devices")
    programs: dict[Hashable, list[Op]] = {}
    for rank, device in enumerate(costs.device_of):
        forwards = [Op("F", rank, m) for m in range(num_microbatches)]
        backwards = [Op("B", rank, m) for m in range(num_microbatches)]
        programs[device] = _alternating(forwards, backwards, num_ahead=min(num_chunks - rank - 1, num_microbatches))
    return _merged(programs, costs)


def interleaved(costs: Costs, *, num_microbatches: int) -> list[Op]:
    """Interleaved 1F1B: several chunks a device, the devices in turn. Arguments as for `gpipe`.

    Micro-batches travel in groups as large as the number of devices. A last short group is filled up with
    micro-batches that do not exist, whose ops are then left out.

    Raises:
        ValueError: The chunks do not lie on the devices in turn, equally many on each.
    """
    if not _in_turn(costs):
        raise ValueError(f"interleaving wants the devices in turn, not {list(map(str, costs.device_of))}")
    devices = list(dict.fromkeys(costs.device_of))
    num_devices = len(devices)
    if costs.num_chunks == num_devices:
        return one_f_one_b(costs, num_microbatches=num_microbatches)
    chunks_each = costs.num_chunks // num_devices
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
    costs: Costs, *, num_microbatches: int, max_live: int | None = None, priority: Priority | None = None
) -> list[Op]:
    """List scheduling with the real costs: always the op that can start first.

    Args:
        costs: What the chunks cost and where they are, in any pattern.
        num_microbatches: Micro-batches of the step.
        max_live: The most micro-batches in flight at once, at least 1. Fewer hold less memory and idle more.
        priority: Decides between ops that could start at the same time; backwards first if left out.

    Returns:
        The ops in issue order.

    Raises:
        ValueError: `max_live` is below 1.
    """
    if max_live is not None and max_live < 1:
        raise ValueError(f"at least one micro-batch must be in flight, not {max_live}")
    prefer = priority or backward_first(num_devices=len(set(costs.device_of)))
    clock = Clock(costs)
    open_ops = _Frontier(num_chunks=costs.num_chunks, num_microbatches=num_microbatches, max_live=max_live)
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


def best(costs: Costs, *, num_microbatches: int, max_live: int | None = None) -> list[Op]:
    """The fastest schedule that a clock finds among all generators; the one that holds least if several are equal.

    Args:
        costs: What the chunks cost and where they are.
        num_microbatches: Micro-batches of the step.
        max_live: The most live micro-batches a chunk may have.

    Returns:
        The ops in issue order.

    Raises:
        ValueError: `max_live` is below 1.
    """
    ranked: list[tuple[float, int, int, list[Op]]] = []
    for index, order in enumerate(_candidates(costs, num_microbatches=num_microbatches, max_live=max_live)):
        live = peak_live(order, num_chunks=costs.num_chunks)
        if max_live is None or max(live) <= max_live:
            ranked.append((round(simulate(order, costs=costs).step_s, 9), sum(live), index, order))
    return min(ranked)[-1]


def _candidates(costs: Costs, *, num_microbatches: int, max_live: int | None) -> Iterable[list[Op]]:
    num_devices = len(set(costs.device_of))
    limits = {max_live} if max_live is not None else {None, num_devices, num_devices + 1, 2 * num_devices}
    # Where boundaries cost nothing, ops of several micro-batches are ready at the same instant, and greedy choices
    # can lock into a pattern that leaves devices waiting. Planning with a small cost breaks the ties usefully.
    nudge_s = 0.02 * min(costs.forward_s)
    transfers = [costs.transfer_s, nudge_s] if costs.transfer_s == 0.0 else [costs.transfer_s]
    for limit, transfer_s, priority in itertools.product(
        sorted(limits, key=str), transfers, (backward_first, forward_first)
    ):
        yield greedy(
            replace(costs, transfer_s=transfer_s),
            num_microbatches=num_microbatches,
            max_live=limit,
            priority=priority(num_devices=num_devices),
        )
    if _in_turn(costs):
        yield interleaved(costs, num_microbatches=num_microbatches)


def _in_turn(costs: Costs) -> bool:
    """Whether the chunks lie on the devices in turn, equally many on each."""
    devices = list(dict.fromkeys(costs.device_of))
    return list(costs.device_of) == devices * (costs.num_chunks // len(devices))


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
