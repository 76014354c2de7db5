from datetime import datetime
from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.model.run_title import day_and_time, job_title, long_title, run_title, started
from diffusionforce.job import shipped_dir


def test_a_folder_of_ours_is_called_by_its_profile_and_what_it_is_trained_on():
    # Symptom: seven runs in a list, all of them called "Pocket demo".
    root = Path("/runs/2026-01-02-100000-pocket-demo")
    job = recorded.job(root)
    assert run_title(root, job) == "Pocket demo · loranne"
    assert long_title(root, job).startswith("Pocket demo · loranne · 2 Jan")


def test_a_folder_that_the_user_named_keeps_its_name():
    root = Path("/elsewhere/my-cat")
    assert run_title(root, recorded.job(root)) == "my-cat"
    assert long_title(root, recorded.job(root)) == "my-cat"
    assert started(root) is None


def test_a_run_without_a_job_is_called_by_its_folder():
    root = Path("/runs/2026-01-02-100000-pocket-demo")
    assert run_title(root, None) == root.name


def test_a_date_that_does_not_exist_is_no_date():
    assert started(Path("/runs/2026-13-99-100000-pocket-demo")) is None


def test_today_is_called_today():
    now = datetime.now().astimezone()
    assert day_and_time(now).startswith("today ")
    assert day_and_time(now.replace(year=now.year - 2, day=1, month=3)).startswith(f"1 Mar {now.year - 2}")


@pytest.mark.parametrize("demos", [shipped_dir("demo_datasets"), Path("/where/it/was/installed/before/demo_datasets")])
def test_a_run_on_a_demo_is_called_by_its_character(demos: Path):
    job = recorded.job(Path("/runs/2026-01-02-100000-pocket-demo"), dataset_dir=demos / "loranne")
    assert job_title(job) == "Pocket demo · LoRAnne"
