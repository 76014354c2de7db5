"""Runs a planned job on the cards and reads what it held and how long its steps took.

Models are large and jobs are many, so weights are made once for each model and only moved from card to card. Everything
else (executor, pager, optimiser, batches) is made for one job and gone after it, the libraries' workspaces included:
what is left over from one job would count in the next.
"""

import contextlib
import gc
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from diffusionforce.pipeline.aside import SampleRoom
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.shortage import shortage_of
from diffusionforce.pipeline.tracer.memory import allocated_bytes
from diffusionforce.trainer.forecast_bench.jobs import BenchJob
from diffusionforce.trainer.forecast_bench.models import BenchModel, blocks_of
from diffusionforce.trainer.forecast_bench.planning import NUM_SLOTS, PlannedJob, set_recompute, waiting_training


class OutOfBudgetError(Exception):
    """A card ran out of memory."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a job showed."""

    step_s: float
    """Median."""
    all_steps_s: tuple[float, ...]
    peak_bytes: tuple[int, ...]
    """The most that was allocated on each card while steps were timed; 0 on devices that do not count."""
    peak_reserved_bytes: tuple[int, ...]
    """The most that the allocator held."""
    stray_bytes: tuple[int, ...] = ()
    """Allocated before the job's own tensors were made, weights apart: what a forecast cannot know of."""
    late_loads: int = 0


@dataclass(frozen=True, kw_only=True)
class _Training:
    """What runs the steps of a job."""

    run_step: Callable[[], None]
    pager: Pager | None
    executor: StepExecutor | None


