"""A scheduled step must give the gradients of running the micro-batches one by one through the plain model."""

import gc
import signal
import threading
import time
import traceback
import weakref

import pytest
import torch
from tests.support.gradients import Gradients, gradient_differences
from tests.support.small_dit import Batch, SmallDit, flow_loss, small_batch, small_dit
from tests.support.virtual_devices import (
    VirtualDevices,
    crossings,
    place_virtually,
    real_gradients,
    real_of,
    to_virtual,
    virtual_device,
)

from diffusionforce.pipeline.executor import cutting
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.executor.strand import ScheduleMismatchError
from diffusionforce.pipeline.placement import Placement, even_placement, verify_placement
from diffusionforce.pipeline.schedule.generators import Costs, Op, best, gpipe, greedy, interleaved, peak_live, turns

HOME = virtual_device(0)
PLAIN, TRICKY = {}, {"skip": True, "in_place": True}


def virtual_executor(model: SmallDit, placement: Placement, **options) -> StepExecutor:
    place_virtually(model, HOME)
    for block, device in zip(model.blocks, placement.device_of_block, strict=True):
        place_virtually(block, device)
    verify_placement(model.blocks, placement)
    return StepExecutor(model.blocks, placement, home=HOME, contexts=[VirtualDevices], **options).install()


def batches(num_microbatches: int, *, virtual: bool = False) -> list[Batch]:
    whole = small_batch(num_microbatches)
    made: list[Batch] = []
    for index in range(num_microbatches):
        x, timestep, text, target = (tensor[index : index + 1].clone() for tensor in whole)
        if virtual:
            x, timestep, text, target = (to_virtual(tensor, HOME) for tensor in (x, timestep, text, target))
        made.append((x, timestep, text, target))
    return made


def plain_step(num_microbatches: int, *, bf16: bool = False, **options) -> tuple[list[float], Gradients]:
    """One micro-batch after the other through the model as it is."""
    model, losses = small_dit(**options), []
    for index, batch in enumerate(batches(num_microbatches)):
        torch.manual_seed(100 + index)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = flow_loss(model, batch)
        (loss * (1 / num_microbatches)).backward()
        losses.append(loss.item())
    return losses, real_gradients(model)


def scheduled_step(
    make_order,
    num_microbatches: int,
    *,
    num_devices: int = 2,
    chunks: int = 1,
    bf16: bool = False,
    recompute: bool = False,
    num_steps: int = 1,
    **options,
) -> tuple[list[float], Gradients]:
    model = small_dit(**options)
    devices = [virtual_device(index) for index in range(num_devices)]
    placement = even_placement(len(model.blocks), devices, chunks_per_stage=chunks)
    order = make_order(Costs.equal(placement.device_of_chunk), num_microbatches=num_microbatches)
    data = batches(num_microbatches, virtual=True)

    def microbatch(index: int) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            return flow_loss(model, data[index])

    losses: list[torch.Tensor] = []
    with virtual_executor(model, placement, recompute=recompute) as executor, VirtualDevices():
        for _ in range(num_steps):
            model.zero_grad(set_to_none=True)
            losses = executor.step(
                order,
                microbatches=[lambda index=index: microbatch(index) for index in range(num_microbatches)],
                seeds=[100 + index for index in range(num_microbatches)],
            )
    return [real_of(loss).item() for loss in losses], real_gradients(model)


def best_order(costs, *, num_microbatches):
    return best(Costs.equal(costs.device_of, backward_s=3, tail_s=0.1), num_microbatches=num_microbatches)


ORDERS = [turns, gpipe, interleaved, greedy, best_order]


