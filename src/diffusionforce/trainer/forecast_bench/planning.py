"""A job's plan and the memory that is forecast for it, without a card: traces, placements, walks.

The plan is what the job is then run with, block by block and operation by operation, so that forecast and measurement
speak of the same thing. Where a job has a budget, the planner places its blocks and pages what does not fit.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.schedule.simulation import Costs
from diffusionforce.pipeline.splitter.model import Cut
from diffusionforce.pipeline.splitter.search import SCHEDULES
from diffusionforce.pipeline.tracer.trace import Subject, trace_sampling, trace_training
from diffusionforce.trainer.forecast_bench.jobs import BenchJob, Recompute
from diffusionforce.trainer.forecast_bench.models import BenchModel, blocks_of
from diffusionforce.ugpum.allocator import (
    WorkspaceSizes,
    allocatable_bytes,
    held_bytes,
    sampling_workspaces_bytes,
    slack_here,
    training_workspaces_bytes,
)
from diffusionforce.ugpum.estimate import PlanCard, spread
from diffusionforce.ugpum.footprint import CardRates, Footprint
from diffusionforce.ugpum.forecast import CardForecast, Forecast, Layout, forecast_sampling, forecast_training
from diffusionforce.ugpum.imagined import rated_variant
from diffusionforce.ugpum.planner import Wish, plan
from diffusionforce.ugpum.replayed import Replayed, replayed

_NOMINAL_RATES, _NOMINAL_LINK_BYTES_PER_S = CardRates(flops=6e14, memory_bytes_per_s=3e12), 5e10
"""For the planner's choice among placements of equal cards; the forecast of time uses what is measured."""
NUM_SLOTS = 3
WAITING_TOKENS, WAITING_MICROBATCHES = 1024, 2
"""Of the training that waits while a sample is made."""


@dataclass(frozen=True, kw_only=True)
class PlannedJob:
    """A job, how it is to be run, and what it is forecast to hold."""

    job: BenchJob
    layout: Layout
    cut: Cut
    """The same placement and order for the pipeline."""
    num_aside: tuple[int, ...]
    """For a sample: the blocks of each card that step aside."""
    forecast: Forecast
    footprint: Footprint
    pool_bytes: int = 0
    """What captured graphs work in, on each card: held by the allocator and not handed out."""

    @property
    def aside(self) -> tuple[frozenset[int], ...]:
        """For a sample: the blocks that step aside, card by card."""
        return tuple(spread(self.layout.blocks_of(card), num) for card, num in enumerate(self.num_aside))

    def held_bytes(self, card: int) -> int:
        """What the allocator is expected to hold of a card at the fullest moment."""
        return held_bytes(self.forecast.peak_bytes[card] + self.pool_bytes, slack=slack_here())


