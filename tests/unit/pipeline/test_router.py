"""A routed model must give the losses and the gradients of the model it was made from, parameter by parameter."""

import pytest
import torch
from tests.support.gradients import Gradients, gradient_differences
from tests.support.small_dit import Batch, SmallDit, flow_loss, small_batch, small_dit
from tests.support.virtual_devices import (
    MixedDevicesError,
    VirtualDevices,
    crossings,
    place_virtually,
    real_gradients,
    real_of,
    to_virtual,
    virtual_device,
)

from diffusionforce.pipeline.placement import even_placement, verify_placement
from diffusionforce.pipeline.router import Router
from diffusionforce.pipeline.transfer import Hop

HOME = virtual_device(0)


def routed(model: SmallDit, num_devices: int, *, chunks: int = 1, recompute: bool = False) -> Router:
    placement = even_placement(
        len(model.blocks), [virtual_device(index) for index in range(num_devices)], chunks_per_stage=chunks
    )
    place_virtually(model, HOME)
    for block, device in zip(model.blocks, placement.device_of_block, strict=True):
        place_virtually(block, device)
    verify_placement(model.blocks, placement)
    return Router(model.blocks, placement, home=HOME, recompute=recompute).install()


def virtual_batch(size: int = 2) -> Batch:
    x, timestep, text, target = (to_virtual(tensor, HOME) for tensor in small_batch(size))
    return x, timestep, text, target


def plain_run(**options) -> tuple[float, Gradients]:
    model = small_dit(**options)
    torch.manual_seed(3)
    loss = flow_loss(model, small_batch(2))
    loss.backward()
    return loss.item(), real_gradients(model)


def routed_run(num_devices: int, *, chunks: int = 1, recompute: bool = False, **options) -> tuple[float, Gradients]:
    model = small_dit(**options)
    with routed(model, num_devices, chunks=chunks, recompute=recompute), VirtualDevices():
        torch.manual_seed(3)
        loss = flow_loss(model, virtual_batch())
        loss.backward()
        return real_of(loss).item(), real_gradients(model)


@pytest.mark.parametrize("num_devices", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"checkpointing": True}, {"around": True}, {"skip": True, "in_place": True}],
    ids=["plain", "checkpoint inside", "checkpoint around", "skip and in-place"],
)
def test_gradients_equal_the_unsplit_models(num_devices, options):
    expected_loss, expected = plain_run(**options)
    loss, found = routed_run(num_devices, **options)
    assert loss == expected_loss
    assert gradient_differences(expected, found) == []


def test_interleaved_chunks_and_dropout():
    options = {"dropout": 0.3, "checkpointing": True}
    expected_loss, expected = plain_run(**options)
    loss, found = routed_run(2, chunks=3, **options)
    assert loss == expected_loss
    assert gradient_differences(expected, found) == []


def test_recomputing_inside_the_router():
    expected_loss, expected = plain_run()
    loss, found = routed_run(3, recompute=True)
    assert loss == expected_loss
    assert gradient_differences(expected, found) == []


@pytest.mark.parametrize("factor", [0.0, 2.0], ids=["lost", "doubled"])
def test_the_comparison_notices_one_gradient_lost_or_doubled(monkeypatch, factor):
    """The gradient of one single copy is falsified; the tests above must not pass with that."""
    _, expected = plain_run()
    honest, calls = Hop.backward, []

    def falsified(ctx, *gradients):
        calls.append(gradients[0].shape)
        first = len(calls) == 1
        return honest(ctx, *(gradient * factor if first else gradient for gradient in gradients))

    monkeypatch.setattr(Hop, "backward", staticmethod(falsified))
    _, found = routed_run(2)
    assert calls
    assert gradient_differences(expected, found)


def test_without_the_router_devices_would_mix():
    model = small_dit()
    router = routed(model, 2)
    router.remove()
    with VirtualDevices(), pytest.raises(MixedDevicesError):
        model(*virtual_batch()[:3])


def test_constants_cross_once_per_forward_and_device():
    model = small_dit(num_blocks=6)
    with routed(model, 2), VirtualDevices(), torch.no_grad():
        crossings.clear()
        model(*virtual_batch()[:3])
    # To the second device: x, four parts of the modulation, rotary, text. Back: x.
    assert len(crossings) == 8
    assert [crossing.destination for crossing in crossings] == [virtual_device(1)] * 7 + [HOME]


def test_sampling_without_gradients_gives_the_same_prediction():
    with torch.no_grad():
        expected = small_dit()(*small_batch(2)[:3])
    model = small_dit()
    with routed(model, 3), VirtualDevices(), torch.no_grad():
        for _ in range(2):
            assert torch.equal(real_of(model(*virtual_batch()[:3])), expected)


def test_two_logical_stages_on_the_cpu_copy_nothing():
    expected_loss, expected = plain_run()
    model = small_dit()
    router = Router(model.blocks, even_placement(len(model.blocks), ["cpu", "cpu"])).install()
    loss = flow_loss(model, small_batch(2))
    loss.backward()
    assert loss.item() == expected_loss
    assert gradient_differences(expected, real_gradients(model), tolerance=0.0) == []
    assert router.transfers.num_copies == 0


def test_remove_gives_the_blocks_their_forwards_back():
    model = small_dit(num_blocks=2)
    own = model.blocks[0].__dict__
    shadow = model.blocks[1].forward
    model.blocks[1].forward = shadow
    router = Router(model.blocks, even_placement(2, ["cpu"])).install()
    with pytest.raises(RuntimeError, match="installed already"):
        router.install()
    assert model.blocks[0].forward.__name__ == "forward"
    router.remove()
    assert "forward" not in own
    assert model.blocks[1].forward is shadow


def test_an_exception_inside_a_block_passes_through():
    model = small_dit(num_blocks=2)

    def broken(*args, **kwargs):
        raise KeyError("from the block")

    model.blocks[1].forward = broken
    with (
        Router(model.blocks, even_placement(2, ["cpu", "cpu"])).install(),
        pytest.raises(KeyError, match="from the block"),
    ):
        model(*small_batch(1)[:3])
    assert model.blocks[1].forward is broken
