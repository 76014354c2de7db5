"""Room for what a run writes next, on disks that the test makes up."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.trainer import room as room_module
from diffusionforce.trainer.preflight import pass_bytes, save_bytes
from diffusionforce.trainer.requests import Requests
from diffusionforce.trainer.room import NOTES_BYTES, Lack, Room
from diffusionforce.wire import Checkpoint, Command, Sample, Step

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A disk whose free bytes the test sets."""
    disk = {"free": 0}
    monkeypatch.setattr(room_module.shutil, "disk_usage", lambda path: Usage(1 << 40, 0, disk["free"]))
    return disk


def at(room: Room, number: int) -> Room:
    room.note(Step(step=number, num_steps=100, loss=0.1, learning_rate=1e-4, seconds=1.0, eta_s=1.0))
    return room


@pytest.mark.usefixtures("disk")
def test_only_a_step_that_ends_in_writing_needs_room(tmp_path: Path):
    job = small_job(tmp_path, steps=100, checkpoints__every_steps=30, samples__every_steps=40, samples__prompts=["a"])
    lacking = [step + 1 for step in range(100) if at(Room(job), step).lack("step") is not None]
    assert lacking == [30, 40, 60, 80, 90, 100]
    assert at(Room(job), 5).lack("save") and at(Room(job), 5).lack("sample")


def test_what_is_needed_is_what_is_due(tmp_path: Path, disk: dict[str, int]):
    job = small_job(tmp_path, steps=100, checkpoints__every_steps=50, samples__prompts=["a", "b"])
    needed_bytes = save_bytes(job.profile) + NOTES_BYTES
    for free_bytes, step, lacks in [(needed_bytes, 49, False), (needed_bytes - 1, 49, True), (needed_bytes, 99, True)]:
        disk["free"] = free_bytes
        assert (at(Room(job), step).lack("step") is not None) is lacks
    disk["free"] = needed_bytes + pass_bytes(job.profile)
    assert at(Room(job), 99).lack("step") is None


def test_what_was_written_tells_how_large_the_next_is(tmp_path: Path, disk: dict[str, int]):
    job = small_job(tmp_path, steps=100, checkpoints__every_steps=50, samples__prompts=["a", "b"])
    disk["free"] = save_bytes(job.profile) + pass_bytes(job.profile) + NOTES_BYTES
    room = at(Room(job), 49)
    assert room.lack("save") is None and room.lack("sample") is None
    room.note(Checkpoint(step=40, path="a", size_bytes=disk["free"]))
    lack = room.lack("save")
    assert lack is not None and "4 MB" in lack.hint and str(job.run_dir) in lack.hint
    job.run_dir.mkdir()
    (job.run_dir / "a.png").write_bytes(bytes(disk["free"] // 2 + 1))
    room.note(Sample(step=40, prompt_index=0, num_prompts=2, prompt="a", seed=1, path="a.png", seconds=1.0))
    assert room.lack("sample") is not None


def test_once_all_steps_are_taken_only_samples_need_room(tmp_path: Path, disk: dict[str, int]):
    job = small_job(tmp_path, steps=100, samples__prompts=["a"])
    disk["free"] = pass_bytes(job.profile) + NOTES_BYTES
    assert at(Room(job), 100).lack("step") is None


def test_a_disk_that_cannot_be_asked_is_left_to_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path) -> shutil._ntuple_diskusage:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(room_module.shutil, "disk_usage", refuse)
    assert at(Room(small_job(tmp_path, steps=100)), 99).lack("step") is None


def test_resume_goes_on_without_room_until_there_was_room_again():
    requests, told = Requests(), list[bool]()
    lack: list[Lack | None] = [Lack(sentence="Full.", hint="")]
    requests.find_lack = lambda asked: lack[0]

    def resume(paused: bool) -> None:
        told.append(paused)
        if paused:
            requests.add(Command(command="resume"))

    requests.on_pause = resume
    assert not requests.stop_requested and told == [True, False]
    assert not requests.stop_requested and told == [True, False]  # For as long as it is the same lack.
    lack[0] = None
    assert not requests.stop_requested
    lack[0] = Lack(sentence="Full again.", hint="")
    assert not requests.stop_requested and told == [True, False, True, False]


def test_a_resume_beforehand_is_no_permission():
    requests, told = Requests(), list[bool]()
    requests.add(Command(command="resume"))
    requests.find_lack = lambda asked: Lack(sentence="Full.", hint="")

    def stop(paused: bool) -> None:
        told.append(paused)
        requests.add(Command(command="stop"))

    requests.on_pause = stop
    assert requests.stop_requested and told == [True, False]


def test_a_run_whose_folder_is_gone_waits_until_it_is_back(tmp_path: Path, disk: dict[str, int]):
    disk["free"] = 1 << 40
    job = small_job(tmp_path, steps=100)
    job.run_dir.mkdir()
    room = Room(job)
    assert room.lack("step") is None
    job.run_dir.rename(tmp_path / "elsewhere")
    lack = room.lack("step")
    assert lack is not None and str(job.run_dir) in lack.sentence and "gone" in lack.sentence
    (tmp_path / "elsewhere").rename(job.run_dir)
    assert room.lack("step") is None


def test_a_run_whose_folder_is_read_only_waits_before_it_writes(
    tmp_path: Path, disk: dict[str, int], monkeypatch: pytest.MonkeyPatch
):
    disk["free"] = 1 << 40
    job = small_job(tmp_path, steps=100, checkpoints__every_steps=50)
    job.run_dir.mkdir()
    (job.run_dir / "run.json").write_bytes(b"{}")
    room, opened = Room(job), room_module.os.open
    assert at(room, 49).lack("step") is None and (job.run_dir / "run.json").read_bytes() == b"{}"

    def refused(path: Path, flags: int, *rest: int) -> int:
        if flags & room_module.os.O_WRONLY:
            raise OSError(30, "Read-only file system", str(path))
        return opened(path, flags, *rest)

    monkeypatch.setattr(room_module.os, "open", refused)
    assert at(room, 48).lack("step") is None, "nothing is written after this step"
    lack = at(room, 49).lack("step")
    assert lack is not None and "read-only" in lack.sentence


def test_a_wait_for_what_an_engine_lacks_ends_when_it_is_there_or_somebody_says_so():
    requests, told = Requests(), list[str]()
    lacks: list[Lack | None] = [Lack(sentence="Short.", hint="")] * 3

    def resume(paused: bool) -> None:
        told.append(requests.lack.sentence if requests.lack is not None else "on")
        if paused:
            requests.add(Command(command="resume"))

    requests.on_pause = resume
    requests.wait_while(lambda: lacks[0])
    assert told == ["Short.", "on"]
    requests.wait_while(lambda: lacks[0])
    assert told == ["Short.", "on"] * 2, "who said to go on has said it of that time"
    requests.wait_while(lambda: None)
    assert told == ["Short.", "on"] * 2
