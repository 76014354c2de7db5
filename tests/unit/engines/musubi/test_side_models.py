"""Text encoders, autoencoders and image encoders, traced as the engine's programs call them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.engine import needs_engine
from torch import nn

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.engines.musubi.side_models import SIDE_MODELS, caching_calls, decoding_calls
from diffusionforce.engines.musubi.subjects import TRACED
from diffusionforce.engines.musubi.traced.autoencoders import AUTOENCODERS
from diffusionforce.engines.musubi.traced.calls import trace_of
from diffusionforce.engines.musubi.traced.encoders import IMAGE_ENCODERS, TEXT_ENCODERS
from diffusionforce.job import Profile, builtin_profiles, read_profile
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.numbers import CallTrace
from diffusionforce.pipeline.tracer.trace import trace_call

NUMBERS = {
    "t5": 4_762_310_656,
    "byt5": 217_657_472,
    "clip_l": 123_060_480,
    "qwen3_4b": 4_022_468_096,
    "qwen3_8b_for_flux2": 7_568_405_504,
    "qwen2_5_vl": 8_292_166_656,
    "qwen3_vl_4b": 4_437_815_808,
    "qwen3_vl_8b_in_8_bits": 7_568_405_504,
    "mistral3": 23_340_272_640 + 131_072 * 5120,
    "llama_without_scores": 7_505_186_816,
}
"""Of the classes that the engine loads, made by transformers 5.24; Mistral's file has a second matrix of words."""


@pytest.fixture(scope="module")
def source() -> Path:
    pytest.importorskip("accelerate", reason="the engine needs accelerate")
    pytest.importorskip("einops", reason="the engine needs einops")
    return open_engine()


def profile(family: str) -> Profile:
    """A built-in profile of a family."""
    profiles = (read_profile(path) for path in builtin_profiles().values())
    return next(one for one in profiles if one.model.family == family)


def test_every_model_that_is_forecast_has_known_models_beside_it() -> None:
    for family, models in SIDE_MODELS.items():
        num_files = sum("captions" in file.uses for file in FAMILIES[family].files)
        assert sum(map(len, models.text_encoders)) == num_files, family
    assert set(TRACED) <= set(SIDE_MODELS) <= set(FAMILIES)
    for models in SIDE_MODELS.values():
        assert models.autoencoder in AUTOENCODERS and models.image_encoder in {"", *IMAGE_ENCODERS}
        assert {name for group in models.text_encoders for name in group} <= set(TEXT_ENCODERS)


@needs_engine
@pytest.mark.parametrize("name", NUMBERS)
def test_an_encoder_has_as_many_numbers_as_the_one_that_is_loaded(name: str, source: Path) -> None:
    with torch.device("meta"):
        model = TEXT_ENCODERS[name].make(source)
    # Of T5, the engine's own class has a table of places of its own kind.
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(NUMBERS[name], rel=1e-3)


@needs_engine
def test_an_image_encoder_has_as_many_numbers_as_the_one_that_is_loaded(source: Path) -> None:
    with torch.device("meta"):
        model = IMAGE_ENCODERS["siglip"].make(source)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(428_225_600, rel=1e-3)


def traced(of: str, name: str, *, side: int, source: Path, num_frames: int = 1) -> CallTrace:
    """An autoencoder on a square picture or clip."""
    size = {"width": side, "height": side, "num_frames": num_frames}
    others = {"image_encoder": "", "reads_twice": False} if of == "pictures" else {}
    return trace_of({"of": of, "autoencoder": name, **others, **size}, source=source)


@needs_engine
@pytest.mark.parametrize("name", AUTOENCODERS)
def test_pictures_come_out_whole_and_larger_ones_take_more(name: str, source: Path) -> None:
    small, large = (traced("decoding", name, side=side, source=source) for side in (256, 512))
    assert large.output_bytes == 4 * small.output_bytes and large.output_bytes in {3 * 512**2 * 2, 3 * 512**2 * 4}
    # Three work in tiles, whatever the size.
    is_tiled = name in {"hunyuan_video", "hunyuan_video_1_5", "kandinsky5"}
    assert large.peak_bytes == small.peak_bytes if is_tiled else large.peak_bytes > 2 * small.peak_bytes
    assert traced("pictures", name, side=256, source=source).weights_bytes == small.weights_bytes


@needs_engine
@pytest.mark.parametrize("name", ["wan", "hunyuan_video", "hunyuan_video_1_5"])
def test_clips_take_more_than_pictures(name: str, source: Path) -> None:
    picture, clip = (traced("pictures", name, side=256, num_frames=num, source=source) for num in (1, 9))
    assert clip.peak_bytes > 1.5 * picture.peak_bytes and clip.output_bytes == 3 * picture.output_bytes


def _small_flux(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.flux_2.flux2_models", source=source)
    return engine.AutoEncoder(engine.AutoEncoderParams(ch=32)).eval()


def _small_wan(source: Path) -> nn.Module:
    engine: Any = import_light("musubi_tuner.wan.modules.vae", source=source)
    return engine.WanVAE_(dim=8, z_dim=16, temperal_downsample=[False, True, True]).eval()


@needs_engine
@pytest.mark.parametrize(
    ("make", "size", "call"),
    [
        (_small_flux, (1, 3, 64, 96), lambda model, x: model.decode(model.encode(x))),
        (_small_wan, (1, 3, 9, 64, 96), lambda model, x: model.decode(model.encode(x, [0.0, 1.0]), [0.0, 1.0])),
    ],
)
def test_a_trace_counts_what_real_tensors_take(
    make: Callable[[Path], nn.Module],
    size: tuple[int, ...],
    call: Callable[[Any, torch.Tensor], torch.Tensor],
    source: Path,
) -> None:
    traced = trace_call(lambda: make(source), lambda device: torch.empty(size, device=device), call)
    model, pixels = make(source), torch.rand(size)
    with torch.no_grad(), StorageCounter() as counter:
        call(model, pixels)
    # On real tensors convolutions and attention of a processor have copies of their own.
    assert counter.peak == pytest.approx(traced.peak_bytes, rel=0.1)


@needs_engine
def test_wans_clips_are_described_by_their_size(source: Path) -> None:
    wan = profile("wan2.1-t2v-14b")
    pictures, captions = caching_calls(wan, size=(832, 480, 17))
    assert (pictures.name, captions.name) == ("pictures", "captions")
    assert pictures.inputs["num_frames"] == 17 and "num_frames" not in captions.inputs
    assert captions.words == "text encoder (UMT5 XXL) on captions"
    (decoding,) = decoding_calls(wan, size=(256, 128, 1))
    assert decoding.trace().output_bytes == 3 * 256 * 128 * 4


@needs_engine
def test_encoders_that_are_held_together_add_up(source: Path) -> None:
    both, one = (
        trace_of({"of": "captions", "text_encoders": names}, source=source)
        for names in (["llama_without_scores", "clip_l"], ["llama_without_scores"])
    )
    assert both.weights_bytes == pytest.approx(one.weights_bytes + 2 * NUMBERS["clip_l"], rel=0.01)
