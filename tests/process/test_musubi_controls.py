"""Control pictures on their way to the engine: its own program finds each beside its picture and encodes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.process.test_musubi_training import needs_libraries
from tests.support.engine import needs_engine
from tests.support.trainer_process import ROOT

from diffusionforce.engines.musubi import engine_dir, read_pin


@needs_engine
@needs_libraries
def test_the_engine_caches_each_picture_with_its_own_control_picture(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.musubi_controls", str(tmp_path / "work")],
        cwd=ROOT,
        env=os.environ
        | {
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT / "src"),
            "DIFFUSIONFORCE_ENGINE": str(engine_dir(read_pin())),
            "DIFFUSIONFORCE_HOME": str(tmp_path / "home"),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    first, second = json.loads(done.stdout.splitlines()[-1])
    size, control = "latents_1x32x32_float32", "latents_control_1x32x32_float32"
    assert set(first) == set(second) == {size, control}
    # Black beside the first picture and white beside the second, and 256 x 256 like the pictures themselves.
    assert [first[control], second[control]] == [[16, 32, 32, pytest.approx(-1)], [16, 32, 32, pytest.approx(1)]]
    assert first[size] != second[size]
