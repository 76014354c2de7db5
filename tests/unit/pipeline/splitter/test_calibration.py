"""Measuring a block and the links on the CPU, and remembering what was measured."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from diffusionforce.pipeline.splitter.calibration import (
    BlockTimes,
    CalibrationCache,
    LinkRates,
    block_signature,
    calibrate,
    device_signature,
    time_block,
    time_links,
)
from diffusionforce.pipeline.throttle import SlowBlocks, link_pace

CPU = torch.device("cpu")
TIMES = BlockTimes(forward_s=0.5, backward_s=1.5, kept_bytes=3, working_bytes=4)


class Layer(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, extra: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.linear(x) + extra["shift"]


ARGS = (torch.ones(2, 8), {"shift": torch.ones(8)})


def test_a_block_is_timed_and_keeps_its_gradients():
    layer = Layer()
    layer.linear.bias.grad = torch.full((8,), 7.0)
    times = time_block(layer, ARGS, {}, device=CPU, limit_s=0.01)
    assert times.forward_s > 0 and times.backward_s > 0
    assert layer.linear.weight.grad is None
    assert torch.equal(layer.linear.bias.grad, torch.full((8,), 7.0))
    assert not ARGS[0].requires_grad


def test_a_played_slow_block_is_measured_as_slow():
    layer = Layer()
    slow = SlowBlocks([layer], CPU, forward_s=0.01, backward_s=0.02)
    times = time_block(layer, ARGS, {}, device=CPU, limit_s=0.01)
    assert times.forward_s >= 0.01 and times.backward_s >= 0.02
    slow.remove()
    assert time_block(layer, ARGS, {}, device=CPU, limit_s=0.01).forward_s < 0.01


def test_recomputation_does_not_play_the_forward_pause_again():
    class Checkpointed(Layer):
        def forward(self, x: torch.Tensor, extra: dict[str, torch.Tensor]) -> torch.Tensor:
            return checkpoint(super().forward, x, extra, use_reentrant=False)

    layer = Checkpointed()
    slow = SlowBlocks([layer], CPU, forward_s=0.05, backward_s=0.0)
    times = time_block(layer, ARGS, {}, device=CPU, limit_s=0.01)
    assert times.forward_s >= 0.05 > times.backward_s
    slow.remove()


def test_a_backward_that_recomputes_through_the_whole_block_is_slowed_once():
    layer = Layer()
    slow = SlowBlocks([layer], CPU, forward_s=0.05, backward_s=0.1)

    class Around(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = layer

        def forward(self, x: torch.Tensor, extra: dict[str, torch.Tensor]) -> torch.Tensor:
            return checkpoint(self.inner, x, extra, use_reentrant=False)

    times = time_block(Around(), ARGS, {}, device=CPU, limit_s=0.01)
    assert times.forward_s >= 0.05 and 0.1 <= times.backward_s < 0.15
    slow.remove()


def test_links_are_timed_in_both_directions():
    rates = time_links([CPU, CPU], boundary_bytes=1000)
    assert rates.crossing_s == ((0.0, 0.0), (0.0, 0.0))
    assert len(rates.paging_bytes_per_s) == 2 and min(rates.paging_bytes_per_s) > 0


def test_only_a_slower_link_is_paced():
    assert link_pace(CPU, bytes_per_s=0, natural_bytes_per_s=10) is None
    assert link_pace(CPU, bytes_per_s=20, natural_bytes_per_s=10) is None
    assert link_pace(CPU, bytes_per_s=5, natural_bytes_per_s=10) is not None


def test_measured_values_are_remembered(tmp_path: Path):
    cache = CalibrationCache(tmp_path / "folder" / "calibration.json")
    assert cache.times("card", lambda: TIMES) == TIMES
    rates = LinkRates(crossing_s=((0.0, 0.1), (0.2, 0.0)), paging_bytes_per_s=(1.0, 2.0))
    assert cache.rates("links", lambda: rates) == rates

    def unexpected() -> BlockTimes:
        raise AssertionError("measured again")

    again = CalibrationCache(cache.path)
    assert again.times("card", unexpected) == TIMES
    assert again.rates("links", lambda: pytest.fail("measured again")) == rates
    assert [path.name for path in cache.path.parent.iterdir()] == ["calibration.json"]


@pytest.mark.parametrize(
    "content", ["", "[1, 2]", '{"version": 0, "values": {}}', '{"version": 1, "values": {"card": 3}}']
)
def test_a_file_that_is_not_ours_is_measured_over(tmp_path: Path, content: str):
    path = tmp_path / "calibration.json"
    path.write_text(content)
    assert CalibrationCache(path).times("card", lambda: TIMES) == TIMES
    assert CalibrationCache(path).times("card", lambda: pytest.fail("measured again")) == TIMES


def test_a_rig_is_calibrated_once_and_the_block_comes_home(tmp_path: Path):
    cache = CalibrationCache(tmp_path / "calibration.json")
    layer = Layer()
    weight = layer.linear.weight.detach().clone()
    options = {"devices": [CPU], "boundary_bytes": 64, "cache": cache}
    first = calibrate(layer, ARGS, {}, **options)
    assert torch.equal(layer.linear.weight, weight) and layer.linear.weight.grad is None
    assert calibrate(layer, ARGS, {}, **options) == first
    assert calibrate(layer, ARGS, {}, **options, driver_version="2") == first, "the CPU has no driver"
    assert calibrate(layer, ARGS, {}, devices=[CPU], boundary_bytes=64) != first


def test_signatures_tell_blocks_and_inputs_apart():
    assert block_signature(Layer(), ARGS, {}) == block_signature(Layer(), ARGS, {})
    assert block_signature(Layer(), ARGS, {}) != block_signature(Layer().requires_grad_(False), ARGS, {})
    assert block_signature(Layer(), ARGS, {}) != block_signature(Layer(), (torch.ones(3, 8), ARGS[1]), {})
    assert "torch" in device_signature(CPU)