@pytest.mark.parametrize(
    ("make_order", "num_devices", "chunks"),
    [
        *((make, 2, 2) for make in ORDERS),
        (gpipe, 3, 1),
        (interleaved, 3, 2),
        (best_order, 3, 2),
        (interleaved, 4, 1),
        (greedy, 4, 1),
        (interleaved, 1, 2),
        (greedy, 1, 1),
    ],
)
def test_every_schedule_on_one_to_four_devices(make_order, num_devices, chunks):
    options = {"checkpointing": True, "dropout": 0.2, "num_blocks": max(4, num_devices * chunks)}
    expected_losses, expected = plain_step(3, **options)
    losses, found = scheduled_step(make_order, 3, num_devices=num_devices, chunks=chunks, **options)
    assert losses == expected_losses
    assert gradient_differences(expected, found, tolerance=0.0) == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"skip": True, "in_place": True},
        {"skip": True, "checkpointing": True},
        {"skip": True, "dropout": 0.3},
        {"bf16": True, "checkpointing": True},
        {"bf16": True, "skip": True},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_gradients_are_equal_to_the_last_bit(options):
    """Twice, because the first step searches every piece of the graph and the second only those that need it."""
    expected_losses, expected = plain_step(2, num_blocks=4, **options)
    losses, found = scheduled_step(interleaved, 2, chunks=2, num_steps=2, num_blocks=4, **options)
    assert losses == expected_losses
    assert gradient_differences(expected, found, tolerance=0.0) == []


def test_a_tensor_that_several_segments_reach_past_the_blocks():
    """Each of them owes the prologue a gradient for the same edge; they must all arrive, added in autograd's order."""
    options = {"skip": True, "skip_between": True, "num_blocks": 4}
    expected_losses, expected = plain_step(2, **options)
    losses, found = scheduled_step(interleaved, 2, num_devices=1, chunks=4, num_steps=2, **options)
    assert losses == expected_losses
    assert gradient_differences(expected, found, tolerance=0.0) == []


@pytest.mark.parametrize(
    ("options", "tolerance"), [({"around": True}, 0.0), ({"recompute": True, "dropout": 0.2}, 1e-6)], ids=str
)
def test_checkpointing_around_blocks_and_inside_the_pipeline(options, tolerance):
    """Recomputing inside the pipeline adds up what a block owes to a constant before it leaves the block."""
    plain_options = {key: value for key, value in options.items() if key != "recompute"}
    expected_losses, expected = plain_step(2, skip=True, num_blocks=4, **plain_options)
    losses, found = scheduled_step(interleaved, 2, chunks=2, skip=True, num_blocks=4, **options)
    assert losses == expected_losses
    assert gradient_differences(expected, found, tolerance=tolerance) == []


@pytest.mark.parametrize(("make_order", "runs_of_the_last"), [(interleaved, 1), (gpipe, 2)])
def test_only_a_block_whose_backward_follows_at_once_is_not_run_again(make_order, runs_of_the_last):
    num_microbatches, model = 3, small_dit(num_blocks=4)
    runs = [0] * 4
    for index, block in enumerate(model.blocks):
        original = block.forward

        def counted(*args, index=index, original=original, **kwargs):
            runs[index] += 1
            return original(*args, **kwargs)

        block.forward = counted
    placement = even_placement(4, [virtual_device(0), virtual_device(1)])
    order = make_order(Costs.equal(placement.device_of_chunk), num_microbatches=num_microbatches)
    data = batches(num_microbatches, virtual=True)
    with virtual_executor(model, placement, recompute=True) as executor, VirtualDevices():
        executor.step(order, microbatches=[lambda batch=batch: flow_loss(model, batch) for batch in data])
    assert runs == [2 * num_microbatches] * 3 + [runs_of_the_last * num_microbatches]


def test_recomputing_reaches_the_first_block_behind_a_frozen_prologue():
    """Nothing that enters block 0 requires a gradient there, and its own parameters must get theirs all the same."""

    def frozen(model):
        for part in (model.patch, model.time, model.modulation, model.text):
            part.requires_grad_(False)
        return model

    model, data = frozen(small_dit(num_blocks=2)), batches(2)
    for batch in data:
        (flow_loss(model, batch) / 2).backward()
    expected = real_gradients(model)
    assert len(expected) > 10
    model = frozen(small_dit(num_blocks=2))
    with StepExecutor(model.blocks, even_placement(2, ["cpu", "cpu"]), recompute=True).install() as executor:
        executor.step(
            gpipe(Costs.equal([0, 1]), num_microbatches=2),
            microbatches=[lambda batch=batch: flow_loss(model, batch) for batch in data],
        )
    assert gradient_differences(expected, real_gradients(model)) == []