class Bench:
    """The cards and the model that is on them.

    Args:
        devices: One a card; the processor may stand in for several.
    """

    def __init__(self, devices: Sequence[torch.device]) -> None:
        self.devices = tuple(devices)
        self.cards = [device for device in dict.fromkeys(devices) if device.type == "cuda"]
        self._name = ""
        self._module: nn.Module | None = None

    def module(self, model: BenchModel) -> nn.Module:
        """The model with weights, made where there is room and kept until another is wanted."""
        if self._name != model.name:
            self._module = None
            self.tidy()
            num = model.num_blocks
            halves = [self.devices[len(self.devices) * index // num] for index in range(num)]
            torch.manual_seed(0)
            self._module, self._name = model.make(self.devices[0], halves), model.name
        assert self._module is not None
        return self._module

    def place(self, model: BenchModel, planned: PlannedJob) -> nn.Module:
        """Put every block where the plan wants it; paged blocks wait on their card."""
        module, home = self.module(model), self.devices[planned.layout.home]
        blocks = blocks_of(module)
        inside = {id(tensor) for block in blocks for tensor in [*block.parameters(), *block.buffers()]}
        for tensor in [*module.parameters(), *module.buffers()]:
            tensor.grad = None
            if id(tensor) not in inside:
                tensor.data = tensor.data.to(home)
        for card in planned.layout.cards:
            for block in planned.layout.blocks_of(card):
                blocks[block].to(self.devices[card])
        set_recompute(blocks, planned.job.recompute)
        self.tidy()
        return module

    def run(self, model: BenchModel, planned: PlannedJob, *, budgets_bytes: Sequence[int] = ()) -> Seen:
        """Run a job.

        Args:
            model: Its model.
            planned: The job and its plan.
            budgets_bytes: What the allocator may hold of each card while steps run; none if left out.

        Raises:
            OutOfBudgetError: A card ran out of memory; says how much it had.
        """
        module = self.place(model, planned)
        stray_bytes = self._stray_bytes(module)
        lacking: OutOfBudgetError | None = None
        seen: Seen | None = None
        try:
            seen = self._run(model, module, planned, budgets_bytes)
        except RuntimeError as error:
            shortage = shortage_of(error)
            if shortage is None or error.__traceback__ is None:
                raise
            # The frames of what failed hold its tensors.
            traceback.clear_frames(error.__traceback__)
            lacking = self._out_of_budget(shortage.message)
        finally:
            for parameter in module.parameters():
                parameter.grad = None
            self.tidy()
        if seen is None:
            assert lacking is not None
            raise lacking
        return replace(seen, stray_bytes=stray_bytes)

    def _run(self, model: BenchModel, module: nn.Module, planned: PlannedJob, budgets_bytes: Sequence[int]) -> Seen:
        job = planned.job
        with contextlib.ExitStack() as stack:
            training = stack.enter_context(self._training(model, module, planned))
            self.tidy()
            stack.enter_context(self._enforced(budgets_bytes))
            if not job.is_sample:
                return self._timed(job, training.run_step, training.pager)
            for _ in range(job.num_warm_up_steps):
                training.run_step()
            batch = model.make_batch(job.num_tokens, self.devices[planned.layout.home], 0)
            return self._sampled(job, training, planned.num_aside, lambda: model.evaluate(module, batch))

    def _sampled(
        self, job: BenchJob, training: "_Training", num_aside: Sequence[int], evaluate: Callable[[], object]
    ) -> Seen:
        """Time evaluations while the training waits, with blocks aside."""
        assert training.pager is not None and training.executor is not None
        room = SampleRoom(training.pager, num_aside=num_aside, wrappers=[training.executor])
        found: list[Seen] = []

        def make() -> None:
            with torch.no_grad():
                found.append(self._timed(job, lambda: (evaluate(), None)[1], training.pager))

        shortage = room.run(make)
        if shortage is not None:
            raise self._out_of_budget(shortage.message)
        return found[0]

    def _out_of_budget(self, words: str) -> "OutOfBudgetError":
        allocated, reserved = self.peaks()
        first_line = words.splitlines()[0][:160] if words else ""
        return OutOfBudgetError(
            f"out of memory: {in_gib(allocated)} GiB allocated, {in_gib(reserved)} GiB held ({first_line})"
        )

    def peaks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The most allocated on each card, and the most held, since steps began."""
        allocated = tuple(torch.cuda.max_memory_allocated(d) if d.type == "cuda" else 0 for d in self.devices)
        reserved = tuple(torch.cuda.max_memory_reserved(d) if d.type == "cuda" else 0 for d in self.devices)
        return allocated, reserved

    def tidy(self) -> None:
        """Let go of everything that nobody uses."""
        gc.collect()
        self.wait()
        if self.cards:
            torch._C._cuda_clearCublasWorkspaces()  # pyright: ignore
            torch.cuda.empty_cache()

    def wait(self) -> None:
        """Wait for all cards."""
        for card in self.cards:
            torch.cuda.synchronize(card)

    @contextlib.contextmanager
    def _training(self, model: BenchModel, module: nn.Module, planned: PlannedJob) -> Iterator["_Training"]:
        """What runs the training of a plan; for a sample, of the training that waits."""
        job = waiting_training(planned.job) if planned.job.is_sample else planned.job
        blocks, home = blocks_of(module), self.devices[planned.layout.home]
        with contextlib.ExitStack() as stack:
            pager = self._pager(blocks, planned) if planned.layout.paged or planned.job.is_sample else None
            if pager is not None:
                stack.callback(pager.close)
                pager.follow([planned.cut.visits(card) for card in planned.layout.cards])
            executor = self._executor(blocks, planned) if len(set(planned.cut.card_of_chunk)) > 1 else None
            if executor is not None:
                stack.callback(executor.remove)
            optimizer = model.make_optimizer([p for p in module.parameters() if p.requires_grad])
            batches = [model.make_batch(job.num_tokens, home, number) for number in range(job.num_microbatches)]

            def run_step() -> None:
                if executor is None:
                    for batch in batches:
                        (model.loss(module, batch) / len(batches)).backward()
                else:
                    functions = [lambda batch=batch: model.loss(module, batch) for batch in batches]
                    executor.step(planned.cut.order, microbatches=functions)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

            yield _Training(run_step=run_step, pager=pager, executor=executor)

    def _pager(self, blocks: list[nn.Module], planned: PlannedJob) -> Pager:
        layout = planned.layout
        plans = [
            CardPaging(
                device=self.devices[card],
                blocks=layout.blocks_of(card),
                # While a training waits for its samples, nothing is paged yet.
                paged=frozenset() if planned.job.is_sample else frozenset(layout.blocks_of(card)) & layout.paged,
                num_slots=(layout.num_slots[card] if layout.num_slots else 0) or NUM_SLOTS,
            )
            for card in layout.cards
        ]
        return Pager(blocks, plans)

    def _executor(self, blocks: list[nn.Module], planned: PlannedJob) -> StepExecutor:
        job, cut = planned.job, planned.cut
        used = self.devices[: max(cut.card_of_chunk) + 1]
        placement = Placement(devices=used, chunk_sizes=cut.chunk_sizes, stage_of_chunk=cut.card_of_chunk)
        return StepExecutor(
            blocks,
            placement,
            home=self.devices[planned.layout.home],
            recompute=job.recompute == "pipeline",
            graphs=BlockGraphs() if job.recompute == "graphs" else None,
        ).install()

    def _timed(self, job: BenchJob, run_step: Callable[[], None], pager: Pager | None) -> Seen:
        self._forget_peaks()
        for _ in range(job.num_warm_up_steps):
            run_step()
        self.wait()
        self._forget_peaks()
        seconds: list[float] = []
        for _ in range(job.num_steps):
            begin_s = time.perf_counter()
            run_step()
            self.wait()
            seconds.append(time.perf_counter() - begin_s)
        peak, reserved = self.peaks()
        return Seen(
            step_s=statistics.median(seconds),
            all_steps_s=tuple(seconds),
            peak_bytes=peak,
            peak_reserved_bytes=reserved,
            late_loads=sum(count.late_loads for count in pager.counts) if pager else 0,
        )

    @contextlib.contextmanager
    def _enforced(self, budgets_bytes: Sequence[int]) -> Iterator[None]:
        """Only while steps run: to move blocks about takes room that training does not."""
        try:
            for device, budget in zip(self.devices, budgets_bytes, strict=False):
                if device.type == "cuda":
                    whole = torch.cuda.get_device_properties(device).total_memory
                    torch.cuda.set_per_process_memory_fraction(min(1.0, budget / whole), device)
            yield
        finally:
            for card in self.cards:
                torch.cuda.set_per_process_memory_fraction(1.0, card)

    def _stray_bytes(self, module: nn.Module) -> tuple[int, ...]:
        own: dict[torch.device, int] = {}
        tensors = {id(tensor): tensor for tensor in [*module.parameters(), *module.buffers()]}
        for tensor in tensors.values():
            own[tensor.device] = own.get(tensor.device, 0) + allocated_bytes(tensor.nbytes)
        return tuple(torch.cuda.memory_allocated(d) - own.get(d, 0) if d.type == "cuda" else 0 for d in self.devices)

    def _forget_peaks(self) -> None:
        for card in self.cards:
            torch.cuda.reset_peak_memory_stats(card)


def in_gib(sizes: Sequence[int]) -> str:
    """Sizes for people."""
    return " / ".join(f"{size / 2**30:.2f}" for size in sizes)
