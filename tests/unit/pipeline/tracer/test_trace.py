"""A forecast from fake tensors against the bytes that a real step held."""

import time
from collections.abc import Callable

import pytest
import torch
from tests.support.counted_cards import CountedStep
from tests.support.small_dit import flow_loss, small_batch, small_dit
from tests.support.traced_models import CPU, Example, adamw, mixed_example, pocket_example, wan_example
from torch import nn

from diffusionforce.pipeline.bench.model import BenchmarkShape
from diffusionforce.pipeline.nesting import list_tensors
from diffusionforce.pipeline.schedule import generators as schedule
from diffusionforce.pipeline.schedule.generators import Op
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.numbers import ModelTrace
from diffusionforce.pipeline.tracer.standins import CardKernels
from diffusionforce.pipeline.tracer.trace import Subject, trace_call, trace_sampling, trace_training
from diffusionforce.ugpum.footprint import Footprint
from diffusionforce.ugpum.forecast import Layout, forecast_sampling, forecast_training

TOLERANCE = 0.02

Order = Callable[..., list[Op]]
PLANS = {
    "one card": ((6,), (0,), 1, schedule.turns),
    "1F1B": ((4, 2), (0, 1), 3, schedule.one_f_one_b),
    "gpipe": ((3, 3), (0, 1), 3, schedule.gpipe),
    "interleaved": ((2, 1, 2, 1), (0, 1, 0, 1), 4, schedule.interleaved),
    "three cards": ((2, 1, 1, 1, 1), (0, 1, 2, 1, 0), 2, schedule.greedy),
    "first block not at home": ((2, 4), (1, 0), 2, schedule.turns),
}


def layout_of(name: str) -> tuple[Layout, int]:
    sizes, cards, num_microbatches, generate = PLANS[name]
    order = generate(schedule.Costs.equal(cards), num_microbatches=num_microbatches)
    return Layout(chunk_sizes=sizes, card_of_chunk=cards, order=order), num_microbatches


def assert_forecast_holds(example: Example, trace: ModelTrace, name: str) -> None:
    layout, num_microbatches = layout_of(name)
    forecast = forecast_training(Footprint.from_json(trace.to_json()), layout)
    step = CountedStep(
        cut=example.cut(example.make_model(CPU)),
        chunks=layout.chunks,
        card_of_chunk=layout.card_of_chunk,
        order=[Op(*op) for op in layout.order],  # pyright: ignore[reportArgumentType]
        make_optimizer=adamw,
    )
    counted = step.peak_bytes([example.make_batch(CPU) for _ in range(num_microbatches)])
    assert list(forecast.peak_bytes) == pytest.approx(counted, rel=TOLERANCE), name


@pytest.fixture(scope="module")
def wan_trace() -> ModelTrace:
    return trace_training(wan_example(checkpointing=True).subject())


@pytest.mark.parametrize("name", PLANS)
def test_checkpointed_step_holds_what_was_forecast(wan_trace: ModelTrace, name: str) -> None:
    assert_forecast_holds(wan_example(checkpointing=True), wan_trace, name)


@pytest.mark.parametrize(
    "example",
    [
        wan_example(checkpointing=False),
        pocket_example(),
        mixed_example(checkpointing=False),
        mixed_example(checkpointing=True),
    ],
    ids=["plain", "pocket", "mixed precision", "mixed precision, checkpointed"],
)
def test_other_steps_hold_what_was_forecast(example: Example) -> None:
    trace = trace_training(example.subject())
    for name in ("1F1B", "three cards"):
        assert_forecast_holds(example, trace, name)


def test_more_live_micro_batches_need_more_where_they_live(wan_trace: ModelTrace) -> None:
    footprint = Footprint.from_json(wan_trace.to_json())
    one, four = (
        forecast_training(
            footprint,
            Layout(
                chunk_sizes=(3, 3),
                card_of_chunk=(0, 1),
                order=schedule.gpipe(schedule.Costs.equal((0, 1)), num_microbatches=count),
            ),
        )
        for count in (1, 4)
    )
    kept = 3 * footprint.blocks[1].kept_bytes
    for before, after in zip(one.cards, four.cards, strict=True):
        assert after.activation_bytes - before.activation_bytes >= 3 * kept - footprint.blocks[1].output_bytes * 3
        assert after.weights_bytes == before.weights_bytes


def test_paged_blocks_move_from_the_card_to_ram(wan_trace: ModelTrace) -> None:
    footprint = Footprint.from_json(wan_trace.to_json())
    order = schedule.turns(schedule.Costs.equal((0,)), num_microbatches=1)
    plain = Layout(chunk_sizes=(6,), card_of_chunk=(0,), order=order)
    paged = Layout(chunk_sizes=(6,), card_of_chunk=(0,), order=order, paged=frozenset({1, 2, 4, 5}), num_slots=(2,))
    before, after = forecast_training(footprint, plain), forecast_training(footprint, paged)
    part = footprint.blocks[1].part
    assert after.ram_bytes == 4 * part.paged_bytes
    saved = before.cards[0].peak_bytes - after.cards[0].peak_bytes
    assert saved == 4 * sum(part.weights_bytes.values()) - 2 * part.paged_bytes


