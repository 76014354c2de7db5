"""A disk that is full, refuses, or fails, at every kind of file operation of a run.

The user meets a sentence or nothing at all, never a traceback; and whatever the run left can be read, and gone on from.
"""

import errno
from pathlib import Path

import pytest
from tests.support.fault_runs import (
    Ended,
    ForkServer,
    Undisturbed,
    check_goes_on_exactly,
    check_readable,
    undisturbed,
)
from tests.support.faulty_disk import Fault, site_of
from tests.support.small_pocket import eventful_job

from diffusionforce.job import Job
from diffusionforce.wire import Failed

ERRORS = {"ENOSPC": errno.ENOSPC, "EACCES": errno.EACCES, "EIO": errno.EIO}
WRITING = frozenset({"open", "write", "fsync", "mkdir", "rename", "replace", "truncate"})
"""What a full disk refuses."""


@pytest.fixture(scope="module")
def reference(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A short run that does everything once or twice: hundreds of its like meet a fault."""
    job = eventful_job(
        tmp_path_factory.mktemp("reference"),
        training__steps=5,
        samples__every_steps=4,
        checkpoints__keep=1,
        checkpoints__keep_best=0,
    )
    return undisturbed(server, job)


def sites(server: ForkServer, reference: Undisturbed, folder: Path) -> list[str]:
    """Every kind of file operation that a run makes, in the order of its first."""
    record = folder / "record"
    job = reference.job.model_copy(update={"run_dir": folder / "run-0"})
    assert server.train(job, fault=Fault(root=_root(folder), record=str(record))).code == 0
    lines = record.read_text(encoding="utf-8").splitlines()
    # Standard output is no file of the run: it is a pipe, and has its own tests.
    return [site for site in dict.fromkeys(lines) if not site.endswith((".out", "/record"))]


def problem(server: ForkServer, job: Job, fault: Fault) -> str:
    """What is wrong with how a run took a fault; empty if nothing is."""
    ended = server.train(job, fault=fault)
    found = _what_the_user_met(ended, job)
    try:
        check_readable(job, all_told=fault.error_number is None)
    except Exception as error:  # noqa: BLE001 - all faults are tried, and those that failed are told together.
        found.append(f"left {error!r}")
    return "; ".join(found)


def _what_the_user_met(ended: Ended, job: Job) -> list[str]:
    log = job.run_dir / "log.txt"
    text = ended.err + (log.read_text(encoding="utf-8", errors="replace") if log.is_file() else "")
    end = ended.said[-1] if ended.said else None
    found: list[str] = []
    if ended.code not in {0, 1}:
        found.append(f"exit code {ended.code}: {getattr(end, 'detail', '')}")
    if "Traceback" in text:
        found.append(text[text.index("Traceback") :])
    if end is None or end.kind not in {"done", "failed"} or (end.kind == "done") != (ended.code == 0):
        found.append(f"its last word was {end!r}")
    if isinstance(end, Failed) and ("bug" in end.sentence or not end.sentence.endswith(".")):
        found.append(end.sentence)
    return found


def _root(folder: Path) -> str:
    """Everything of this session: the run, its pictures, its weights, its job and its home."""
    return str(folder.parent)


def tried(
    server: ForkServer, reference: Undisturbed, folder: Path, faults: dict[str, Fault], *, goes_on_every: int = 4
) -> None:
    """Let runs meet faults, each its own, and tell of all that went wrong."""
    wrong: dict[str, str] = {}
    for number, (name, fault) in enumerate(faults.items(), 1):
        job = reference.job.model_copy(update={"run_dir": folder / f"run-{number}"})
        found = problem(server, job, fault)
        if found:
            wrong[name] = found
        elif number % goes_on_every == 0:
            check_goes_on_exactly(server, job, reference, name=f"more-{number}")
    assert not wrong, "".join(f"\n\n{name}: {found}" for name, found in wrong.items())


def test_a_few_errors(server: ForkServer, reference: Undisturbed, tmp_path: Path) -> None:
    known = [site for site in sites(server, reference, tmp_path) if "/run-#" in site]
    chosen = known[3 :: len(known) // 9]
    faults = {
        f"{name} at {site}": Fault(root=_root(tmp_path), site=site, at=1, error_number=ERRORS[name])
        for site, name in zip(chosen, [*ERRORS] * len(chosen), strict=False)
    }
    tried(server, reference, tmp_path, faults)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ERRORS)
def test_every_error_at_every_kind_of_operation(
    server: ForkServer, reference: Undisturbed, tmp_path: Path, name: str
) -> None:
    faults = {
        f"{name} at {site}": Fault(root=_root(tmp_path), site=site, at=1, error_number=ERRORS[name])
        for site in sites(server, reference, tmp_path)
    }
    tried(server, reference, tmp_path, faults, goes_on_every=8)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_disk_that_stays_full(server: ForkServer, reference: Undisturbed, tmp_path: Path) -> None:
    folder = f"/{site_of(tmp_path.name)}"
    faults = {
        f"full from {site}": Fault(root=str(tmp_path), site=site, at=2, error_number=errno.ENOSPC, stays=True)
        for site in (found.replace(folder, "", 1) for found in sites(server, reference, tmp_path))
        if site.partition(" ")[0] in WRITING and site.partition(" ")[2].startswith("/run-#")
    }
    tried(server, reference, tmp_path, faults, goes_on_every=8)
