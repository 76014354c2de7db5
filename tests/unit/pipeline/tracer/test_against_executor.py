"""A forecast against the executor itself, which runs here on fake tensors of two cards that do not exist."""

from dataclasses import replace

import pytest
import torch
from tests.support.traced_models import SMALL_WAN, wan_example
from torch._subclasses.fake_tensor import FakeTensorMode

from diffusionforce.pipeline.bench.model import BenchmarkModel, random_batch
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.schedule import generators as schedule
from diffusionforce.pipeline.schedule.generators import Op
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.trace import trace_training
from diffusionforce.ugpum.footprint import Footprint
from diffusionforce.ugpum.forecast import Layout, forecast_training

CARDS = (torch.device("cpu", 0), torch.device("cpu", 1))
SHAPE = replace(SMALL_WAN, num_blocks=4)
NUM_TOKENS = 200


class ByDevice(StorageCounter):
    """Counts each storage for the device that its tensor is on."""

    def note(self, tensor: torch.Tensor) -> None:
        self.owner = tensor.device
        super().note(tensor)


def executed_peaks(placement: Placement, order: list[Op], num_microbatches: int, *, checkpointing: bool) -> list[int]:
    """The most bytes on each card while the executor runs a step."""
    fake, counter = FakeTensorMode(), ByDevice()
    with fake, counter:
        model = BenchmarkModel(
            SHAPE, home=CARDS[0], device_of_block=placement.device_of_block, checkpointing=checkpointing
        )
        batches = [random_batch(SHAPE, num_tokens=NUM_TOKENS, device=CARDS[0]) for _ in range(num_microbatches)]
        for tensor in [*model.parameters(), *list_tensors([vars(batch) for batch in batches])]:
            counter.note(tensor)
        executor = StepExecutor(model.blocks, placement, contexts=[lambda: fake, lambda: counter])
        with executor.install():
            executor.step(order, microbatches=[lambda batch=batch: model.loss(batch) for batch in batches])
    return [counter.peak_bytes[card] for card in CARDS]


@pytest.mark.parametrize("checkpointing", [True, False], ids=["checkpointed", "plain"])
def test_the_executor_holds_what_was_forecast(checkpointing: bool) -> None:
    example = wan_example(checkpointing=checkpointing, shape=SHAPE, num_tokens=NUM_TOKENS)
    footprint = Footprint.from_json(trace_training(example.subject()).to_json())
    sizes, cards, num_microbatches = (1, 1, 1, 1), (0, 1, 0, 1), 3
    order = schedule.interleaved(schedule.Costs.equal(cards), num_microbatches=num_microbatches)
    forecast = forecast_training(footprint, Layout(chunk_sizes=sizes, card_of_chunk=cards, order=order))
    placement = Placement(devices=CARDS, chunk_sizes=sizes, stage_of_chunk=cards)
    executed = executed_peaks(placement, order, num_microbatches, checkpointing=checkpointing)
    for card, peak in zip(forecast.cards, executed, strict=True):
        without_optimizer = card.peak_bytes - card.optimizer_bytes
        assert 0.99 * without_optimizer <= peak <= 1.01 * without_optimizer
