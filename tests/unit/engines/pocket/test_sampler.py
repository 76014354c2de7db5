"""Samples depend on seed and prompt and on nothing else."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from tests.support.pocket_models import tiny_text_encoder, tiny_transformer

from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.sampler import SamplerSettings, sample_picture, to_picture

FP32 = Precision(device_type="cpu", bf16=False)
DEFAULTS = SamplerSettings(num_steps=3, width_px=48, height_px=32)


def sample(
    *,
    seed: int = 1,
    prompt: str = "a fox",
    settings: SamplerSettings = DEFAULTS,
    transformer: PocketTransformer | None = None,
) -> Image.Image:
    encoder = tiny_text_encoder()
    return sample_picture(
        transformer or tiny_transformer(),
        encoder.encode([prompt]),
        encoder.encode([""]),
        seed=seed,
        settings=settings,
        device=torch.device("cpu"),
        precision=FP32,
    )


def test_the_same_seed_gives_the_same_picture() -> None:
    first = sample()
    assert first.size == (48, 32)
    assert first.tobytes() == sample().tobytes()


def test_sampling_leaves_the_random_numbers_of_others_alone() -> None:
    transformer, encoder = tiny_transformer(), tiny_text_encoder()
    prompt, empty = encoder.encode(["a fox"]), encoder.encode([""])
    state, steps = torch.random.get_rng_state(), []
    sample_picture(
        transformer,
        prompt,
        empty,
        seed=1,
        settings=DEFAULTS,
        device=torch.device("cpu"),
        precision=FP32,
        on_step=lambda done, total: steps.append((done, total)),
    )
    assert torch.equal(torch.random.get_rng_state(), state)
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_everything_asked_for_matters() -> None:
    usual = sample().tobytes()
    assert sample(seed=2).tobytes() != usual
    assert sample(prompt="a frog").tobytes() != usual
    assert sample(settings=replace(DEFAULTS, guidance=1)).tobytes() != usual
    assert sample(settings=replace(DEFAULTS, num_steps=4)).tobytes() != usual


def test_the_last_step_arrives_at_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = tiny_transformer()
    target = torch.linspace(-1, 1, 3 * 32 * 32).view(1, 3, 32, 32)
    monkeypatch.setattr(transformer, "predict_clean", lambda noisy, *rest: target.expand_as(noisy))
    picture = sample(transformer=transformer, settings=SamplerSettings(num_steps=8, width_px=32, height_px=32))
    difference = np.asarray(picture, dtype=int) - np.asarray(to_picture(target[0]), dtype=int)
    assert np.abs(difference).max() <= 1


def test_numbers_beyond_the_range_are_clipped() -> None:
    picture = to_picture(torch.tensor([-3.0, 0.0, 3.0]).view(3, 1, 1))
    assert picture.getpixel((0, 0)) == (0, 128, 255)
