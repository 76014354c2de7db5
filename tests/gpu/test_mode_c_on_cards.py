"""Samples that fit a card only while blocks of the model are in RAM, in the middle of a training under a real budget.

The budget lies between what training holds and what a sample pass would hold beside the resident model.
"""

import contextlib
import gc
from collections.abc import Iterator, Sequence

import pytest
import torch
from tests.support.small_dit import Batch, SmallDit, flow_loss, small_batch, small_dit

from diffusionforce.pipeline.aside import SampleRoom
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.placement import even_placement, place_blocks
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.schedule.generators import Costs, interleaved
from diffusionforce.pipeline.splitter.model import Cut

NUM_CARDS = torch.cuda.device_count()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(NUM_CARDS == 0, reason="needs a CUDA card"),
]
MIB = 1 << 20
NUM_BLOCKS = 12
NUM_SLOTS = 2
NUM_STEPS = 3
SAMPLE_SHAPE = (8, 1024, 8)
"""8 pictures of 1024 tokens take most of a gigabyte beside a model of 2.2 GB in fp32."""

needs_two = pytest.mark.skipif(NUM_CARDS < 2, reason="needs two CUDA cards")
CARDS = pytest.mark.parametrize("num_cards", [1, pytest.param(2, marks=needs_two)])


def on_first_card(batch: Batch) -> Batch:
    x, timestep, text, target = (tensor.cuda(0) for tensor in batch)
    return x, timestep, text, target


class Training:
    """A run of a model of 12 blocks of 185 MB, with dropout, over one or two cards."""

    def __init__(self, num_cards: int, *, with_graphs: bool, num_paged: int = 0) -> None:
        self.devices = [torch.device("cuda", index) for index in range(num_cards)]
        self.model: SmallDit = small_dit(num_blocks=NUM_BLOCKS, width=2048, heads=16, dropout=0.1).cuda(0)
        placement = even_placement(NUM_BLOCKS, self.devices, chunks_per_stage=2 if num_cards > 1 else 1)
        place_blocks(self.model.blocks, placement)
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-3)
        self.order = interleaved(Costs.equal(placement.stage_of_chunk), num_microbatches=2)
        plans = [
            CardPaging(
                device=device,
                blocks=placement.blocks_of_stage(stage),
                paged=frozenset(placement.blocks_of_stage(stage)[:num_paged]),
                num_slots=NUM_SLOTS,
            )
            for stage, device in enumerate(self.devices)
        ]
        self.num_resident = [len(plan.blocks) - len(plan.paged) for plan in plans]
        self.pager = Pager(list(self.model.blocks), plans)
        cut = Cut(chunk_sizes=placement.chunk_sizes, card_of_chunk=placement.stage_of_chunk, order=tuple(self.order))
        self.pager.follow([cut.visits(stage) for stage in range(num_cards)])
        self.graphs = BlockGraphs() if with_graphs else None
        self.executor = StepExecutor(self.model.blocks, placement, recompute=True, graphs=self.graphs).install()
        self.batches = [on_first_card(small_batch(1, seed=seed)) for seed in range(2)]

    def room(self, num_aside: Sequence[int]) -> SampleRoom:
        return SampleRoom(self.pager, num_aside=num_aside, wrappers=[self.executor], graphs=self.graphs)

    def step(self) -> list[float]:
        self.optimizer.zero_grad(set_to_none=True)
        functions = [lambda batch=batch: flow_loss(self.model, batch) for batch in self.batches]
        losses = self.executor.step(self.order, microbatches=functions)
        self.optimizer.step()
        return [loss.item() for loss in losses]

    def sample(self) -> None:
        """A sample pass, which draws random numbers on every card."""
        self.model.eval()
        x = torch.randn(SAMPLE_SHAPE, device="cuda:0")
        text = torch.randn(SAMPLE_SHAPE[0], 5, 12, device="cuda:0")
        for device in self.devices:
            torch.rand(1000, device=device)
        try:
            with torch.no_grad():
                for _ in range(2):
                    x = x + 0.1 * self.model(x, torch.full((SAMPLE_SHAPE[0],), 0.5, device="cuda:0"), text)
                assert x.isfinite().all()
        finally:
            self.model.train()

    def close(self) -> None:
        self.executor.remove()
        self.pager.close()


@contextlib.contextmanager
def training(num_cards: int, *, with_graphs: bool, num_paged: int = 0) -> Iterator[Training]:
    clean_up()
    run = Training(num_cards, with_graphs=with_graphs, num_paged=num_paged)
    torch.manual_seed(11)
    try:
        yield run
    finally:
        run.close()
        del run
        clean_up()


