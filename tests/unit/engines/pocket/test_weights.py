"""Weights that are there and fit, and sentences for those that do not."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.pocket_models import TINY, tiny_text_encoder, tiny_transformer

from diffusionforce.engines.pocket import weights
from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.engines.pocket.files import FAMILY, shipped_weights
from diffusionforce.engines.pocket.objective import flow_loss
from diffusionforce.engines.pocket.weights import check_weights, encode_base, load_base
from diffusionforce.engines.pocket.world import draw_page
from diffusionforce.errors import WeightsError


@pytest.fixture
def tiny_file(tmp_path: Path) -> Path:
    """A whole weights file of the tiny model."""
    path = tmp_path / "tiny.safetensors"
    path.write_bytes(encode_base(tiny_transformer(), tiny_text_encoder(), notes={"title": "tiny"}))
    return path


def test_the_shipped_model_knows_the_world() -> None:
    base = load_base()
    pages = [draw_page(Random(seed)) for seed in (900_001, 900_002, 900_003)]
    pixels = torch.from_numpy(np.stack([np.array(page.picture) for page in pages])).permute(0, 3, 1, 2)
    text = base.text_encoder.encode([page.caption for page in pages])
    pictures = pixels.float() / 127.5 - 1
    noise = torch.randn(pictures.shape, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        told = flow_loss(base.transformer, pictures, text, sigma=torch.full((3,), 0.8), noise=noise).mean()
        wrong_text = text.pick([1, 2, 0])
        fooled = flow_loss(base.transformer, pictures, wrong_text, sigma=torch.full((3,), 0.8), noise=noise).mean()
    # An untrained model has a loss above 1; wrong captions must cost something.
    assert told < 0.06
    assert fooled > told * 1.05


def test_the_shipped_model_has_its_stated_size() -> None:
    base = load_base()
    parameters = [*base.transformer.parameters(), *base.text_encoder.parameters()]
    assert sum(parameter.numel() for parameter in parameters) == 9_610_752
    assert not any(parameter.requires_grad for parameter in parameters)
    assert check_weights(shipped_weights()) == PocketConfig()


def test_a_written_file_is_read_again(tiny_file: Path) -> None:
    base = load_base(tiny_file)
    assert base.transformer.config == TINY
    expected = tiny_transformer().state_dict()
    for name, value in base.transformer.state_dict().items():
        assert torch.allclose(value, expected[name], atol=0.02), name


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"missing.*nowhere\.safetensors") as caught:
        load_base(tmp_path / "nowhere.safetensors")
    # Symptom: somebody whose profile named a file of their own was told to install the program again.
    assert caught.value.hint.startswith("Name another file under model.weights")


def test_weights_of_ours_that_are_missing_come_back_by_installing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "shipped_weights", lambda: tmp_path / "ours.safetensors")
    with pytest.raises(WeightsError, match="Install DiffusionForce again"):
        load_base()


@pytest.mark.parametrize("kept", [0, 7, 5000, -10])
def test_a_file_cut_short_is_refused(tiny_file: Path, kept: int) -> None:
    tiny_file.write_bytes(tiny_file.read_bytes()[:kept])
    for look in (load_base, check_weights):
        with pytest.raises(WeightsError, match=r"tiny\.safetensors are damaged or cut short"):
            look(tiny_file)


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(2)}, path, {"family": "something"})
    with pytest.raises(WeightsError, match=r"other\.safetensors does not hold the pocket model"):
        check_weights(path)


def test_sizes_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.safetensors"
    save_file({"weight": torch.zeros(2)}, path, {"family": FAMILY, "config": '{"legs": 4}'})
    with pytest.raises(WeightsError, match="not a pocket config"):
        check_weights(path)


def test_missing_and_unknown_tensors_are_counted(tiny_file: Path) -> None:
    tensors = load_file(tiny_file)
    del tensors["transformer.head_out.bias"]
    tensors["transformer.tail"] = torch.zeros(1)
    save_file(tensors, tiny_file, {"family": FAMILY, "config": TINY.to_json()})
    with pytest.raises(WeightsError, match="1 tensors are missing, 1 are not known and 0") as caught:
        load_base(tiny_file)
    assert "transformer.head_out.bias" in caught.value.detail
