"""Measured speeds, kept and measured anew."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.traced_models import SMALL_WAN

from diffusionforce.errors import DeviceError
from diffusionforce.trainer.forecasting import card_speeds
from diffusionforce.trainer.forecasting.card_speeds import CardSpeed, CardSpeeds
from diffusionforce.trainer.forecasting.measuring import measure_rig, measured
from diffusionforce.trainer.forecasting.rigs import rig_imagined

SPEED = CardSpeed(flops=1e13, memory_bytes_per_s=5e11, paging_bytes_per_s=2e10, crossing_bytes_per_s=1e10)


def test_what_was_measured_is_found_until_pytorch_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data" / "speeds.json"
    CardSpeeds(path).keep({"GPU a": SPEED})
    CardSpeeds(path).keep({"GPU b": SPEED})
    assert CardSpeeds(path).find("GPU a") == CardSpeeds(path).find("GPU b") == SPEED
    assert CardSpeeds(path).find("GPU c") is None
    monkeypatch.setattr(card_speeds.metadata, "version", lambda _name: "99.0")
    assert CardSpeeds(path).find("GPU a") is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": 1}', '{"format": 0, "cards": {}}', '{"format": 2, "cards": {"GPU a": {"flops": -1}}}', "\0"],
)
def test_a_broken_file_knows_nothing_and_is_written_anew(tmp_path: Path, text: str) -> None:
    path = tmp_path / "speeds.json"
    path.write_text(text, encoding="utf-8")
    assert CardSpeeds(path).find("GPU a") is None
    CardSpeeds(path).keep({"GPU a": SPEED})
    assert CardSpeeds(path).find("GPU a") == SPEED


def test_devices_are_measured() -> None:
    cpu = torch.device("cpu")
    (one,) = measured([cpu], shape=SMALL_WAN, num_tokens=64, boundary_bytes=1 << 16)
    assert 1e6 < one.flops < 1e15 and 1e7 < one.memory_bytes_per_s < 1e13
    assert one.paging_bytes_per_s > 1e6 and one.crossing_bytes_per_s == 0.0
    assert 1e-7 < one.launch_s < 1e-2


def test_a_kernel_takes_what_was_measured_to_start_it() -> None:
    rig = rig_imagined("2 x 3090")
    slow, fast = replace(SPEED, launch_s=3e-4), replace(SPEED, launch_s=2e-4)
    assert replace(rig, speeds=(fast, slow)).launch_s == 3e-4
    assert replace(rig, speeds=(SPEED, SPEED)).launch_s == rig.launch_s > 0
    assert replace(rig, on_cards=False).launch_s == 0


def test_a_card_that_pytorch_does_not_see_cannot_be_measured(tmp_path: Path) -> None:
    rig = replace(rig_imagined("3090"), names=("RTX 3090 of somebody else",))
    with pytest.raises(DeviceError, match="does not see a card"):
        measure_rig(rig, speeds=CardSpeeds(tmp_path / "speeds.json"))
    assert not list(tmp_path.iterdir())
