"""Two cards that do not exist: a planned job runs on fake tensors, and every storage counts for the card it is on."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F  # noqa: N812
from torch._subclasses.fake_tensor import FakeTensorMode

from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.recompute.random_numbers import RandomNumbers
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.standins import CardKernels, _rms_norm, autocast_for_cards
from diffusionforce.trainer.forecast_bench.models import BenchModel, blocks_of
from diffusionforce.trainer.forecast_bench.planning import PlannedJob, set_recompute

CARDS = (torch.device("cpu", 0), torch.device("cpu", 1))


class ByDevice(StorageCounter):
    """Counts each storage for the device that its tensor is on."""

    def __init__(self) -> None:
        super().__init__(read_scalar=lambda: 1.0)

    def note(self, tensor: torch.Tensor) -> None:
        """Count a tensor; one number on the host is an optimiser's step counter, which a card does not hold."""
        if tensor.device.index is not None:
            self.owner = tensor.device
            super().note(tensor)


def executed_peaks(model: BenchModel, planned: PlannedJob) -> list[int]:
    """The most bytes on each card in a first training step, before the optimiser has any state."""
    job, cut = planned.job, planned.cut
    fake, counter = FakeTensorMode(allow_non_fake_inputs=True), ByDevice()
    placement = Placement(devices=CARDS, chunk_sizes=cut.chunk_sizes, stage_of_chunk=cut.card_of_chunk)
    with _card_kernels(), autocast_for_cards(), fake, counter:
        module = model.make(CARDS[0], placement.device_of_block)
        blocks = blocks_of(module)
        set_recompute(blocks, job.recompute)
        batches = [model.make_batch(job.num_tokens, CARDS[0], number) for number in range(job.num_microbatches)]
        for tensor in [*module.parameters(), *module.buffers(), *list_tensors(batches)]:
            counter.note(tensor)
        executor = StepExecutor(
            blocks, placement, contexts=[lambda: fake, lambda: counter], recompute=job.recompute == "pipeline"
        )
        with executor.install():
            executor.step(cut.order, microbatches=[lambda b=batch: model.loss(module, b) for batch in batches])
    return [counter.peak_bytes[card] for card in CARDS]


@contextmanager
def _card_kernels() -> Iterator[None]:
    """Attention and norms as cards run them, in every thread and inside of backwards; no random numbers to keep."""
    kernels, read = CardKernels(), RandomNumbers.read
    plain = F.scaled_dot_product_attention, F.rms_norm
    F.scaled_dot_product_attention = kernels._attention
    F.rms_norm = functools.partial(_rms_norm, kernels)
    RandomNumbers.read = lambda self: []
    try:
        yield
    finally:
        F.scaled_dot_product_attention, F.rms_norm = plain
        RandomNumbers.read = read
