"""The forecast of a job's step time: measured seconds of blocks and links, on the clock of the pipeline."""

from collections.abc import Sequence

import torch
from torch import nn

from diffusionforce.pipeline.schedule.simulation import Clock, Costs, Span
from diffusionforce.pipeline.schedule.ticks import Op
from diffusionforce.pipeline.splitter.calibration import LinkRates
from diffusionforce.pipeline.splitter.costs import BlockSizes, CardCosts, RigCosts
from diffusionforce.pipeline.splitter.model import Cut, Share, chunk_costs, modelled_step
from diffusionforce.trainer.forecast_bench.models import BenchModel, blocks_of
from diffusionforce.trainer.forecast_bench.planning import NUM_SLOTS, PlannedJob
from diffusionforce.trainer.forecast_bench.speeds import (
    FEW_TOKENS,
    Arguments,
    BlockSpeed,
    block_speed,
    calls_of,
    links,
    optimizer_s,
    sample_speed,
)

_MOST_OPTIMIZED = 10
"""Blocks whose optimiser step is timed; the others take as long each."""
_NO_BUDGET = 1 << 50


class IssuedClock(Clock):
    """A clock with a host that issues one op after the other, and is waited for where it is the slower one.

    Args:
        costs: Of the cards.
        host_forward_s: Seconds in which the host issues each chunk's forward.
        host_backward_s: The same for the backward.
    """

    def __init__(self, costs: Costs, *, host_forward_s: Sequence[float], host_backward_s: Sequence[float]) -> None:
        super().__init__(costs)
        self._host_forward_s, self._host_backward_s = host_forward_s, host_backward_s
        self._host_free_s = 0.0

    def run(self, op: Op) -> Span:
        """Run an op: it starts when the host begins to issue it, and ends no sooner than the host is done with it."""
        issue_s = (self._host_forward_s if op.kind == "F" else self._host_backward_s)[op.chunk]
        begin_s, self._host_free_s = self._host_free_s, self._host_free_s + issue_s
        device = self._costs.device_of[op.chunk]
        start_s = max(self.start_s(op), begin_s)
        span = Span(op, device, start_s, max(start_s + self._costs.seconds(op), self._host_free_s))
        self.spans.append(span)
        self._device_free_s[device] = span.end_s
        self._send(op, device, span.end_s)
        return span


