"""kill -9 at any moment: nothing that was saved is lost, everything can be read, and the run goes on exactly.

Each test kills a trainer, looks at what it left, goes on from its newest checkpoint, and compares every loss, the
names of the samples and the last LoRA, bit for bit, with a run that nothing happened to.
"""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.support.fault_runs import (
    ROOT,
    ForkServer,
    Undisturbed,
    check_goes_on_exactly,
    check_readable,
)
from tests.support.faulty_disk import Fault

from diffusionforce.errors import UserError
from diffusionforce.job import changed, write_profile
from diffusionforce.runs import RunFolder, read_telemetry
from diffusionforce.wire import child_environment

CHECKPOINT_OPERATIONS = 142
"""File operations of the run on its checkpoints: the writes of four and the removal of one."""
OPERATIONS = 330
"""File operations of the run on its folder, fewer than there are: some follow the clock."""


def killed_at_a_moment(server: ForkServer, reference: Undisturbed, folder: Path, *, seed: int) -> None:
    job = reference.job.model_copy(update={"run_dir": folder / "run"})
    after_s = random.Random(seed).uniform(0, reference.seconds)
    ended = server.train(job, kill_after_s=after_s)
    assert ended.code in {-signal.SIGKILL, 0}, ended.err
    check_goes_on_exactly(server, job, reference, name="more")


def killed_at_an_operation(server: ForkServer, reference: Undisturbed, folder: Path, *, fault: Fault) -> None:
    job = reference.job.model_copy(update={"run_dir": folder / "run"})
    ended = server.train(job, fault=fault)
    assert ended.code == -signal.SIGKILL, ended.err
    check_goes_on_exactly(server, job, reference, name="more")


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_a_random_moment(server: ForkServer, reference: Undisturbed, tmp_path: Path, seed: int) -> None:
    killed_at_a_moment(server, reference, tmp_path, seed=seed)


@pytest.mark.parametrize("at", [12, 31, 45, 58, 70, 96])
def test_a_kill_inside_a_checkpoint(server: ForkServer, reference: Undisturbed, tmp_path: Path, at: int) -> None:
    fault = Fault(root=str(tmp_path / "run"), only="-state", at=at)
    killed_at_an_operation(server, reference, tmp_path, fault=fault)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 180))
def test_many_kills_at_random_moments(server: ForkServer, reference: Undisturbed, tmp_path: Path, seed: int) -> None:
    killed_at_a_moment(server, reference, tmp_path, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, CHECKPOINT_OPERATIONS, 2))
def test_many_kills_inside_checkpoints(server: ForkServer, reference: Undisturbed, tmp_path: Path, at: int) -> None:
    fault = Fault(root=str(tmp_path / "run"), only="-state", at=at)
    killed_at_an_operation(server, reference, tmp_path, fault=fault)


@pytest.mark.slow
@pytest.mark.parametrize("at", sorted(random.Random(7).sample(range(1, OPERATIONS), 40)))
def test_many_kills_at_file_operations(server: ForkServer, reference: Undisturbed, tmp_path: Path, at: int) -> None:
    killed_at_an_operation(server, reference, tmp_path, fault=Fault(root=str(tmp_path / "run"), at=at))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "who"), [(1, "parent"), (2, "both"), (3, "parent"), (4, "both"), (5, "both")])
def test_a_kill_of_who_started_it_or_of_both(
    server: ForkServer, reference: Undisturbed, tmp_path: Path, seed: int, who: str
) -> None:
    job = reference.job.model_copy(update={"run_dir": tmp_path / "run"})
    folders = {"dataset.folder": str(job.dataset_dir), "dataset.held_out_folder": str(job.held_out_dir)}
    write_profile(tmp_path / "small.toml", changed(job.profile, folders, origin="test"))
    command = [sys.executable, "-X", "utf8", "-m", "diffusionforce.cli", "run", str(tmp_path / "small.toml")]
    command += ["--out", str(job.run_dir)]
    environment = child_environment() | {"OMP_NUM_THREADS": "1", "DIFFUSIONFORCE_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as parent:
        trainer = _trainer_of(job.run_dir)
        time.sleep(random.Random(seed).uniform(0, 4))
        parent.kill()
    if who == "both" and trainer.is_running():
        trainer.kill()
    psutil.wait_procs([trainer], timeout=60)
    # An orphan goes on to its end, or saves and ends; whatever it does can be read and gone on from.
    check_goes_on_exactly(server, job, reference, name="more")
    if who == "parent":
        last = max(step.step for step in read_telemetry(RunFolder(job.run_dir)) if step.kind == "step")
        assert check_readable(job)[0].step == last, "what an orphan has trained is saved"


def _trainer_of(run_dir: Path) -> psutil.Process:
    """The process that trains in a folder, as soon as there is one."""
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        try:
            return psutil.Process(RunFolder.open(run_dir).read_state().pid)
        except UserError:
            time.sleep(0.05)
    raise AssertionError("no trainer began")
