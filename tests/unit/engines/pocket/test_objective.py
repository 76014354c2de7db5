"""The loss, and the same loss on fixed noise."""

import math

import pytest
import torch
from tests.support.pocket_models import tiny_text_encoder, tiny_transformer

from diffusionforce.engines.pocket.dataset import prepare_world
from diffusionforce.engines.pocket.objective import HeldOutLoss, add_noise, draw_sigmas, flow_loss
from diffusionforce.engines.pocket.precision import Precision

CPU = torch.device("cpu")
FP32 = Precision(device_type="cpu", bf16=False)


def test_noise_levels_follow_their_distribution() -> None:
    sigmas = draw_sigmas(20_000, torch.Generator().manual_seed(1), mean=1.2, std=0.5)
    logits = torch.logit(sigmas)
    assert logits.mean().item() == pytest.approx(1.2, abs=0.02)
    assert logits.std().item() == pytest.approx(0.5, abs=0.02)


def test_shift_moves_the_levels_towards_noise() -> None:
    plain, shifted = (draw_sigmas(9, torch.Generator().manual_seed(1), mean=0, std=1, shift=s) for s in (1.0, 3.0))
    assert torch.allclose(torch.logit(shifted), torch.logit(plain) + math.log(3), atol=1e-4)


def test_the_right_velocity_has_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = tiny_transformer()
    pictures, noise = torch.randn(2, 2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    text = tiny_text_encoder().encode(["a fox", "a frog"])
    sigma = torch.tensor([0.2, 0.9])
    monkeypatch.setattr(
        transformer, "predict_clean", lambda noisy, sigma, context, pooled: noisy - sigma[:, None, None, None] * answer
    )
    answer = noise - pictures
    assert flow_loss(transformer, pictures, text, sigma=sigma, noise=noise).max() < 1e-9
    answer = answer + 1
    losses = flow_loss(transformer, pictures, text, sigma=sigma, noise=noise)
    assert torch.allclose(losses, torch.ones(2), atol=1e-4)


def test_noise_replaces_the_picture_at_level_one() -> None:
    pictures, noise = torch.ones(2, 3, 16, 16), torch.zeros(2, 3, 16, 16)
    mixed = add_noise(pictures, noise, torch.tensor([0.0, 1.0]))
    assert torch.equal(mixed[0], pictures[0])
    assert torch.equal(mixed[1], noise[1])


def test_the_held_out_loss_is_the_same_at_every_call() -> None:
    pictures = prepare_world(tiny_text_encoder(), count=2, width_px=32, height_px=32, seed=1)
    held_out = HeldOutLoss(pictures, device=CPU, precision=FP32)
    transformer, other = tiny_transformer(), tiny_transformer(seed=1)
    told: list[int] = []
    state = torch.random.get_rng_state()
    first = held_out.measure(transformer, on_pass=lambda done, total: told.append(done))
    assert told == list(range(1, held_out.num_passes + 1))
    assert held_out.measure(transformer) == first
    assert held_out.measure(other) != first
    assert torch.equal(torch.random.get_rng_state(), state)