class Planning:
    """Plans jobs and forecasts their memory.

    Args:
        models: All models by name.
        workspaces: What libraries take of a card for one thread and stream.
    """

    def __init__(self, models: dict[str, BenchModel], workspaces: WorkspaceSizes) -> None:
        self._models, self._workspaces = models, workspaces
        self._traces: dict[tuple[Any, ...], Footprint] = {}

    def planned(self, job: BenchJob) -> PlannedJob:
        """Plan a job.

        Raises:
            DeviceError: It does not fit its budget, however it is placed.
        """
        return self._planned_sample(job) if job.is_sample else self._planned_training(job)

    def footprint(self, job: BenchJob) -> Footprint:
        """What the job's model needs for one micro-batch, or one evaluation; traced once."""
        # Graphs are captured from blocks that the pipeline recomputes.
        recompute = "pipeline" if job.recompute == "graphs" else job.recompute
        key = job.model, job.num_tokens, recompute, job.is_sample
        if key not in self._traces:
            subject = subject_of(self._models[job.model], num_tokens=job.num_tokens, recompute=recompute)
            trace = trace_sampling(subject) if job.is_sample else trace_training(subject)
            self._traces[key] = Footprint.from_json(trace.to_json())
        return self._traces[key]

    def _planned_training(self, job: BenchJob) -> PlannedJob:
        footprint = self.footprint(job)
        graphs = replayed(footprint) if job.recompute == "graphs" else None
        layout = self._placed(job, footprint) if job.budget_bytes else self._even(job)
        walked = footprint if graphs is None else graphs.footprint
        forecast = forecast_training(walked, layout, constant_bytes=self._constants(job, layout, graphs))
        return PlannedJob(
            job=job,
            layout=layout,
            cut=_cut(layout),
            num_aside=(),
            forecast=forecast,
            footprint=footprint,
            pool_bytes=graphs.pool_bytes if graphs is not None else 0,
        )

    def _planned_sample(self, job: BenchJob) -> PlannedJob:
        waiting = waiting_training(job)
        layout = self._even(waiting)
        num_aside = 0
        while True:
            found = self._sample_with(job, waiting, layout, num_aside)
            fits = not job.budget_bytes or all(
                held_bytes(peak, slack=slack_here()) <= job.budget_bytes for peak in found.forecast.peak_bytes
            )
            if fits:
                return found
            # Fewer blocks than there are slots for them would win nothing.
            num_aside = max(num_aside + 1, NUM_SLOTS + 1)
            if num_aside > min(len(layout.blocks_of(card)) for card in set(layout.card_of_chunk)):
                raise DeviceError(f"{job.name} does not fit its budget with all blocks aside.")

    def _sample_with(self, job: BenchJob, waiting: BenchJob, layout: Layout, num_aside: int) -> PlannedJob:
        aside = [spread(layout.blocks_of(card), num_aside) for card in layout.cards]
        with_aside = replace(
            layout,
            paged=frozenset[int]().union(*aside),
            num_slots=tuple(NUM_SLOTS if blocks else 0 for blocks in aside),
        )
        own = sampling_workspaces_bytes(layout, self._workspaces, with_bias=self._with_bias(job))
        constants = tuple(a + b for a, b in zip(self._constants(waiting, layout, None), own, strict=True))
        footprint = self.footprint(job)
        forecast = forecast_sampling(footprint, with_aside, training=self.footprint(waiting), constant_bytes=constants)
        # The batches of the training wait with it.
        batches_bytes = WAITING_MICROBATCHES * self.footprint(waiting).outer.batch_bytes
        home = forecast.cards[layout.home]
        cards = list[CardForecast](forecast.cards)
        cards[layout.home] = replace(home, activation_bytes=home.activation_bytes + batches_bytes)
        return PlannedJob(
            job=job,
            layout=with_aside,
            cut=_cut(layout),
            num_aside=(num_aside,) * len(layout.cards),
            forecast=replace(forecast, cards=tuple(cards)),
            footprint=footprint,
        )

    def _even(self, job: BenchJob) -> Layout:
        num_blocks, num_chunks = self._models[job.model].num_blocks, job.num_cards * job.chunks_each
        edges = [num_blocks * index // num_chunks for index in range(num_chunks + 1)]
        layout = _ordered(
            job,
            chunk_sizes=tuple(end - start for start, end in itertools.pairwise(edges)),
            card_of_chunk=tuple(range(job.num_cards)) * job.chunks_each,
        )
        if not job.paged_share:
            return layout
        mine = [layout.blocks_of(card) for card in layout.cards]
        return replace(
            layout,
            paged=frozenset[int]().union(*(spread(blocks, round(job.paged_share * len(blocks))) for blocks in mine)),
            num_slots=(NUM_SLOTS,) * job.num_cards,
        )

    def _placed(self, job: BenchJob, footprint: Footprint) -> Layout:
        """The planner's placement, both cards in use."""
        variant = rated_variant(
            footprint,
            rates=[_NOMINAL_RATES] * job.num_cards,
            link_bytes_per_s=[_NOMINAL_LINK_BYTES_PER_S] * job.num_cards,
            weights=job.model,
            num_microbatches=job.num_microbatches,
        )
        constants = self._constants(job, self._even(replace(job, budget_bytes=0)), None)
        cards = [
            PlanCard(
                label=f"GPU {card}",
                budget_bytes=allocatable_bytes(job.budget_bytes, slack=slack_here()),
                link_bytes_per_s=_NOMINAL_LINK_BYTES_PER_S,
                constant_bytes=constants[card],
            )
            for card in range(job.num_cards)
        ]
        wish = Wish(kinds=frozenset({"split", "split + swap"}))
        found = plan(
            [variant], cards, ram_bytes=1 << 45, wish=wish, max_chunks_each=job.chunks_each, num_slots=NUM_SLOTS
        )
        if found.recommended is None:
            raise DeviceError(" ".join(found.refusal))
        placing = found.recommended.placing
        bare = _ordered(job, chunk_sizes=placing.chunk_sizes, card_of_chunk=placing.card_of_chunk)
        return found.recommended.layout(bare.order)

    def _constants(self, job: BenchJob, layout: Layout, graphs: Replayed | None) -> tuple[int, ...]:
        """Workspaces, and the buffers of graphs."""
        workspaces = training_workspaces_bytes(
            layout,
            self._workspaces,
            is_pipelined=len(set(layout.card_of_chunk)) > 1,
            with_bias=self._with_bias(job),
            replays_blocks=graphs is not None,
        )
        buffers = graphs.constants(layout) if graphs is not None else (0,) * len(workspaces)
        return tuple(a + b for a, b in zip(workspaces, buffers, strict=True))

    def _with_bias(self, job: BenchJob) -> bool:
        return job.model in ("wan", "wan fp8", "pocket")


def waiting_training(job: BenchJob) -> BenchJob:
    """The training beside which a sample is made."""
    return replace(
        job,
        is_sample=False,
        budget_bytes=0,
        num_tokens=min(WAITING_TOKENS, job.num_tokens),
        num_microbatches=WAITING_MICROBATCHES,
    )


def subject_of(model: BenchModel, *, num_tokens: int, recompute: Recompute) -> Subject:
    """A model as the tracer takes it.

    Args:
        model: The model.
        num_tokens: Picture tokens.
        recompute: Who recomputes.
    """

    def make() -> nn.Module:
        made = model.make(torch.device("meta"), None)
        set_recompute(blocks_of(made), recompute)
        return made

    def run(module: nn.Module, batch: Any) -> torch.Tensor:
        return model.loss(module, batch) if torch.is_grad_enabled() else model.evaluate(module, batch)

    return Subject(
        make_model=make,
        blocks_of=blocks_of,
        make_batch=lambda device: model.make_batch(num_tokens, device, 0),
        run=run,
        make_optimizer=model.make_optimizer,
        recompute=recompute == "pipeline",
    )


def set_recompute(blocks: Sequence[nn.Module], recompute: Recompute) -> None:
    """Let blocks that can recompute their activations do so, or leave it to others."""
    for block in blocks:
        if hasattr(block, "checkpointing"):
            block.checkpointing = recompute == "model"  # pyright: ignore


def _ordered(job: BenchJob, *, chunk_sizes: tuple[int, ...], card_of_chunk: tuple[int, ...]) -> Layout:
    """A placement with the order of its step."""
    costs = Costs(
        device_of=card_of_chunk,
        forward_s=[float(size) for size in chunk_sizes],
        backward_s=[2.0 * size for size in chunk_sizes],
    )
    is_split = len(set(card_of_chunk)) > 1 and job.num_microbatches > 1
    order = SCHEDULES["interleaved" if is_split else "turns"](costs, num_microbatches=job.num_microbatches)
    return Layout(chunk_sizes=chunk_sizes, card_of_chunk=card_of_chunk, order=order, num_cards=job.num_cards)


def _cut(layout: Layout) -> Cut:
    return Cut(chunk_sizes=layout.chunk_sizes, card_of_chunk=layout.card_of_chunk, order=tuple(layout.order))  # pyright: ignore[reportArgumentType]
