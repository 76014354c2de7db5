"""The benchmark's cards and model: puts the blocks where a split wants them and times its steps.

Each row of the table is a fresh arrangement of the same model: what slows cards down, what pages and what schedules
is installed for the row and taken away after it, innermost first and last, so that rows do not influence each other.
Budgets are enforced by the allocator only while steps run; moving blocks about needs room that training does not.
"""

import contextlib
import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from diffusionforce.pipeline.bench.model import (
    BenchmarkBatch,
    BenchmarkModel,
    WanShapedBlock,
    random_batch,
    trained_parameters,
)
from diffusionforce.pipeline.bench.options import BenchOptions
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.lanes import load_lane
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.schedule.generators import Costs, turns
from diffusionforce.pipeline.schedule.simulation import Timeline
from diffusionforce.pipeline.splitter.calibration import BlockTimes, Calibration, calibrate, time_block
from diffusionforce.pipeline.splitter.costs import RigCosts, equal_blocks
from diffusionforce.pipeline.splitter.model import Cut, Share, share_of
from diffusionforce.pipeline.throttle import SlowBlocks, link_pace
from diffusionforce.pipeline.transfer import Transfers

_MARGIN_BYTES = 1200 << 20
"""For the driver's workspaces and what the allocator cannot use of what it holds. With 800 MiB, 16 GiB cards ran out of
memory at 15.6 GiB allocated."""
_WORKING_ALLOWANCE = 1.5
"""A block in the middle of a step was seen to work in half as much again as a block by itself."""
_BOUNDARIES_IN_FLIGHT = 8
_LIMIT_MICROBATCHES = 4
"""Of the steps that the limit is taken from: the optimiser's part is as small in it as in the rows."""
_LIMIT_STEPS = 5
_COPIES_OF_TRAINED = 6
"""A trained parameter takes itself, a gradient, two moments of AdamW, and two more while AdamW steps."""


RunStep = Callable[[bool], list[torch.Tensor]]
"""Trains a step, recorded or not, and gives the micro-batches' losses."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the steps of one row gave."""

    step_s: float
    """Median."""
    all_steps_s: tuple[float, ...]
    loss: float
    """Mean of the last step. Of no use but to see that numbers were computed: NaN is quicker."""
    peak_bytes: tuple[int, ...]
    """The most allocated on each card while steps ran; 0 on devices that do not count."""
    peak_reserved_bytes: tuple[int, ...]
    """The most that the allocator held of each card, which is what a budget limits."""
    held_bytes: tuple[tuple[int, int], ...]
    """(measured step, bytes allocated on all cards after it) at a few steps from first to last."""
    late_loads: int
    timeline: Timeline | None
    """One recorded step, devices named by card index; None for one card."""