@pytest.mark.parametrize("factor", [0.0, 2.0], ids=["lost", "doubled"])
def test_the_comparison_notices_one_gradient_lost_or_doubled(monkeypatch, factor):
    """One gradient of one cut is falsified; the tests above must not pass with that."""
    _, expected = plain_step(2)
    honest, calls = cutting.Intake.backward, []

    def falsified(ctx, *gradients):
        calls.append(gradients)
        return honest(ctx, *(gradient * factor for gradient in gradients) if len(calls) == 1 else gradients)

    monkeypatch.setattr(cutting.Intake, "backward", staticmethod(falsified))
    _, found = scheduled_step(interleaved, 2)
    assert gradient_differences(expected, found)


def test_weights_and_scale_multiply_the_gradients():
    model, data = small_dit(), batches(2)
    (6.0 * flow_loss(model, data[0]) + 2.0 * flow_loss(model, data[1])).backward()
    expected = real_gradients(model)
    model = small_dit()
    placement = even_placement(6, ["cpu", "cpu"])
    with StepExecutor(model.blocks, placement).install() as executor:
        executor.step(
            gpipe(Costs.equal([0, 1]), num_microbatches=2),
            microbatches=[lambda batch=batch: flow_loss(model, batch) for batch in data],
            weights=[0.75, 0.25],
            scale=8.0,
        )
    assert gradient_differences(expected, real_gradients(model), tolerance=1e-5) == []


class Scene:
    """A small model on two logical stages of the CPU, with two micro-batches."""

    def __init__(self, *, chunks: int = 2, num_microbatches: int = 2, **options) -> None:
        self.model = small_dit(**options)
        self.placement = even_placement(6, ["cpu", "cpu"], chunks_per_stage=chunks)
        self.executor = StepExecutor(self.model.blocks, self.placement).install()
        self.order = interleaved(Costs.equal([0, 1] * chunks), num_microbatches=num_microbatches)
        self.data = batches(num_microbatches)

    def plain_microbatch(self, index):
        return flow_loss(self.model, self.data[index])

    def step(self, microbatch=None, **options):
        run = microbatch or self.plain_microbatch
        functions = [lambda index=index: run(index) for index in range(len(self.data))]
        return self.executor.step(self.order, microbatches=functions, **options)


@pytest.fixture
def scene():
    made = Scene()
    yield made
    made.executor.remove()
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("micro-batch")]
    assert names == []


def test_a_function_may_give_more_than_the_loss_and_nothing_keeps_the_graph(scene):
    def microbatch(index):
        loss = flow_loss(scene.model, scene.data[index])
        return loss, {"metric": loss * 2, "name": f"number {index}"}

    results = scene.step(microbatch)
    assert [result[1]["name"] for result in results] == ["number 0", "number 1"]
    assert results[1][1]["metric"].item() == 2 * results[1][0].item()
    assert not results[0][0].requires_grad and not results[0][1]["metric"].requires_grad


def test_sampling_between_and_inside_micro_batches_bypasses_the_schedule(scene):
    x, timestep, text, _ = scene.data[0]
    with torch.no_grad():
        expected = small_dit()(x, timestep, text)
    sampled = []

    def microbatch(index):
        with torch.no_grad():
            sampled.append(scene.model(x, timestep, text))
        loss = flow_loss(scene.model, scene.data[index])
        with torch.no_grad():
            sampled.append(scene.model(x, timestep, text))
        return loss

    scene.step(microbatch)
    with torch.no_grad():
        sampled.append(scene.model(x, timestep, text))
    assert len(sampled) == 5
    assert all(torch.equal(picture, expected) for picture in sampled)
    _, gradients = plain_step(2)
    assert gradient_differences(gradients, real_gradients(scene.model), tolerance=0.0) == []


