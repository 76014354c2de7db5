"""One step late must be exactly the recurrence that it claims to be."""

import threading
from inspect import cleandoc

import pytest
import torch
from tests.support.small_dit import SmallDit, flow_loss, small_batch, small_dit
from tests.support.virtual_devices import VirtualDevices, place_virtually, real_of, to_virtual, virtual_device

from diffusionforce.pipeline.executor.late import LateTrainer, Stash, late_order, trained_slots
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.placement import even_placement
from diffusionforce.pipeline.schedule.generators import Costs, draw, simulate, validate

NUM_STEPS = 5
OPTIONS = {"num_blocks": 4, "skip": True, "checkpointing": True, "dropout": 0.2}
HOME = virtual_device(0)


def optimizer_of(model: SmallDit) -> torch.optim.Optimizer:
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3, foreach=False)


def weights_of(model: SmallDit) -> list[torch.Tensor]:
    return [real_of(p.detach()) for p in model.parameters() if p.requires_grad]


def recurrence() -> tuple[list[float], list[torch.Tensor]]:
    """W(k+1) = optimiser(W(k), gradient at W(k-1)), one step after the other through the plain model."""
    model = small_dit(**OPTIONS)
    optimizer, slots, losses = optimizer_of(model), trained_slots(model), []
    before: tuple[Stash, int] | None = None
    for step in range(NUM_STEPS + 1):
        now = (Stash(slots), step)
        if before is not None:
            stash, number = before
            torch.manual_seed(100 + number)
            with stash.in_place():
                loss = flow_loss(model, small_batch(1, seed=number))
                loss.backward()
            stash.hand_over_gradients()
            losses.append(loss.item())
            optimizer.step()
        before = now
    return losses, weights_of(model)


def pipelined() -> tuple[list[float], list[torch.Tensor]]:
    model = small_dit(**OPTIONS)
    placement = even_placement(4, [HOME, virtual_device(1)])
    place_virtually(model, HOME)
    for block, device in zip(model.blocks, placement.device_of_block, strict=True):
        place_virtually(block, device)
    optimizer, losses = optimizer_of(model), []
    executor = StepExecutor(model.blocks, placement, home=HOME, contexts=[VirtualDevices]).install()
    with executor, VirtualDevices():
        trainer = LateTrainer(executor, model)
        for step in range(NUM_STEPS):
            x, timestep, text, target = (to_virtual(t, HOME) for t in small_batch(1, seed=step))
            batch = (x, timestep, text, target)
            result = trainer.push(lambda batch=batch: flow_loss(model, batch), seed=100 + step)
            if result is not None:
                losses.append(real_of(result).item())
                optimizer.step()
        losses.append(real_of(trainer.flush()).item())
        optimizer.step()
        assert trainer.flush() is None
    return losses, weights_of(model)


def test_weights_and_losses_are_those_of_the_recurrence_to_the_last_bit():
    expected_losses, expected = recurrence()
    losses, found = pipelined()
    assert losses == expected_losses
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_the_recurrence_is_not_synchronous_training():
    model = small_dit(**OPTIONS)
    optimizer = optimizer_of(model)
    for step in range(NUM_STEPS):
        torch.manual_seed(100 + step)
        optimizer.zero_grad()
        flow_loss(model, small_batch(1, seed=step)).backward()
        optimizer.step()
    assert not all(torch.equal(one, other) for one, other in zip(weights_of(model), recurrence()[1], strict=True))


def test_two_steps_overlap_on_two_devices():
    order = late_order(num_chunks=2, num_steps=3)
    validate(order, num_chunks=2, num_microbatches=3)
    costs = Costs.equal(["a", "b"])
    timeline = simulate(order, costs=costs)
    assert draw(timeline) == cleandoc("""
        a | F0.0 F0.1 .    .    B0.0 -    F0.2 B0.1 -    .    B0.2 -
        b | .    F1.0 B1.0 -    F1.1 B1.1 -    F1.2 B1.2 -    .    .
    """)
    long = simulate(late_order(num_chunks=2, num_steps=64), costs=costs)
    assert min(long.busy_share("a"), long.busy_share("b")) > 0.95


@pytest.mark.parametrize("where", ["new step", "step before"])
def test_an_error_ends_both_steps_and_puts_the_weights_back(where):
    model = small_dit(num_blocks=2)
    masters = [p for p in model.parameters() if p.requires_grad]
    executor = StepExecutor(model.blocks, even_placement(2, ["cpu", "cpu"])).install()
    trainer = LateTrainer(executor, model)

    def good():
        return flow_loss(model, small_batch(1))

    def bad():
        if where == "step before":
            good()
        raise KeyError("planted")

    with executor:
        if where == "step before":
            trainer.push(bad)
            with pytest.raises(KeyError, match="planted"):
                trainer.push(good)
        else:
            trainer.push(good)
            with pytest.raises(KeyError, match="planted"):
                trainer.push(bad)
        assert [p for p in model.parameters() if p.requires_grad] == masters
        assert trainer.push(good) is None
        trainer.discard()
        assert trainer.flush() is None
        trainer.push(good)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("micro-batch")]
