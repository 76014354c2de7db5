"""Devices of a run."""

import pytest
import torch
from tests.support.pocket_models import TINY, tiny_transformer

from diffusionforce.engines.pocket.devices import Meters, choose_devices, place_evenly, placed_devices
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.errors import DeviceError

CPU = torch.device("cpu")


@pytest.fixture
def two_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def test_auto_takes_the_processor_where_there_is_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_devices(["auto"], num_blocks=10) == (CPU,)


@pytest.mark.usefixtures("two_cards")
def test_auto_takes_all_cards() -> None:
    assert choose_devices(["auto"], num_blocks=10) == (torch.device("cuda:0"), torch.device("cuda:1"))
    assert choose_devices(["auto"], num_blocks=1) == (torch.device("cuda:0"),)


@pytest.mark.usefixtures("two_cards")
def test_a_card_that_is_not_there_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"cuda:2 is asked for, but PyTorch sees 2 cards"):
        choose_devices(["cuda:0", "cuda:2"], num_blocks=10)


def test_more_devices_than_blocks_are_refused() -> None:
    with pytest.raises(DeviceError, match="only 2 blocks"):
        choose_devices(["cpu"] * 3, num_blocks=2)


def test_what_lies_where_is_read_from_the_tensors() -> None:
    transformer = tiny_transformer()
    placement = place_evenly(transformer, [CPU, CPU, CPU])
    Lora.attach(transformer, rank=2, alpha=2.0)
    placed = placed_devices(transformer, placement)
    assert [device.blocks for device in placed] == [(0,), (1, 2), (3,)]
    assert sum(len(device.blocks) for device in placed) == TINY.num_blocks
    total = sum(parameter.numel() * parameter.element_size() for parameter in transformer.parameters())
    assert sum(device.weights_bytes for device in placed) == total


def test_the_processor_is_measured_once_however_often_it_is_named() -> None:
    meters = Meters.of([CPU, CPU])
    torch.mm(torch.ones(300, 300), torch.ones(300, 300))
    (reading,) = meters.read({})
    assert reading.device == "cpu"
    assert reading.memory_bytes is not None
    assert reading.busy is not None
    assert 0 <= reading.busy <= 1