@pytest.mark.parametrize("where", ["prologue", "block", "tail", "backward"])
def test_an_exception_ends_the_step_cleanly_with_its_own_traceback(scene, where):
    class PlantedError(Exception):
        pass

    class Raising(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, *gradients):
            raise PlantedError("in backward")

    def planted_here(*args, **kwargs):
        raise PlantedError(where)

    def microbatch(index):
        if where == "prologue" and index == 1:
            planted_here()
        loss = flow_loss(scene.model, scene.data[index])
        if where == "tail" and index == 1:
            planted_here()
        return Raising.apply(loss) if where == "backward" else loss

    body = scene.model.blocks[4].body
    if where == "block":
        scene.model.blocks[4].body = planted_here
    with pytest.raises(PlantedError) as caught:
        scene.step(microbatch)
    if where != "backward":
        assert "planted_here" in "".join(traceback.format_tb(caught.value.__traceback__))
    scene.model.blocks[4].body = body
    scene.model.zero_grad(set_to_none=True)
    losses = scene.step()
    expected_losses, expected = plain_step(2)
    assert [loss.item() for loss in losses] == expected_losses
    assert gradient_differences(expected, real_gradients(scene.model), tolerance=0.0) == []


def test_code_that_swallows_exceptions_cannot_keep_an_unwinding_strand(scene):
    def microbatch(index):
        if index == 1:
            raise KeyError("second")
        try:
            return flow_loss(scene.model, scene.data[index])
        except Exception:  # noqa: BLE001 - a trainer that catches everything
            return torch.zeros((), requires_grad=True)

    with pytest.raises(KeyError, match="second"):
        scene.step(microbatch)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system cannot signal one thread")
def test_an_interruption_reaches_the_caller_at_the_next_boundary(scene):
    """Ctrl-C arrives while a micro-batch runs in its thread and the caller waits for it."""
    went_on = []
    caller = threading.get_ident()

    def microbatch(index):
        if index == 1:
            signal.pthread_kill(caller, signal.SIGINT)
            # The interruption is on its way; the forward goes on to its boundary all the same.
            time.sleep(0.05)
            went_on.append(index)
        return flow_loss(scene.model, scene.data[index])

    with pytest.raises(KeyboardInterrupt):
        scene.step(microbatch)
    assert went_on == [1]
    scene.model.zero_grad(set_to_none=True)
    scene.step()
    _, expected = plain_step(2)
    assert gradient_differences(expected, real_gradients(scene.model), tolerance=0.0) == []


def test_threads_are_used_again_and_end_with_the_executor():
    scene = Scene(num_microbatches=4)
    for _ in range(3):
        scene.step()
    assert scene.executor.threads.num_started <= 3
    scene.executor.remove()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("micro-batch")]


def test_calling_the_model_twice_is_refused(scene):
    with pytest.raises(ScheduleMismatchError, match="ran twice"):
        scene.step(lambda index: flow_loss(scene.model, scene.data[0]) + flow_loss(scene.model, scene.data[1]))


def test_skipping_blocks(scene):
    """The first block of a chunk may be left out; a whole chunk and the last block may not."""

    def leave_out(*numbers):
        kept = [block for number, block in enumerate(scene.model.blocks) if number not in numbers]
        scene.model._modules["blocks"] = torch.nn.ModuleList(kept)

    whole = scene.model.blocks
    skipped = scene.placement.chunks[3][0]
    leave_out(skipped)
    scene.step()
    assert all(p.grad is None for p in whole[skipped].parameters())
    scene.model._modules["blocks"] = whole
    leave_out(*scene.placement.chunks[1])
    with pytest.raises(ScheduleMismatchError, match="went from chunk 0 to 2"):
        scene.step()
    scene.model._modules["blocks"] = whole
    leave_out(5)
    with pytest.raises(ScheduleMismatchError, match="did not call its last block"):
        scene.step()


