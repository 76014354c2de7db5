"""Where runs lie and which are found."""

from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.runs import RunFolder, list_runs, new_run_dir, runs_root


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
    assert list_runs(tmp_path / "nowhere") == []
