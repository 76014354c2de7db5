"""Batches cut into pieces: the same gradients, whoever runs them."""

import pytest
import torch
from tests.support.gradients import gradient_differences
from tests.support.pocket_models import tiny_text_encoder, tiny_transformer
from tests.support.virtual_devices import real_gradients
from torch import nn

from diffusionforce.engines.pocket.dataset import prepare_world
from diffusionforce.engines.pocket.devices import place_evenly
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.microbatches import InTurn, Pipelined, piece_runner
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.preparation import Materials
from diffusionforce.engines.pocket.stepper import Stepper
from diffusionforce.job import builtin_profiles, changed, read_profile

CPU = torch.device("cpu")


def gradients_of_a_step(*, num_stages: int, batch_size: int, accumulation: int) -> tuple[float, dict]:
    """Loss and gradients of the first step, before they are clipped or applied."""
    settings = {
        "training.batch_size": batch_size,
        "training.gradient_accumulation": accumulation,
        "training.max_grad_norm": 0.0,
        "training.learning_rate": 1e-9,
        "dataset.regularisation_share": 0.0,
        # Losses at different noise levels are far apart; at one level a wrong weight cannot hide among them.
        "training.logit_std": 0.001,
    }
    profile = changed(read_profile(builtin_profiles()["pocket-demo"]), settings, origin="test")
    encoder = tiny_text_encoder()
    pictures = prepare_world(encoder, count=5, width_px=32, height_px=32, seed=1)
    materials = Materials(pictures=pictures, num_own=5, held_out=None, prompts=None, empty_prompt=encoder.encode([""]))
    transformer = tiny_transformer()
    placement = place_evenly(transformer, [CPU] * num_stages)
    lora = Lora.attach(transformer, rank=2, alpha=2.0, seed=1)
    for layer in lora.layers.values():
        nn.init.normal_(layer.lora_B, std=0.1, generator=torch.Generator().manual_seed(2))
    runner = piece_runner(transformer.blocks, placement, recompute=False)
    with runner.installed():
        stepper = Stepper(
            transformer,
            lora,
            materials,
            runner=runner,
            profile=profile,
            device=CPU,
            precision=Precision(device_type="cpu", bf16=False),
        )
        result = stepper.take_step(1)
    return result.loss, real_gradients(transformer)


@pytest.mark.parametrize(("batch_size", "accumulation"), [(1, 1), (3, 1), (2, 2), (5, 1)])
@pytest.mark.parametrize("num_stages", [2, 3])
def test_a_pipeline_gives_the_gradients_of_one_device(num_stages: int, batch_size: int, accumulation: int) -> None:
    expected_loss, expected = gradients_of_a_step(num_stages=1, batch_size=batch_size, accumulation=accumulation)
    loss, found = gradients_of_a_step(num_stages=num_stages, batch_size=batch_size, accumulation=accumulation)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    assert len(expected) == 2 * 4 * 4
    assert gradient_differences(expected, found, tolerance=1e-4) == []


def test_accumulated_batches_weigh_as_much_as_one_large_batch() -> None:
    # One picture a batch, the same five pictures: only their noise is dealt in another order.
    one, _ = gradients_of_a_step(num_stages=1, batch_size=5, accumulation=1)
    five, _ = gradients_of_a_step(num_stages=1, batch_size=1, accumulation=5)
    assert five == pytest.approx(one, rel=0.1)


def test_a_batch_is_cut_into_enough_pieces() -> None:
    transformer = tiny_transformer()
    runner = piece_runner(transformer.blocks, place_evenly(transformer, [CPU, CPU]), recompute=False)
    assert isinstance(runner, Pipelined)
    assert runner.num_pieces(8, num_batches=1) == 4
    assert runner.num_pieces(2, num_batches=1) == 2
    assert runner.num_pieces(8, num_batches=4) == 1
    single = piece_runner(transformer.blocks, place_evenly(transformer, [CPU]), recompute=False)
    assert isinstance(single, InTurn)
    assert single.num_pieces(8, num_batches=1) == 1