def test_wrong_orders_and_disabled_gradients_are_refused(scene):
    with pytest.raises(ValueError, match="ops are missing"):
        scene.executor.step(scene.order[:-1], microbatches=[lambda: None] * 2)
    with torch.no_grad(), pytest.raises(ValueError, match="gradients to be enabled"):
        scene.step()


def test_autocast_of_the_caller_holds_inside_micro_batches(scene):
    seen = []

    def microbatch(index):
        seen.append(torch.is_autocast_enabled("cpu"))
        return flow_loss(scene.model, scene.data[index])

    with torch.autocast("cpu", torch.bfloat16):
        scene.step(microbatch)
    assert seen == [True, True]
    _, expected = plain_step(2, bf16=True)
    assert gradient_differences(expected, real_gradients(scene.model), tolerance=0.0) == []


def test_the_callers_random_numbers_are_untouched_by_seeded_micro_batches(scene):
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    scene.step(seeds=[5, 6])
    assert torch.equal(torch.rand(1), expected)


def test_no_tensor_outlives_the_step(scene):
    """Boundary tensors and graphs are let go by reference counting alone, without the cyclic collector."""
    noted: list[weakref.ref[torch.Tensor]] = []

    def microbatch(index):
        x, timestep, text, target = scene.data[index]
        moved = x * 1.0
        noted.append(weakref.ref(moved))
        prediction = scene.model(moved, timestep, text)
        noted.append(weakref.ref(prediction))
        return ((prediction - target) ** 2).mean()

    gc.collect()
    gc.disable()
    try:
        scene.step(microbatch)
        assert [reference() for reference in noted] == [None] * 4
    finally:
        gc.enable()


def test_only_boundaries_and_what_travels_with_them_cross():
    """Without trained parameters in the prologue, constants go out once and no gradient of theirs comes back."""
    model = small_dit(num_blocks=4)
    for part in (model.patch, model.time, model.modulation, model.text):
        part.requires_grad_(False)
    placement = even_placement(4, [virtual_device(0), virtual_device(1)], chunks_per_stage=2)
    data = batches(1, virtual=True)[0]
    with virtual_executor(model, placement) as executor, VirtualDevices():
        crossings.clear()
        executor.step(turns(Costs.equal([0, 1] * 2), num_microbatches=1), microbatches=[lambda: flow_loss(model, data)])
    to_second = [c for c in crossings if c.destination == virtual_device(1)]
    # x twice, the gradient of x twice (from the tail and from chunk 2), four modulations, rotary, text.
    assert len(to_second) == 2 + 2 + 6
    # x from chunk 1 to 2 and from 3 home; the gradient of x from chunk 3 to 2 and from chunk 1 to 0.
    assert len(crossings) - len(to_second) == 4 - 0


def test_recording_gives_every_ops_time(scene):
    scene.step(record=True)
    timeline = scene.executor.timeline()
    assert {span.op for span in timeline.spans} == set(scene.order)
    assert all(span.end_s >= span.start_s for span in timeline.spans)
    assert 0 < sum(timeline.busy_s.values()) <= timeline.step_s * 1.001


def test_live_micro_batches_are_those_of_the_schedule():
    order = [*turns(Costs.equal([0, 1]), num_microbatches=2)]
    assert peak_live(order, num_chunks=2) == [1, 1]
    scene = Scene(chunks=1)
    scene.order = order
    alive, most = set(), []

    def microbatch(index):
        alive.add(index)
        most.append(len(alive))
        loss = flow_loss(scene.model, scene.data[index])
        loss.register_hook(lambda gradient: alive.discard(index))
        return loss

    scene.step(microbatch)
    scene.executor.remove()
    assert most == [1, 1]
    assert Op("F", 0, 1) == order[4]