class Timing:
    """Measures what is needed, once, and predicts.

    Args:
        devices: One a card.
    """

    def __init__(self, devices: Sequence[torch.device]) -> None:
        self._devices = tuple(devices)
        self._speeds: dict[tuple[object, ...], BlockSpeed] = {}
        self._calls: dict[tuple[str, int, int], Arguments] = {}
        self._links: dict[int, LinkRates] = {}
        self._optimizers: dict[tuple[str, int], float] = {}

    def predicted_s(self, model: BenchModel, module: nn.Module, planned: PlannedJob) -> float:
        """Seconds of a step, or of an evaluation.

        Args:
            model: The job's model.
            module: It, placed as planned.
            planned: The job.
        """
        blocks = blocks_of(module)
        speeds = [self._speeds_on(card, model, blocks, planned) for card in planned.layout.cards]
        rig = self._rig(planned, speeds)
        cut = planned.cut
        if planned.job.is_sample:
            cut = Cut(
                chunk_sizes=cut.chunk_sizes,
                card_of_chunk=cut.card_of_chunk,
                order=tuple(Op("F", chunk, 0) for chunk in range(len(cut.chunk_sizes))),
            )
        clock = IssuedClock(
            chunk_costs(rig, cut),
            host_forward_s=_chunk_seconds(cut, [[one.host_forward_s for one in mine] for mine in speeds]),
            host_backward_s=_chunk_seconds(cut, [[one.host_backward_s for one in mine] for mine in speeds]),
        )
        for op in cut.order:
            clock.run(op)
        step_s = max(span.end_s for span in clock.spans)
        if planned.layout.paged:
            shares = [_share(planned, card) for card in planned.layout.cards]
            step_s = max(step_s, modelled_step(rig, cut, shares).step_s)
        return step_s if planned.job.is_sample else step_s + self._between_steps_s(model, blocks)

    def _speeds_on(
        self, card: int, model: BenchModel, blocks: Sequence[nn.Module], planned: PlannedJob
    ) -> list[BlockSpeed]:
        """Every block's speed on a card, measured with the first block of its class there."""
        mine = planned.layout.blocks_of(card) or (0,)
        first_of = {type(blocks[block]): block for block in reversed(mine)}
        everywhere = {type(block): index for index, block in reversed(list(enumerate(blocks)))}
        job = planned.job
        known: dict[type, BlockSpeed] = {}
        for kind, anywhere in everywhere.items():
            block = first_of.get(kind, anywhere)
            # What a block does is timed where it lies; a class that a card lacks is as fast as on the other.
            device = next(blocks[block].parameters()).device
            key = model.name, kind, job.num_tokens, job.recompute, job.is_sample, str(device)
            if key not in self._speeds:
                self._speeds[key] = self._measured(model, blocks[block], block, planned, device)
            known[kind] = self._speeds[key]
        return [known[type(block)] for block in blocks]

    def _measured(
        self, model: BenchModel, block: nn.Module, index: int, planned: PlannedJob, device: torch.device
    ) -> BlockSpeed:
        job = planned.job
        call = self._call(model, job.num_tokens, index)
        if job.is_sample:
            return sample_speed(block, call, device=device)
        few = self._call(model, min(FEW_TOKENS, job.num_tokens), index)
        return block_speed(block, call, few, device=device, recompute=job.recompute, autocast=model.name == "pocket")

    def _call(self, model: BenchModel, num_tokens: int, index: int) -> Arguments:
        key = model.name, num_tokens, index
        if key not in self._calls:
            self._calls[key] = calls_of(model, num_tokens=num_tokens, blocks=[index])[0]
        return self._calls[key]

    def _rig(self, planned: PlannedJob, speeds: Sequence[Sequence[BlockSpeed]]) -> RigCosts:
        footprint = planned.footprint
        boundary_bytes = max(block.output_bytes for block in footprint.blocks)
        if boundary_bytes not in self._links:
            self._links[boundary_bytes] = links(self._devices, boundary_bytes=boundary_bytes)
        rates, cards = self._links[boundary_bytes], planned.layout.cards
        return RigCosts(
            cards=tuple(
                CardCosts(
                    name=str(self._devices[card]),
                    budget_bytes=_NO_BUDGET,
                    fixed_bytes=0,
                    forward_s=tuple(one.forward_s for one in speeds[card]),
                    backward_s=tuple(one.backward_s for one in speeds[card]),
                    paging_bytes_per_s=rates.paging_bytes_per_s[card],
                )
                for card in cards
            ),
            blocks=BlockSizes(
                weights=tuple(block.part.paged_bytes for block in footprint.blocks),
                kept=tuple(block.kept_bytes for block in footprint.blocks),
            ),
            crossing_s=tuple(tuple(rates.crossing_s[a][b] for b in cards) for a in cards),
        )

    def _between_steps_s(self, model: BenchModel, blocks: Sequence[nn.Module]) -> float:
        """The optimiser's step for all blocks."""
        num = min(len(blocks), _MOST_OPTIMIZED)
        key = model.name, len(blocks)
        if key not in self._optimizers:
            home = next(blocks[0].parameters()).device
            some = [b for b in blocks if next(b.parameters()).device == home][:num]
            parameters = [p for block in some for p in block.parameters() if p.requires_grad]
            self._optimizers[key] = optimizer_s(parameters, model) * len(blocks) / len(some)
        return self._optimizers[key]


def _share(planned: PlannedJob, card: int) -> Share:
    """What the paged clock asks of a card."""
    layout = planned.layout
    mine = layout.blocks_of(card)
    return Share(
        name=str(card),
        blocks=mine,
        paged=frozenset(mine) & layout.paged,
        num_slots=(layout.num_slots[card] if layout.num_slots else 0) or NUM_SLOTS,
        resident_bytes=0,
        slots_bytes=0,
        kept_bytes=0,
        fixed_bytes=0,
        budget_bytes=_NO_BUDGET,
    )


def _chunk_seconds(cut: Cut, block_s: Sequence[Sequence[float]]) -> list[float]:
    pairs = zip(cut.chunks, cut.card_of_chunk, strict=True)
    return [sum(block_s[card][block] for block in chunk) for chunk, card in pairs]
