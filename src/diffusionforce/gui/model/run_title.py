"""What a run is called: by the user, or by its profile and what it is trained on, or by the folder that was chosen.

A profile alone tells nobody which run is meant, once there are two of it.
"""

import re
from datetime import datetime
from pathlib import Path

from diffusionforce.gui.model.dataset_title import subject
from diffusionforce.gui.model.language import tr
from diffusionforce.job import Job
from diffusionforce.runs.labels import read_label

_MADE_BY_US = re.compile(r"(\d{4}-\d{2}-\d{2}-\d{6})-.+")


def job_title(job: Job) -> str:
    """Return the name of a run that nobody has named: `Pocket demo · LoRAnne`."""
    return f"{job.profile.title} · {subject(job.dataset_dir)}"


def run_title(root: Path, job: Job | None) -> str:
    """Return the name of a run: what the user called it, or its folder, else its profile and its dataset."""
    name = read_label(root).name
    if name:
        return name
    return job_title(job) if job is not None and started(root) is not None else root.name


def long_title(root: Path, job: Job | None) -> str:
    """Return a name that tells two runs of one profile and dataset apart."""
    moment = started(root)
    title = run_title(root, job)
    return title if moment is None or title == root.name else f"{title} · {day_and_time(moment)}"


def shown_title(title: str) -> str:
    """Return a long title as the window says it: the name is the user's, what follows is the time, in words."""
    name, mark, time = title.rpartition(" · ")
    return f"{name}{mark}{tr(time)}"


def started(root: Path) -> datetime | None:
    """Return when a run began, by the name of a folder that we made; None for a folder that the user chose."""
    match = _MADE_BY_US.fullmatch(root.name)
    try:
        return datetime.strptime(match[1], "%Y-%m-%d-%H%M%S").astimezone() if match else None
    except ValueError:
        return None


def day_and_time(moment: datetime) -> str:
    """Return a moment as people say it: `today 14:05`, `9 Nov 14:05`, `9 Nov 2025 14:05`."""
    now = datetime.now().astimezone()
    day = "today" if moment.date() == now.date() else f"{moment.day} {moment:%b}"
    year = f" {moment.year}" if moment.year != now.year else ""
    return f"{day}{year} {moment:%H:%M}"
