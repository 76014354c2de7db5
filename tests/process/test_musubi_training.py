"""Tiny models of the engine's families, trained by its own trainers on two logical devices.

Each family runs in a process of its own: the engine alone on one device, and with the hooks on two virtual devices that
refuse to be mixed, in turns and interleaved, with micro-batches from gradient accumulation and from the batch.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import needs_engine
from tests.support.musubi_families import FAMILIES

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("accelerate", "av", "cv2", "diffusers", "easydict", "einops", "ftfy", "toml", "torchvision", "transformers")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
needs_libraries = pytest.mark.skipif(
    bool(MISSING),
    reason=f"the engine's libraries are not installed ({', '.join(MISSING)}): python3 bootstrap.py engine",
)
FAST = ("wan21",)
"""The rest takes half a minute each."""


def run(*arguments: str) -> Any:
    """What the child prints last."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.musubi_runs", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


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
def test_a_run_that_goes_on_is_the_run_that_was_not_interrupted(tmp_path: Path) -> None:
    found = run("resume", "wan21", str(tmp_path))
    assert found["losses"] == found["expected_losses"][6:]
    assert found["rates"] == found["expected_rates"][6:]
    after = found["expected_events"].index("step 7 of 9")
    assert found["events"] == ["placed 4", *found["expected_events"][after:]]
    assert "checkpoint 9 tiny-step00000009.safetensors" in found["events"]
    assert found["lora_equal"]
