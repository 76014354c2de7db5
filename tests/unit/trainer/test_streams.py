"""The standard descriptors of a process whose output the caller sent to different kinds of places."""

import subprocess
import sys
from pathlib import Path

from diffusionforce.runs.log import last_words

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


LOG = """
import faulthandler, sys, time
from pathlib import Path
from diffusionforce.trainer.streams import Log
log = Log(Path(sys.argv[1]), max_bytes=1000)
for number in range(60):
    print(f"line {number} " + "x" * 80, flush=True)
    time.sleep(0.03)
if sys.argv[2] == "crash":
    time.sleep(0.5)
    faulthandler._sigsegv()
log.close()
print("after", file=sys.stderr)
"""


def run_log(tmp_path: Path, end: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", LOG, str(tmp_path / "log.txt"), end]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)


def test_a_full_log_makes_room_and_nothing_of_the_newest_is_lost(tmp_path: Path):
    # Symptom: a library that prints on every step filled the disk overnight.
    ran = run_log(tmp_path, "close")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["log.1.txt", "log.2.txt", "log.3.txt", "log.txt"]
    newest = "".join((tmp_path / name).read_text() for name in ("log.3.txt", "log.2.txt", "log.1.txt", "log.txt"))
    numbers = [int(line.split()[1]) for line in newest.splitlines()]
    told = [int(line.split()[1]) for line in ran.stderr.decode().splitlines() if line.startswith("line")]
    assert ran.returncode == 0 and numbers[-1] == 59 and sorted(set(numbers) | set(told)) == list(range(60))
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 3000
    assert ran.stderr.decode().splitlines()[-1] == "after"


def test_a_crash_after_that_is_in_the_newest_log(tmp_path: Path):
    assert run_log(tmp_path, "crash").returncode != 0
    assert "Fatal Python error: Segmentation fault" in last_words(tmp_path / "log.txt")
    assert last_words(tmp_path / "nothing.txt") == ""