def test_sampling_holds_no_activations(wan_trace: ModelTrace) -> None:
    example = wan_example(checkpointing=True)
    sampling = trace_sampling(example.subject())
    layout = Layout(chunk_sizes=(3, 3), card_of_chunk=(0, 1), order=())
    training = Footprint.from_json(wan_trace.to_json())
    forecast = forecast_sampling(Footprint.from_json(sampling.to_json()), layout, training=training)
    model, batch = example.make_model(CPU), example.make_batch(CPU)
    with torch.no_grad():
        plain = forecast_sampling(
            Footprint.from_json(sampling.to_json()), Layout(chunk_sizes=(6,), card_of_chunk=(0,), order=())
        )
        assert plain.cards[0].peak_bytes == pytest.approx(counted_call(model, batch, example), rel=TOLERANCE)
    assert all(card.gradient_bytes == 0 and card.optimizer_bytes > 0 for card in forecast.cards)


def counted_call(model: nn.Module, batch: object, example: Example) -> int:
    """Bytes held at most while a model is evaluated on one card."""
    with StorageCounter() as counter, CardKernels():
        for tensor in [*model.parameters(), *list_tensors(vars(batch))]:
            counter.note(tensor)
        example.loss(model, batch)
    return counter.peak


def test_recomputing_from_outside_keeps_as_little_as_from_inside() -> None:
    inside = trace_training(wan_example(checkpointing=True).subject())
    subject = wan_example(checkpointing=False).subject()
    outside = trace_training(
        Subject(
            make_model=subject.make_model,
            blocks_of=subject.blocks_of,
            make_batch=subject.make_batch,
            run=subject.run,
            make_optimizer=subject.make_optimizer,
            recompute=True,
        )
    )
    assert outside.kinds[1].kept_bytes == inside.kinds[1].kept_bytes < 0.1 * inside.kinds[1].backward_bytes


def test_a_called_module_is_traced_by_itself() -> None:
    trace = trace_call(
        lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1)),
        lambda device: torch.randn(1, 3, 64, 64, device=device),
        lambda module, picture: module(picture),
    )
    picture, wide = 4 * 3 * 64 * 64, 4 * 16 * 64 * 64
    assert (trace.input_bytes, trace.output_bytes) == (picture, picture)
    assert trace.peak_bytes == 2 * wide
    assert trace.weights_bytes >= 4 * (16 * 3 * 9 + 16 + 3 * 16 * 9 + 3)


def test_wan_14b_over_two_cards_needs_what_two_cards_were_seen_to_hold(wan_trace: ModelTrace) -> None:
    """Measured on two H200: 15.4, 16.2 and 17.7 GiB on the fuller card for 1, 2 and 4 micro-batches under way there."""
    assert wan_trace, "what is imported on first use must not count for the time below"
    example = wan_example(checkpointing=True, shape=BenchmarkShape(), num_tokens=4096)
    begin = time.process_time()
    footprint = Footprint.from_json(trace_training(example.subject()).to_json())
    assert time.process_time() - begin < 3, "the forecast of a 14B model must be a matter of moments"
    products = 2 * 4096 * (6 * 5120**2 + 2 * 5120 * 13824) + 2 * 512 * 2 * 5120**2
    attention = 4 * 4096 * (4096 + 512) * 5120
    assert footprint.blocks[1].forward_flops == pytest.approx(products + attention, rel=0.02), "LoRA is the rest"
    for num_microbatches, measured_gib in ((1, 15.4), (2, 16.2), (4, 17.7)):
        order = schedule.gpipe(schedule.Costs.equal((0, 1)), num_microbatches=num_microbatches)
        layout = Layout(chunk_sizes=(20, 20), card_of_chunk=(0, 1), order=order)
        forecast = forecast_training(footprint, layout)
        assert forecast.cards[0].peak_bytes / 2**30 == pytest.approx(measured_gib, rel=0.02)


@pytest.mark.parametrize("around", [False, True], ids=["inside the blocks", "around the blocks"])
def test_a_model_may_checkpoint_where_it_likes(around: bool) -> None:
    """And may have LoRA outside its blocks, dropout, nested arguments and metadata on the host."""
    subject = Subject(
        make_model=lambda: small_dit(around=around, checkpointing=not around, dropout=0.1),
        blocks_of=lambda model: list(model.blocks),  # pyright: ignore[reportArgumentType]
        make_batch=lambda _device: small_batch(2),
        run=flow_loss,
        make_optimizer=adamw,
    )
    trace = trace_training(subject)
    assert trace.kind_of_block == (0, 1, 1, 1, 1, 1)
    inner = trace.kinds[1]
    # The random numbers' state is kept for recomputing dropout: some kilobytes, whatever the block.
    assert inner.output_bytes <= inner.kept_bytes <= inner.output_bytes + 8192
    assert inner.backward_bytes > 3 * inner.output_bytes
    assert trace.outer.part.trained_bytes > 0
    assert trace.outer.shared_bytes >= 5 * 512