def clean_up() -> None:
    gc.collect()
    for index in range(NUM_CARDS):
        torch.cuda.synchronize(index)
        torch.cuda.set_per_process_memory_fraction(1.0, index)
        torch.cuda.reset_peak_memory_stats(index)
    torch.cuda.empty_cache()


def reserved_peaks(devices: Sequence[torch.device]) -> list[int]:
    """What each card held at most since the last call, and begin anew."""
    found = []
    for device in devices:
        torch.cuda.synchronize(device)
        found.append(torch.cuda.max_memory_reserved(device))
    torch.cuda.empty_cache()
    for device in devices:
        torch.cuda.reset_peak_memory_stats(device)
    return found


def allow(devices: Sequence[torch.device], budgets_bytes: Sequence[float]) -> None:
    torch.cuda.empty_cache()
    for device, budget_bytes in zip(devices, budgets_bytes, strict=True):
        total_bytes = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(budget_bytes / total_bytes, device)


def reference(
    num_cards: int, *, with_graphs: bool, num_paged: int
) -> tuple[list[list[float]], list[torch.Tensor], list[float]]:
    """Losses and weights of a run without samples, and budgets that hold its steps but no sample beside the model."""
    with training(num_cards, with_graphs=with_graphs, num_paged=num_paged) as run:
        reserved_peaks(run.devices)
        losses = [run.step() for _ in range(NUM_STEPS)]
        weights = [parameter.detach().cpu() for parameter in run.trained]
        while_training = reserved_peaks(run.devices)
        run.sample()
        while_sampling = reserved_peaks(run.devices)
        budgets = [0.35 * one + 0.65 * other for one, other in zip(while_training, while_sampling, strict=True)]
        for one, other in zip(while_training, while_sampling, strict=True):
            assert other - one > 300 * MIB, "the sample is too small to need room; this test proves nothing"
        return losses, weights, budgets


@CARDS
@pytest.mark.parametrize("with_graphs", [False, True])
@pytest.mark.parametrize("num_paged", [0, 3])
def test_a_sample_that_fits_only_with_blocks_aside(num_cards: int, with_graphs: bool, num_paged: int):
    losses, weights, budgets = reference(num_cards, with_graphs=with_graphs, num_paged=num_paged)
    with training(num_cards, with_graphs=with_graphs, num_paged=num_paged) as run:
        allow(run.devices, budgets)
        places = [(parameter, parameter.device) for parameter in run.model.parameters()]
        num_captured = run.graphs.num_captured if run.graphs else 0
        for step in range(NUM_STEPS):
            assert run.step() == losses[step]
            num_captured = run.graphs.num_captured if run.graphs else 0
            shortage = run.room([0] * num_cards).run(run.sample)
            # Room that was made once let workspaces go, and the sample may fit where it did not before.
            if step == 0:
                assert shortage is not None and shortage.device in run.devices, "the budget is not enforced"
            assert run.room(run.num_resident).run(run.sample) is None
            assert all(parameter.device == device for parameter, device in places)
            assert run.graphs is None or run.graphs.num_captured == 0
        assert (num_captured > 0) == with_graphs
        for parameter, expected in zip(run.trained, weights, strict=True):
            assert torch.equal(parameter.detach().cpu(), expected)
        assert [count.late_loads for count in run.pager.counts] == [0] * num_cards


@CARDS
def test_many_passes_neither_exhaust_the_graphs_nor_leave_memory_behind(num_cards: int):
    with training(num_cards, with_graphs=True) as run:
        room = run.room([NUM_SLOTS + 2] * num_cards)
        held: list[list[int]] = []
        for _ in range(6):  # A block is captured four times at most where its weights move on their own.
            run.step()
            assert run.graphs is not None and run.graphs.num_captured == NUM_BLOCKS
            assert room.run(run.sample) is None
            held.append([torch.cuda.memory_allocated(device) for device in run.devices])
        assert held[-1] == held[1]


@CARDS
def test_memory_of_blocks_aside_is_free_while_the_sample_is_made(num_cards: int):
    with training(num_cards, with_graphs=True) as run:
        run.step()
        torch.cuda.empty_cache()
        before = [torch.cuda.memory_reserved(device) for device in run.devices]
        inside: list[int] = []
        run.room(run.num_resident).run(
            lambda: inside.extend(torch.cuda.memory_reserved(device) for device in run.devices)
        )
        block_bytes = sum(p.numel() * 4 for p in run.model.blocks[0].parameters() if not p.requires_grad)
        for one, other, num_resident in zip(before, inside, run.num_resident, strict=True):
            assert one - other >= 0.95 * (num_resident - NUM_SLOTS) * block_bytes
