"""The standard descriptors of a process whose output the caller sent to different kinds of places."""

import subprocess
import sys
from pathlib import Path

TAKE = """
import sys
from diffusionforce.trainer.streams import take_stdout
telemetry = take_stdout()
print("printed", flush=True)
telemetry.write(b"told")
"""


def test_output_to_a_file_and_errors_to_a_pipe(tmp_path: Path):
    # `... JOB > answer.json` with standard error on a pipe died of "Illegal seek" before it began.
    with (tmp_path / "output").open("wb") as output:
        ran = subprocess.run([sys.executable, "-c", TAKE], stdout=output, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr.strip()) == (0, b"printed")
    assert (tmp_path / "output").read_bytes() == b"told"


def test_output_to_a_pipe_and_errors_to_a_file(tmp_path: Path):
    with (tmp_path / "errors").open("wb") as errors:
        ran = subprocess.run([sys.executable, "-c", TAKE], stdout=subprocess.PIPE, stderr=errors, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"told")
    assert (tmp_path / "errors").read_bytes().strip() == b"printed"
