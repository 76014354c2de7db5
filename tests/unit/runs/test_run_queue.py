"""The queue of runs: its order, and that it survives whatever happens to the file."""

import json
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.errors import UserError
from diffusionforce.runs import RunQueue


@pytest.fixture
def queue(tmp_path: Path) -> RunQueue:
    return RunQueue(tmp_path / "home" / "queue.json")


def names(queue: RunQueue) -> list[str]:
    return [run.job.run_dir.name for run in queue.runs]


def filled(queue: RunQueue, tmp_path: Path) -> RunQueue:
    job = small_job(tmp_path)
    for name in "abc":
        queue.add(job.model_copy(update={"run_dir": tmp_path / name}))
    return queue


def test_runs_wait_in_order_and_survive_a_restart(queue: RunQueue, tmp_path: Path):
    filled(queue, tmp_path)
    again = RunQueue(tmp_path / "home" / "queue.json")
    assert names(again) == ["a", "b", "c"]
    first = again.take_next()
    assert first is not None and first.job.run_dir == tmp_path / "a"
    assert first.job.profile == queue.runs[0].job.profile
    assert names(queue) == ["b", "c"]


def test_runs_are_moved_as_far_as_there_is_room(queue: RunQueue, tmp_path: Path):
    key = filled(queue, tmp_path).runs[2].key
    queue.move(key, -1)
    assert names(queue) == ["a", "c", "b"]
    queue.move(key, -10)
    assert names(queue) == ["c", "a", "b"]
    queue.move(key, 99)
    assert names(queue) == ["a", "b", "c"]
    queue.move("nobody", 1)
    assert names(queue) == ["a", "b", "c"]


def test_a_run_is_removed_once_and_can_be_put_back(queue: RunQueue, tmp_path: Path):
    run = filled(queue, tmp_path).runs[1]
    assert queue.remove(run.key) == run and queue.remove(run.key) is None
    queue.put_back(run)
    assert names(queue) == ["b", "a", "c"]


def test_a_removed_run_comes_back_where_it_was(queue: RunQueue, tmp_path: Path):
    first, second, third = filled(queue, tmp_path).runs
    queue.remove(second.key)
    queue.restore(second, before=third.key)
    assert names(queue) == ["a", "b", "c"]
    queue.restore(second, before=third.key)
    assert names(queue) == ["a", "b", "c"], "it is there once"
    queue.remove(third.key)
    queue.restore(third, before="")
    assert names(queue) == ["a", "b", "c"]
    queue.remove(first.key)
    queue.restore(first, before="started meanwhile")
    assert names(queue) == ["b", "c", "a"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"runs": 5}', '{"runs": [1, null]}'])
def test_a_broken_file_is_an_empty_queue_and_is_kept(
    queue: RunQueue, tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
):
    assert queue.runs == () and queue.take_next() is None
    path = tmp_path / "home" / "queue.json"
    path.parent.mkdir()
    path.write_text(content)
    assert queue.runs == ()
    filled(queue, tmp_path)
    assert names(queue) == ["a", "b", "c"]
    assert [aside.read_text() for aside in path.parent.glob("queue.json.damaged-*")] == [content]
    assert [record.getMessage().count("queue.json is damaged") for record in caplog.records] == [1]
    caplog.clear()


def test_what_a_newer_version_wrote_is_passed_over_and_kept(queue: RunQueue, tmp_path: Path):
    filled(queue, tmp_path)
    path = tmp_path / "home" / "queue.json"
    content = json.loads(path.read_text())
    content["runs"].insert(0, {"key": "new", "job": {"schema_version": 9}})
    path.write_text(json.dumps(content))
    assert names(queue) == ["a", "b", "c"]
    queue.remove(queue.runs[0].key)
    assert json.loads(path.read_text())["runs"][0]["key"] == "new"


def test_a_place_that_refuses_is_said(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        RunQueue(tmp_path / "file" / "queue.json").add(small_job(tmp_path))