class BenchRig:
    """The model on the benchmark's cards.

    Args:
        options: What was asked.
    """

    def __init__(self, options: BenchOptions) -> None:
        self.options = options
        self.devices = options.devices
        torch.manual_seed(0)
        self.model = BenchmarkModel(options.shape, home=self.devices[0])
        self.blocks = [block for block in self.model.blocks if isinstance(block, WanShapedBlock)]
        self.boundary_bytes = options.num_tokens * options.shape.width * options.shape.dtype.itemsize
        calibration = self._calibration()
        self.times, self.links = calibration.times, calibration.links
        self.played_times = [self._played(card) for card in range(len(self.devices))]

    def costs(self) -> RigCosts:
        """What the splitter needs to know, as measured, with everything that is played."""
        trained_bytes = sum(p.numel() * p.element_size() for p in self.blocks[0].parameters() if p.requires_grad)
        block_bytes = sum(p.numel() * p.element_size() for p in self.blocks[0].parameters()) - trained_bytes
        return equal_blocks(
            num_blocks=len(self.blocks),
            names=[self.name(card) for card in range(len(self.devices))],
            budgets_bytes=[self._budget_bytes(card) for card in range(len(self.devices))],
            fixed_bytes=[self._fixed_bytes(card) for card in range(len(self.devices))],
            block_s=[(times.forward_s, times.backward_s) for times in self.played_times],
            paging_bytes_per_s=[self._paging_bytes_per_s(card) for card in range(len(self.devices))],
            weights_bytes=block_bytes,
            kept_bytes=max(self.times[0].kept_bytes, self.boundary_bytes),
            crossing_s=self._crossing_s(),
            attached_bytes=trained_bytes * _COPIES_OF_TRAINED,
        )

    def name(self, card: int) -> str:
        """The card as the table calls it."""
        device = self.devices[card]
        kind = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
        played = self.options.slowdown(card)
        return f"GPU {card} ({kind}{f', {played:g} x slower' if played != 1 else ''})"

    def limit_s(self, one_card_s: float) -> float:
        """Seconds of one micro-batch if all cards worked all the time.

        Args:
            one_card_s: Seconds of one micro-batch on the first card with everything resident.
        """
        work_s = [times.forward_s + times.backward_s for times in self.played_times]
        return one_card_s / sum(work_s[0] / of_card for of_card in work_s)

    def one_card_s(self) -> float | None:
        """Seconds of one micro-batch on the first card, everything resident, no budget, at the card's played speed.

        Returns:
            None where the model does not fit the card.
        """
        num_blocks = len(self.blocks)
        order = turns(Costs.equal([0]), num_microbatches=_LIMIT_MICROBATCHES)
        cut = Cut(chunk_sizes=(num_blocks,), card_of_chunk=(0,), order=tuple(order))
        share = share_of(self.costs().without_paging(), cut, 0, num_slots=2)
        num_steps = min(self.options.num_steps, _LIMIT_STEPS)
        with contextlib.suppress(torch.OutOfMemoryError):
            return self.measure(cut, (share,), num_steps=num_steps, within_budget=False).step_s / _LIMIT_MICROBATCHES
        return None

    def all_blocks_s(self) -> float:
        """Seconds of one micro-batch on the first card by the time of one block."""
        return len(self.blocks) * (self.played_times[0].forward_s + self.played_times[0].backward_s)

    def measure(
        self, cut: Cut, shares: Sequence[Share], *, num_steps: int | None = None, within_budget: bool = True
    ) -> Measured:
        """Arrange the model as a split says and time its steps.

        Args:
            cut: The split and its schedule.
            shares: What each card gets, and what of it is paged.
            num_steps: Steps to time; as many as the options say by default.
            within_budget: Enforce the options' budgets.
        """
        with self._arranged(cut, shares) as (run_step, pager, executor):
            budget = self._enforced_budgets() if within_budget else contextlib.nullcontext()
            with budget:
                return self._timed_steps(cut, run_step, pager, executor, num_steps or self.options.num_steps)

    def peaks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The most that was allocated on each card, and the most that its allocator held, since steps began."""
        allocated = [torch.cuda.max_memory_allocated(d) if d.type == "cuda" else 0 for d in self.devices]
        reserved = [torch.cuda.max_memory_reserved(d) if d.type == "cuda" else 0 for d in self.devices]
        return tuple(allocated), tuple(reserved)

    @contextlib.contextmanager
    def _arranged(
        self, cut: Cut, shares: Sequence[Share]
    ) -> Iterator[tuple[RunStep, Pager | None, StepExecutor | None]]:
        home = self.devices[cut.card_of_chunk[0]]
        for block in self.blocks:
            block.checkpointing = True
        for part in (self.model.patch, self.model.time, self.model.text, self.model.head):
            part.to(home)
        with contextlib.ExitStack() as stack:
            for card, share in enumerate(shares):
                for block in share.blocks:
                    if block not in share.paged:
                        self.blocks[block].to(self.devices[card])
                stack.callback(self._slow(card, [self.blocks[block] for block in share.blocks]).remove)
            pager = self._pager(cut, shares)
            if pager is not None:
                stack.callback(pager.close)
            executor = self._executor(cut, home) if len(set(cut.card_of_chunk)) > 1 else None
            if executor is not None:
                stack.callback(executor.remove)
            optimizer = torch.optim.AdamW(trained_parameters(self.model), lr=1e-5, foreach=True)
            batches = [self._batch(number, home) for number in range(1 + max(op.microbatch for op in cut.order))]

            def run_step(record: bool) -> list[torch.Tensor]:
                losses: list[torch.Tensor] = []
                if executor is None:
                    for batch in batches:
                        losses.append(self.model.loss(batch))
                        (losses[-1] / len(batches)).backward()
                else:
                    functions = [lambda batch=batch: self.model.loss(batch) for batch in batches]
                    losses = executor.step(cut.order, microbatches=functions, record=record)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                return [loss.detach() for loss in losses]

            yield run_step, pager, executor
        for parameter in trained_parameters(self.model):
            parameter.grad = None

    def _timed_steps(
        self,
        cut: Cut,
        run_step: RunStep,
        pager: Pager | None,
        executor: StepExecutor | None,
        num_steps: int,
    ) -> Measured:
        self._forget_peaks()
        for _ in range(self.options.num_warm_up_steps):
            run_step(False)
        self._synchronise()
        self._forget_peaks()
        seconds: list[float] = []
        losses: list[torch.Tensor] = []
        held: dict[int, int] = {}
        marks = {1, 20, num_steps // 2, num_steps}
        for number in range(1, num_steps + 1):
            start_s = time.perf_counter()
            losses = run_step(False)
            self._synchronise()
            seconds.append(time.perf_counter() - start_s)
            if number in marks:
                held[number] = sum(torch.cuda.memory_allocated(device) for device in self._cards())
        peak, reserved = self.peaks()
        timeline = None
        if executor is not None and self.options.timeline_folder is not None:
            run_step(True)
            timeline = _by_card(executor.timeline(), cut)
        return Measured(
            step_s=statistics.median(seconds),
            all_steps_s=tuple(seconds),
            loss=statistics.mean(loss.item() for loss in losses),
            peak_bytes=peak,
            peak_reserved_bytes=reserved,
            held_bytes=tuple(held.items()),
            late_loads=sum(count.late_loads for count in pager.counts) if pager else 0,
            timeline=timeline,
        )

    def _executor(self, cut: Cut, home: torch.device) -> StepExecutor:
        placement = Placement(devices=self.devices, chunk_sizes=cut.chunk_sizes, stage_of_chunk=cut.card_of_chunk)
        who = self.options.recompute
        for block in self.blocks:
            block.checkpointing = who == "model"
        return StepExecutor(
            self.blocks,
            placement,
            home=home,
            transfers=self._transfers(),
            recompute=who == "pipeline",
            graphs=BlockGraphs() if who == "graphs" else None,
        ).install()

    def _slow(self, card: int, blocks: Sequence[WanShapedBlock]) -> SlowBlocks:
        extra = self.options.slowdown(card) - 1
        times = self.times[card]
        return SlowBlocks(
            blocks if extra > 0 else [],
            self.devices[card],
            forward_s=times.forward_s * extra,
            backward_s=times.backward_s * extra,
        )

    def _pager(self, cut: Cut, shares: Sequence[Share]) -> Pager | None:
        if not any(share.paged for share in shares):
            return None
        plans = [
            CardPaging(
                device=self.devices[card], blocks=share.blocks, paged=share.paged, num_slots=max(share.num_slots, 2)
            )
            for card, share in enumerate(shares)
        ]
        lanes = [
            load_lane(
                self.devices[card],
                pace=link_pace(
                    self.devices[card],
                    bytes_per_s=self.options.link_bytes_per_s(card),
                    natural_bytes_per_s=self.links.paging_bytes_per_s[card],
                ),
            )
            for card in range(len(shares))
        ]
        pager = Pager(self.blocks, plans, pinned_limit_bytes=self.options.pinned_limit_bytes, lanes=lanes)
        pager.follow([cut.visits(card) for card in range(len(shares))])
        return pager

    def _transfers(self) -> Transfers:
        played: dict[tuple[torch.device, torch.device], float] = {}
        for a, first in enumerate(self.devices):
            for b, second in enumerate(self.devices):
                rates = [rate for rate in (self.options.link_bytes_per_s(a), self.options.link_bytes_per_s(b)) if rate]
                if first != second and rates:
                    played[first, second] = min(rates)
        return Transfers(link_bytes_per_s=played)

    def _calibration(self) -> Calibration:
        args = self._call_of_a_block()
        return calibrate(self.blocks[0], args, {}, devices=self.devices, boundary_bytes=self.boundary_bytes)

    def _played(self, card: int) -> BlockTimes:
        """A block on a card that is played slower, measured as it is played."""
        if self.options.slowdown(card) == 1:
            return self.times[card]
        device, block = self.devices[card], self.blocks[0]
        block.to(device)
        slow = self._slow(card, [block])
        times = time_block(block, self._call_of_a_block(), {}, device=device)
        slow.remove()
        block.to(self.devices[0])
        return times

    def _call_of_a_block(self) -> tuple[torch.Tensor, ...]:
        shape, home = self.options.shape, self.devices[0]
        x = torch.randn(1, self.options.num_tokens, shape.width, device=home).to(shape.dtype)
        modulation = torch.randn(1, 6, shape.width, device=home).to(shape.dtype)
        return x, modulation, self._batch(0, home).text

    def _batch(self, number: int, home: torch.device) -> BenchmarkBatch:
        return random_batch(self.options.shape, num_tokens=self.options.num_tokens, device=home, seed=number)

    def _crossing_s(self) -> float:
        played = [rate for card in range(len(self.devices)) if (rate := self.options.link_bytes_per_s(card))]
        extra_s = self.boundary_bytes / min(played) if played else 0.0
        return max(max(row) for row in self.links.crossing_s) + extra_s

    def _paging_bytes_per_s(self, card: int) -> float:
        natural, played = self.links.paging_bytes_per_s[card], self.options.link_bytes_per_s(card)
        return min(natural, played) if played else natural

    def _budget_bytes(self, card: int) -> int:
        if self.options.budgets_bytes:
            return self.options.budgets_bytes[card]
        device = self.devices[card]
        if device.type == "cuda":
            return torch.cuda.get_device_properties(device).total_memory - (1 << 30)
        return 1 << 50

    def _fixed_bytes(self, card: int) -> int:
        if self.devices[card].type != "cuda":
            return 0
        parts = (self.model.patch, self.model.time, self.model.text, self.model.head)
        outer = sum(p.numel() * p.element_size() for part in parts for p in part.parameters())
        # Captured graphs keep what they work in, apart from what everything else works in.
        num_workplaces = 2 if self.options.recompute == "graphs" else 1
        working = round(num_workplaces * _WORKING_ALLOWANCE * self.times[card].working_bytes)
        return outer + working + _BOUNDARIES_IN_FLIGHT * self.boundary_bytes + _MARGIN_BYTES

    @contextlib.contextmanager
    def _enforced_budgets(self) -> Iterator[None]:
        gc.collect()
        self._synchronise()
        if self._cards():
            torch.cuda.empty_cache()
        try:
            if self.options.budgets_bytes:
                for card, device in enumerate(self.devices):
                    if device.type == "cuda":
                        whole = torch.cuda.get_device_properties(device).total_memory
                        torch.cuda.set_per_process_memory_fraction(self.options.budgets_bytes[card] / whole, device)
            yield
        finally:
            for device in self._cards():
                torch.cuda.set_per_process_memory_fraction(1.0, device)

    def _cards(self) -> list[torch.device]:
        return [device for device in dict.fromkeys(self.devices) if device.type == "cuda"]

    def _forget_peaks(self) -> None:
        for device in self._cards():
            torch.cuda.reset_peak_memory_stats(device)

    def _synchronise(self) -> None:
        for device in self._cards():
            torch.cuda.synchronize(device)


def _by_card(timeline: Timeline, cut: Cut) -> Timeline:
    """Name the devices by card, which tells apart cards that are played on the same device."""
    start_s = min(span.start_s for span in timeline.spans)
    return Timeline.of_spans(
        [
            type(span)(span.op, cut.card_of_chunk[span.op.chunk], span.start_s - start_s, span.end_s - start_s)
            for span in timeline.spans
        ]
    )
