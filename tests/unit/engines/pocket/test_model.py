"""The transformer, alone and split over devices."""

import pytest
import torch
from tests.support.gradients import gradient_differences
from tests.support.pocket_models import TINY, tiny_text_encoder, tiny_transformer
from tests.support.virtual_devices import (
    VirtualDevices,
    crossings,
    place_virtually,
    real_gradients,
    real_of,
    to_virtual,
    virtual_device,
)

from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.objective import flow_loss
from diffusionforce.engines.pocket.text import TextFeatures
from diffusionforce.pipeline.placement import even_placement, verify_placement
from diffusionforce.pipeline.router import Router

HOME = virtual_device(0)


def batch() -> tuple[torch.Tensor, TextFeatures, torch.Tensor, torch.Tensor]:
    """Two pictures of 48 x 32, their captions, noise levels and noise."""
    generator = torch.Generator().manual_seed(5)
    pictures = torch.rand(2, 3, 48, 32, generator=generator) * 2 - 1
    text = tiny_text_encoder().encode(["a red fox", "a blue frog in space"])
    return pictures, text, torch.tensor([0.3, 0.8]), torch.randn(pictures.shape, generator=generator)


def with_lora(transformer: PocketTransformer) -> Lora:
    """A LoRA whose both halves have gradients."""
    lora = Lora.attach(transformer, rank=2, alpha=2.0, seed=3)
    for layer in lora.layers.values():
        torch.nn.init.normal_(layer.lora_B, std=0.1, generator=torch.Generator().manual_seed(4))
    return lora


def test_output_has_the_shape_of_the_picture() -> None:
    pictures, text, sigma, _ = batch()
    velocity = tiny_transformer().velocity(pictures, sigma, text)
    assert velocity.shape == pictures.shape
    assert velocity.isfinite().all()


def test_velocity_leads_to_the_predicted_picture() -> None:
    pictures, text, sigma, _ = batch()
    transformer = tiny_transformer()
    clean = transformer.predict_clean(pictures, sigma, text.context, text.pooled)
    velocity = transformer.velocity(pictures, sigma, text)
    assert torch.allclose(pictures - sigma[:, None, None, None] * velocity, clean, atol=1e-5)


def test_prompt_place_and_noise_level_all_matter() -> None:
    pictures, text, sigma, _ = batch()
    transformer = tiny_transformer()
    here = transformer.velocity(pictures, sigma, text)
    assert not torch.allclose(here, transformer.velocity(pictures, sigma, text.pick([1, 0])), atol=1e-3)
    assert not torch.allclose(here, transformer.velocity(pictures, sigma.flip(0), text), atol=1e-3)
    turned = transformer.velocity(pictures.flip(3), sigma, text).flip(3)
    assert not torch.allclose(here, turned, atol=1e-3)


def test_blocks_can_be_counted_on() -> None:
    transformer = tiny_transformer()
    assert isinstance(transformer.blocks, torch.nn.ModuleList)
    assert len(transformer.blocks) == TINY.num_blocks
    assert not list(transformer.buffers())


@pytest.mark.parametrize("num_devices", [2, 3])
def test_a_split_model_has_the_gradients_of_the_whole(num_devices: int) -> None:
    pictures, text, sigma, noise = batch()
    whole = tiny_transformer()
    with_lora(whole)
    expected_loss = flow_loss(whole, pictures, text, sigma=sigma, noise=noise).mean()
    expected_loss.backward()

    split = tiny_transformer()
    with_lora(split)
    placement = even_placement(TINY.num_blocks, [virtual_device(index) for index in range(num_devices)])
    place_virtually(split, HOME)
    for block, device in zip(split.blocks, placement.device_of_block, strict=True):
        place_virtually(block, device)
    verify_placement(split.blocks, placement)
    crossings.clear()
    with Router(split.blocks, placement, home=HOME).install(), VirtualDevices():
        there = TextFeatures(context=to_virtual(text.context, HOME), pooled=to_virtual(text.pooled, HOME))
        loss = flow_loss(
            split,
            to_virtual(pictures, HOME),
            there,
            sigma=to_virtual(sigma, HOME),
            noise=to_virtual(noise, HOME),
        ).mean()
        loss.backward()
    assert len(crossings) >= 2 * num_devices
    assert real_of(loss).item() == pytest.approx(expected_loss.item(), rel=1e-6)
    expected = real_gradients(whole)
    assert len(expected) == 4 * 2 * TINY.num_blocks
    assert gradient_differences(expected, real_gradients(split)) == []
