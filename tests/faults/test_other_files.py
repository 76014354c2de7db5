"""A disk that refuses or fails under what is kept beside runs: the queue, labels, profiles, reports, the environment.

Each deed is done once to know its file operations, and then once for each of them with a fault at it, in a process of
its own. It is done, or it is refused in words; what was there before is still there, and can be read.
"""

import errno
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.faulty_disk import Fault, FaultyDisk
from tests.support.jobs import small_job

from diffusionforce.desktop.instance import Claim
from diffusionforce.environment.stamp import Stamp, read_stamp, write_stamp, write_unfinished
from diffusionforce.errors import UserError
from diffusionforce.gui.model.favourites import Favourites
from diffusionforce.job import Job, read_job, read_profile, write_job, write_profile
from diffusionforce.runs import RunFolder
from diffusionforce.runs.labels import RunLabel, read_label, write_label
from diffusionforce.runs.queue import RunQueue
from diffusionforce.runs.report import collect_report, write_report

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")
ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)
DONE, REFUSED, BUG = 0, 3, 4
STAMP = Stamp(
    backend="cpu",
    fingerprint="f",
    python_version="3.12",
    base="b",
    code="c",
    torch_version="2.13.0",
    packages={"torch": "2.13.0"},
)


@dataclass(frozen=True, kw_only=True)
class Deed:
    """Something that is done with files.

    Attributes:
        prepare: Makes what is there before, in a folder.
        do: Does it there.
        is_whole: Whether nothing was lost, by whether it was done.
        raises: What it may raise besides a `UserError`, for a caller that turns it into words.
    """

    prepare: Callable[[Path], object]
    do: Callable[[Path], object]
    is_whole: Callable[[Path, bool], bool]
    raises: tuple[type[Exception], ...] = ()


def _job(folder: Path) -> Job:
    return small_job(folder)


def _queue(folder: Path) -> RunQueue:
    return RunQueue(folder / "queue.json")


def _filled_queue(folder: Path) -> None:
    job = _job(folder)
    write_job(folder / "job.toml", job)
    for _ in range(2):
        _queue(folder).add(job)


def _run(folder: Path) -> RunFolder:
    job = _job(folder)
    made = RunFolder.create(job.run_dir, job)
    write_label(made.root, RunLabel(name="before"))
    return made


def _profile(folder: Path, title: str) -> None:
    profile = _job(folder).profile.model_copy(update={"title": title})
    write_profile(folder / "own.toml", profile)


def _label(folder: Path) -> RunLabel:
    return read_label(folder / "run")


def _is_lockable(folder: Path, done: bool) -> bool:
    return Claim(folder).take()


DEEDS = {
    "a run is added to the queue": Deed(
        prepare=_filled_queue,
        do=lambda folder: _queue(folder).add(read_job(folder / "job.toml")),
        is_whole=lambda folder, done: len(_queue(folder).runs) == 2 + done,
    ),
    "the next run is taken from the queue": Deed(
        prepare=_filled_queue,
        do=lambda folder: _queue(folder).take_next(),
        # Where the file cannot be read, nothing waits for now.
        is_whole=lambda folder, done: len(_queue(folder).runs) in ({1, 2} if done else {2}),
    ),
    "a run is given a name": Deed(
        prepare=_run,
        do=lambda folder: write_label(folder / "run", RunLabel(name="after")),
        is_whole=lambda folder, done: _label(folder).name == ("after" if done else "before"),
    ),
    "a preview is marked": Deed(
        prepare=lambda folder: Favourites(folder).toggle("samples/a.png"),
        do=lambda folder: Favourites(folder).toggle("samples/b.png"),
        is_whole=lambda folder, done: len(Favourites(folder)) == 1 + done,
    ),
    "a damaged queue is added to": Deed(
        prepare=lambda folder: [_filled_queue(folder), (folder / "queue.json").write_text("{")],
        do=lambda folder: _queue(folder).add(read_job(folder / "job.toml")),
        is_whole=lambda folder, done: (
            "{" in [path.read_text() for path in folder.glob("queue.json*")] and len(_queue(folder).runs) == done
        ),
    ),
    "a profile is saved": Deed(
        prepare=lambda folder: _profile(folder, "before"),
        do=lambda folder: write_profile(
            folder / "own.toml", read_profile(folder / "own.toml").model_copy(update={"title": "after"})
        ),
        is_whole=lambda folder, done: read_profile(folder / "own.toml").title == ("after" if done else "before"),
        raises=(OSError,),
    ),
    "a report is written": Deed(
        prepare=_run,
        do=lambda folder: write_report(
            collect_report(RunFolder.open(folder / "run"), machine="a computer"), folder / "report.zip"
        ),
        is_whole=lambda folder, done: (folder / "report.zip").exists() == done and _label(folder).name == "before",
    ),
    "an environment is declared whole": Deed(
        prepare=lambda folder: write_unfinished(folder, STAMP),
        do=lambda folder: write_stamp(folder, STAMP),
        is_whole=lambda folder, done: not done or read_stamp(folder) == STAMP,
        raises=(OSError,),
    ),
    "a window claims the data folder": Deed(
        prepare=lambda folder: None, do=lambda folder: Claim(folder).take(), is_whole=_is_lockable
    ),
}


def child(deed: Deed, folder: Path, fault: Fault) -> int:
    """How a deed ended in a process of its own."""
    pid = os.fork()
    if pid == 0:
        FaultyDisk(fault).install()
        code = BUG
        try:
            deed.do(folder)
            code = DONE
        except (UserError, *deed.raises) as error:
            code = REFUSED if str(error).strip() else BUG
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.mark.parametrize("name", DEEDS)
def test_what_is_kept_beside_runs_is_never_lost(name: str, tmp_path: Path) -> None:
    deed, record = DEEDS[name], tmp_path / "operations"
    before = tmp_path / "before"
    before.mkdir()
    deed.prepare(before)

    def fresh(number: int) -> Path:
        """A folder of the same name each time, since what is made in it names it."""
        place = tmp_path / f"try-{number}" / "place"
        shutil.copytree(before, place)
        return place

    first = fresh(0)
    assert child(deed, first, Fault(root=str(first), record=str(record))) == DONE
    assert deed.is_whole(first, True)
    num_operations = len(record.read_text(encoding="utf-8").splitlines())
    assert num_operations > 0
    wrong: list[str] = []
    for number in range(1, num_operations + 1):
        for error in ERRORS:
            folder = fresh(10 * number + error)
            code = child(deed, folder, Fault(root=str(folder), at=number, error_number=error))
            if code not in {DONE, REFUSED} or not deed.is_whole(folder, code == DONE):
                line = record.read_text(encoding="utf-8").splitlines()[number - 1]
                wrong.append(f"{errno.errorcode[error]} at {number}, {line}: code {code}")
            shutil.rmtree(folder.parent)
    assert not wrong, "\n".join(wrong)
