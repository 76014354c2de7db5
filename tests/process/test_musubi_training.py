"""Tiny models of the engine's families, trained by its own trainers on two logical devices.

Each family runs in a process of its own: the engine alone on one device, and with the hooks on two virtual devices that
refuse to be mixed, in turns and interleaved, with micro-batches from gradient accumulation and from the batch.
"""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import needs_engine
from tests.support.module_run import output_of
from tests.support.musubi_families import FAMILIES
from tests.support.musubi_samples import SAMPLES

NEEDED = ("accelerate", "av", "cv2", "diffusers", "easydict", "einops", "ftfy", "toml", "torchvision", "transformers")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
needs_libraries = pytest.mark.skipif(
    bool(MISSING),
    reason=f"the engine's libraries are not installed ({', '.join(MISSING)}): python3 bootstrap.py engine",
)
pytestmark = pytest.mark.timeout(1200)
FAST = ("wan21",)
"""The rest takes half a minute each."""


def run(*arguments: str) -> Any:
    """What the child prints last."""
    return json.loads(output_of("tests.support.musubi_runs", *arguments, timeout_s=280).splitlines()[-1])


@needs_engine
@needs_libraries
@pytest.mark.parametrize(
    "family", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES]
)
def test_two_devices_train_what_one_does(family: str, tmp_path: Path) -> None:
    ways = run("compare", family, str(tmp_path))
    assert set(ways) == {"accumulated, turns", "accumulated, interleaved", "cut, interleaved"}
    for way, found in ways.items():
        assert found["num_steps"] == len(found["losses"]) == (2 if way.startswith("cut") else 3), way
        assert len(set(found["losses"])) == found["num_steps"], way
        assert found["num_gradients"] > 0, way
        assert found["missing"] == 0, way
        # The engine shows losses as float32.
        assert found["losses"] == pytest.approx(found["expected_losses"], rel=2e-7), way
        assert found["gradients"] == 0.0, f"{way}: relative to the largest entry of a gradient"
        assert found["lora"] == 0.0, way
        assert found["crossings"] > 0, f"{way}: nothing crossed from device to device"
        if "read_to" in found:
            assert found["read_to"] == found["planned"], "straight from the file"
            assert set(found["planned"]) == {"cpu:0", "cpu:1"}
        steps = [event for event in found["events"] if event.startswith("step")]
        assert steps == [f"step {i + 1} of {found['num_steps']}" for i in range(found["num_steps"])]
        assert found["events"][-1].endswith("tiny.safetensors")


@needs_engine
@needs_libraries
@pytest.mark.slow
def test_a_step_that_runs_out_of_memory_is_taken_again_and_changes_nothing(tmp_path: Path) -> None:
    ways = run("short", "wan21", str(tmp_path))
    kinds = {"again": (["short 2"] * 2, 3), "accumulated": (["short 1"] * 2, 3), "smaller": (["short 1"] * 2, 1)}
    for way, (short, num_steps) in (kinds | {"one device": ([], 2)}).items():
        found = ways[way]
        assert [event for event in found["events"] if event.startswith("short")] == short, way
        assert found["losses"] == found["expected_losses"] and found["num_steps"] == num_steps, way
        assert (found["gradients"], found["lora"], found["missing"]) == (0.0, 0.0, 0), way
    assert ways["smaller"]["cuts"] == [2, 3], "two pieces for one, and then one after the other"


@needs_engine
@needs_libraries
@pytest.mark.slow
@pytest.mark.parametrize("family", SAMPLES)
def test_samples_come_out_the_same_on_two_devices_and_a_state_goes_on(family: str, tmp_path: Path) -> None:
    found = run("live", family, str(tmp_path))
    endings = ["png" if frames == 1 else "mp4" for frames in SAMPLES[family].frames]
    drawn = [f"step_{step:06d}_prompt_{index:02d}.{endings[index]}" for step in (0, 2, 4) for index in (0, 1)]
    assert list(found["samples"]) == drawn
    assert min(found["samples"].values()) > 100, "bytes"
    assert found["samples_equal"] == [True] * 3, (
        "on one device, on two that refuse to be mixed, on one with blocks in RAM"
    )

    def told(step: int) -> list[str]:
        return [f"sample {step} {index} {name}" for index, name in enumerate(drawn[step : step + 2])]

    last = ["step 3 of 4", "step 4 of 4", *told(4), "checkpoint 4 tiny-step00000004.safetensors"]
    last.append("checkpoint 4 tiny.safetensors")
    placed = f"placed {FAMILIES[family].num_blocks}"
    first = [*told(0), "step 1 of 4", "step 2 of 4", *told(2), "checkpoint 2 tiny-step00000002.safetensors"]
    assert found["events"] == [placed, *first, *last]
    assert found["events_of_others"] == [found["events"]] * 3
    assert found["losses_of_others"] == [found["losses"]] * 3
    assert found["events_of_rest"] == [placed, *last]
    assert found["losses_of_rest"] == found["losses"][2:]
    assert found["lora_equal"]
    states = ["tiny-step00000002-state", "tiny-step00000004-state"]
    files = [f"{name.removesuffix('-state')}.safetensors" for name in states]
    expected = sorted([*states, *files, "tiny-state", "tiny.safetensors"])
    assert found["output"] == expected, "nothing of a sample is left there"
    assert found["encoders"] in ([], ["cpu"] * 5), "once for each run, and not on a card that is trained on"
    assert found["left"] == 0, "of what was put on the model"
    if pixels := SAMPLES[family].pixels:
        assert found["tiled"]["names"] == drawn
        # Tiles of four numbers, of eight; where a number is 16 pixels there is one tile.
        assert (0.0 < found["tiled"]["apart"] < 0.15) if pixels == 8 else found["tiled"]["apart"] == 0.0


@needs_engine
@needs_libraries
@pytest.mark.slow
def test_a_run_that_goes_on_is_the_run_that_was_not_interrupted(tmp_path: Path) -> None:
    found = run("resume", "wan21", str(tmp_path))
    assert found["losses"] == found["expected_losses"][6:]
    assert found["rates"] == found["expected_rates"][6:]
    after = found["expected_events"].index("step 7 of 9")
    assert found["events"] == ["placed 4", *found["expected_events"][after:]]
    assert "checkpoint 9 tiny-step00000009.safetensors" in found["events"]
    assert found["lora_equal"]
