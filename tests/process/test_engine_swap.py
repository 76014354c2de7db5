"""The engine's real model with our pager, through the tool that compares it with the engine's own swap."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.engine import needs_engine

ROOT = Path(__file__).resolve().parents[2]
SMALL = "--device cpu --blocks 4 --width 128 --latent 4 --rank 2 --microbatches 2 --steps 1 --ways resident,pager:2"


@needs_engine
@pytest.mark.slow
def test_the_engines_model_trains_the_same_with_paged_blocks(tmp_path: Path) -> None:
    pytest.importorskip("accelerate", reason="the engine needs accelerate")
    command = [sys.executable, str(ROOT / "tools" / "engine_swap.py"), *SMALL.split(), f"--json={tmp_path / 'a.json'}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
    resident, paged = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["results"]
    assert (resident["num_swapped"], paged["num_swapped"], paged["late_loads"]) == (0, 2, 0)
    assert paged["losses"] == resident["losses"]
    assert len(set(paged["losses"])) == 4
