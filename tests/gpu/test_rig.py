"""What the driver says about real cards, against what PyTorch says about the same ones."""

import time

import pytest
import torch

from diffusionforce.rig import examine, meters, open_driver, read_cards

GIB = 1024**3

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_every_card_is_the_one_that_pytorch_sees() -> None:
    theirs = {
        str(torch.cuda.get_device_properties(index).uuid): torch.cuda.get_device_properties(index)
        for index in range(torch.cuda.device_count())
    }
    ours = {card.uuid.removeprefix("GPU-"): card for card in read_cards()}
    assert theirs.keys() <= ours.keys()
    for uuid, properties in theirs.items():
        assert ours[uuid].name == properties.name
        assert ours[uuid].compute_capability == (properties.major, properties.minor)
        # NVML counts the part that the driver keeps for itself, CUDA does not.
        assert 0 <= ours[uuid].total_bytes - properties.total_memory < 0.05 * properties.total_memory


def test_memory_that_is_taken_shows_in_the_meters() -> None:
    torch.empty(1, device="cuda:0")
    uuid = str(torch.cuda.get_device_properties(0).uuid)
    before = _used_bytes(uuid)
    taken = torch.empty(4 * GIB, dtype=torch.uint8, device="cuda:0")
    assert 4 * GIB <= _used_bytes(uuid) - before < 4.5 * GIB
    del taken
    torch.cuda.empty_cache()


def test_meters_answer_within_ten_milliseconds_a_card() -> None:
    num_cards = len(meters.read())
    started_s = time.perf_counter()
    for _ in range(20):
        meters.read()
    assert (time.perf_counter() - started_s) / 20 < 0.010 * num_cards


def test_the_report_finds_that_the_cards_work() -> None:
    report = examine()
    assert report.torch is not None
    assert report.torch.cuda_available
    assert not [finding for finding in report.findings if finding.severity == "problem"]


def test_the_driver_tells_its_cuda_version() -> None:
    driver = open_driver()
    assert driver is not None
    version = driver.cuda_version()
    assert version is not None
    assert torch.version.cuda is not None
    assert version[0] >= int(torch.version.cuda.partition(".")[0])


def _used_bytes(uuid: str) -> int:
    (reading,) = [reading for reading in meters.read() if reading.uuid == f"GPU-{uuid}"]
    assert reading.used_bytes is not None
    return reading.used_bytes
