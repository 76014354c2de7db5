"""What is refused before anything is written."""

import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from tests.support.jobs import picture_folder, small_job

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.sets import DatasetSet, SetFolder, write_set
from diffusionforce.errors import DatasetError, DiskError, RunFolderError, UserError
from diffusionforce.trainer import preflight

Usage = namedtuple("Usage", "total used free")
MIB = 1024**2


def free_bytes(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 10**12 - free, free))


def test_a_good_job_gives_its_pictures_and_no_findings_and_writes_nothing(tmp_path: Path):
    job = small_job(tmp_path)
    datasets = preflight.check(job)
    assert datasets.training == read_folder(job.dataset_dir) and datasets.held_out is None
    assert preflight.findings_of(datasets) == ()
    assert not (tmp_path / "run").exists()


def test_what_is_odd_about_the_held_out_pictures_is_told_too(tmp_path: Path):
    # Symptom: the loss was measured on fewer pictures than lay in the folder, and nothing said so.
    held_out_dir = picture_folder(tmp_path / "held")
    job = small_job(tmp_path).model_copy(update={"held_out_dir": held_out_dir})
    (job.dataset_dir / "1.txt").unlink()
    (held_out_dir / "2.png").write_bytes(b"")
    findings = preflight.findings_of(preflight.check(job))
    assert [finding.path.parent for finding in findings] == [job.dataset_dir, held_out_dir]
    assert findings[1].sentence.startswith("Held-out pictures: 2.png ")


def test_the_pocket_model_says_that_it_has_one_size(tmp_path: Path):
    job = small_job(tmp_path)
    folder = SetFolder(path=str(job.dataset_dir), width=512, height=512)
    write_set(tmp_path / "set", DatasetSet(title="Sized", folders=(folder,)))
    (finding,) = preflight.findings_of(preflight.check(job.model_copy(update={"dataset_dir": tmp_path / "set"})))
    assert finding.sentence == "The pocket model trains everything at 256 x 256."


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_place_on_no_disk_is_not_called_a_full_disk(tmp_path: Path):
    # Symptom: `--out /proc/x` was told to free some space.
    job = small_job(tmp_path).model_copy(update={"run_dir": Path("/proc/x")})
    with pytest.raises(RunFolderError, match="/proc is not writable"):
        preflight.check(job)


def no_captions(folder: Path) -> None:
    for caption in folder.glob("*.txt"):
        caption.unlink()


def no_files(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def no_bytes(folder: Path) -> None:
    for picture in folder.glob("*.png"):
        picture.write_bytes(b"")


@pytest.mark.parametrize(("harm", "words"), [(no_captions, "caption"), (no_files, "no pictures"), (no_bytes, "")])
def test_each_broken_dataset_has_its_own_sentence(tmp_path: Path, harm, words: str):
    job = small_job(tmp_path)
    harm(job.dataset_dir)
    with pytest.raises(DatasetError) as refusal:
        preflight.check(job)
    assert words in refusal.value.sentence and str(job.dataset_dir) in refusal.value.sentence
    assert refusal.value.hint


def test_the_held_out_pictures_are_looked_at_too(tmp_path: Path):
    held_out_dir = picture_folder(tmp_path / "held")
    no_captions(held_out_dir)
    with pytest.raises(DatasetError, match="held"):
        preflight.check(small_job(tmp_path).model_copy(update={"held_out_dir": held_out_dir}))


def test_a_small_disk_is_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    job = small_job(tmp_path)
    free_bytes(monkeypatch, 3 * MIB)
    with pytest.raises(DiskError, match=r"has 3 MB free, the run needs about \d\d MB") as refusal:
        preflight.check(job)
    assert "Free 2" in refusal.value.hint


def test_more_samples_and_larger_loras_need_more_space(tmp_path: Path):
    profile = small_job(tmp_path / "a").profile
    many = small_job(tmp_path / "b", steps=100, samples__prompts=["a", "b"], samples__every_steps=10).profile
    large = small_job(tmp_path / "c", lora__rank=512).profile
    needed = preflight.needed_space_bytes(profile)
    assert preflight.needed_space_bytes(many) == needed + 12 * 2 * 256 * 256 * 3
    assert preflight.needed_space_bytes(large) > needed + 40 * MIB
    saving: dict[str, Any] = {
        "steps": 100,
        "checkpoints__every_steps": 10,
        "checkpoints__keep": 2,
        "checkpoints__keep_best": 0,
    }
    saves = preflight.needed_space_bytes(small_job(tmp_path / "d", **saving).profile) - needed
    spaced = small_job(tmp_path / "e", **saving, checkpoints__keep_every_steps=50).profile
    # Two are kept, and a third lies there until the first is removed; two more stay for good.
    assert preflight.needed_space_bytes(spaced) - needed == pytest.approx(saves * 5 / 3)


def test_all_problems_are_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    job = small_job(tmp_path)
    no_captions(job.dataset_dir)
    job.run_dir.mkdir()
    (job.run_dir / "mine").write_text("")
    free_bytes(monkeypatch, 0)
    with pytest.raises(UserError) as refusal:
        preflight.check(job)
    assert isinstance(refusal.value, DatasetError)
    assert "already holds a run or other files" in refusal.value.hint and "0 MB free" not in refusal.value.sentence
    assert refusal.value.hint.count("Also: ") == 2


def test_a_taken_folder_is_refused(tmp_path: Path):
    job = small_job(tmp_path)
    job.run_dir.write_text("")
    with pytest.raises(RunFolderError, match="is a file, not a folder"):
        preflight.check(job)
