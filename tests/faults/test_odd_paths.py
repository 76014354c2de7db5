"""Folders with names that programs stumble over: a run, its resume and its report, in and of each of them.

Everything that a user can name lies in such a folder at once: data folder, weights, pictures, held-out pictures, job
file and run.
"""

import sys
import zipfile
from pathlib import Path

import pytest
from tests.support.fault_runs import ForkServer, Undisturbed, losses_of
from tests.support.small_pocket import eventful_job

from diffusionforce.runs import RunFolder
from diffusionforce.runs.report import collect_report, write_report
from diffusionforce.wire import Failed

NAMES = {
    "spaces": "my training runs",
    "umlauts": "Ümläute für Jürgen ß é",
    "kana": "かな カナ 漢字",
    "emoji": "🦊🎨 fox 👩‍🎨",
    "long": "a" * 240,
    "deep": "/".join(["a folder of many"] * 16),
    "trailing dots": "to be continued...",
    "brackets": "[sks] girl (1) {x}",
    "signs": "100 % of #1 & $HOME %PATH% ^caret ;'it`s'",
    "dash": "-rf",
    "combined": "e\u0301 as two characters",
    "link": "OneDrive - Firma",
}
KEPT_BY_WINDOWS = {"trailing dots"}
"""Windows takes what ends a name here away, and keeps another folder."""


def place(folder: Path, kind: str) -> Path:
    """Make the folder of a kind."""
    path = folder / NAMES[kind]
    if kind == "link":
        (folder / "elsewhere").mkdir()
        path.symlink_to(folder / "elsewhere", target_is_directory=True)
    else:
        path.mkdir(parents=True)
    return path


@pytest.mark.parametrize("kind", NAMES)
def test_a_run_goes_on_and_is_reported_in_a_folder_of_any_name(
    server: ForkServer, reference: Undisturbed, tmp_path: Path, kind: str
) -> None:
    if sys.platform == "win32" and kind in KEPT_BY_WINDOWS:
        pytest.skip("Windows has no folders of this name")
    folder = place(tmp_path, kind)
    job = eventful_job(folder, checkpoints__keep=2).model_copy(update={"run_dir": folder / "the run"})
    first = server.train(job, home=folder / "home")
    assert first.code == 0, first.err
    assert losses_of(job) == reference.losses
    run = RunFolder.open(job.run_dir)
    middle = next(state for state in run.states() if state.step < job.profile.training.steps)
    more = job.model_copy(update={"run_dir": folder / "more", "resume": middle.path})
    second = server.train(more, home=folder / "home")
    assert second.code == 0, second.err
    expected = {step: loss for step, loss in reference.losses.items() if step > middle.step}
    assert losses_of(more) == expected
    assert "Traceback" not in first.err + second.err
    report = folder / "report.zip"
    write_report(collect_report(run, machine="a computer"), report)
    with zipfile.ZipFile(report) as archive:
        texts = b"".join(archive.read(name) for name in archive.namelist())
    # What the whole computer calls itself is no name of the user's; a name of one letter is no name either.
    assert NAMES[kind].encode() not in texts and str(folder).encode() not in texts


@pytest.mark.parametrize("place_of_run", [Path(Path.cwd().anchor), Path("/proc/run")], ids=str)
def test_the_root_of_a_drive_and_a_folder_on_no_disk_are_refused_in_a_sentence(
    server: ForkServer, reference: Undisturbed, place_of_run: Path
) -> None:
    ended = server.train(reference.job.model_copy(update={"run_dir": place_of_run}))
    end = ended.said[-1]
    assert isinstance(end, Failed) and ended.code == 1 and end.sentence.endswith(".")
    assert str(place_of_run) in end.sentence or "/proc" in end.sentence
    assert "Traceback" not in ended.err
