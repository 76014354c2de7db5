"""The speed test as a process of its own, on whatever devices there are."""

import subprocess
import sys
from pathlib import Path

from diffusionforce.rig import last_speed_test
from diffusionforce.wire import child_environment
from diffusionforce.wire.speed import SpeedProgress, SpeedTest, read_speed_record

MODULE = "diffusionforce.trainer.speed_test"


def test_this_machine_is_measured_and_the_result_is_kept(tmp_path: Path):
    environment = child_environment() | {"DIFFUSIONFORCE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", MODULE, "rig", "--json"]
    child = subprocess.run(command, env=environment, capture_output=True, timeout=240, check=True)
    *progress, result = [read_speed_record(line) for line in child.stdout.splitlines()]
    assert progress and all(isinstance(record, SpeedProgress) for record in progress)
    assert isinstance(result, SpeedTest) and result.devices
    for device in result.devices:
        assert device.flops > 1e8
    assert last_speed_test(tmp_path / "speed-test.json") == result
