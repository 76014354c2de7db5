"""Where runs lie and which are found."""

from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.errors import RunFolderError
from diffusionforce.runs import RunFolder, claimed_run_dir, list_runs, new_run_dir, places, runs_root, unreadable_runs


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_first_run_of_all_finds_its_place(home: Path, tmp_path: Path):
    path = new_run_dir("pocket-demo")
    assert path.parent == runs_root() == home / "runs"
    assert not home.exists()
    RunFolder.create(path, small_job(tmp_path))
    assert [run.root for run in list_runs(runs_root())] == [path]


def test_two_runs_in_one_second_do_not_meet(home: Path):
    first = new_run_dir("a")
    first.mkdir(parents=True)
    assert new_run_dir("a") not in {first}


@pytest.mark.parametrize(("name", "end"), [("my/odd: name*", "my-odd-name"), ("...", "run"), ("Ünï", "Ünï")])
def test_names_become_file_names(home: Path, name: str, end: str):
    assert new_run_dir(name).name.endswith(f"-{end}")
    assert new_run_dir(name).parent == runs_root()


def test_runs_come_newest_first_and_broken_ones_are_left_out(tmp_path: Path):
    root = tmp_path / "runs"
    root.mkdir()
    for name, started_at in [("b", "2026-01-02"), ("a", "2026-01-03"), ("c", "2026-01-01")]:
        run = RunFolder.create(root / name, small_job(tmp_path / name))
        run.write_state(run.read_state().model_copy(update={"started_at": started_at}))
    (root / "broken").mkdir()
    (root / "broken" / "run.json").write_text("{")
    (root / "empty").mkdir()
    (root / "file").write_text("")
    assert [run.root.name for run in list_runs(root)] == ["a", "b", "c"]
    assert [run.root.name for run in unreadable_runs(root)] == ["broken"]
    assert unreadable_runs(tmp_path / "nowhere") == []
    assert list_runs(tmp_path / "nowhere") == []


def test_two_runs_that_start_at_once_get_a_folder_each(home: Path, monkeypatch: pytest.MonkeyPatch):
    # Symptom: both found the same name free, and the second run was refused.
    free = home / "runs" / "free"
    monkeypatch.setattr(places, "_places", lambda name: iter([free, free.with_name("free-2")]))
    with claimed_run_dir("a") as first, claimed_run_dir("a") as second:
        assert (first, second) == (free, free.with_name("free-2"))
        (second / "run.json").write_text("")
    assert [path.name for path in (home / "runs").iterdir()] == ["free-2"]


def test_a_claim_that_was_not_used_leaves_nothing(home: Path):
    with claimed_run_dir("a") as path:
        assert path.is_dir() and path.parent == runs_root()
    assert not home.exists()


def test_a_home_of_nobody_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", "~nosuchuser/x")
    with pytest.raises(RunFolderError, match="there is no such user"):
        runs_root()


def test_a_run_that_vanishes_while_it_is_listed_is_left_out(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Symptom: the state was read a second time, outside of what catches errors.
    run = RunFolder.create(new_run_dir("a"), small_job(tmp_path))
    reads = iter([run.read_state()])
    monkeypatch.setattr(RunFolder, "read_state", lambda folder: next(reads))
    assert [found.root for found in list_runs(runs_root())] == [run.root]
