"""The runs that wait: from which step each goes on, when it may start, and how long it may take."""

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from diffusionforce.gui.model import words
from diffusionforce.gui.model.history import PastRun
from diffusionforce.job import Job

_STEP = re.compile(r"(\d+)(?=-state$)")


def resume_step(job: Job, past: Sequence[PastRun]) -> int:
    """Return the step from which a job goes on; 0 for one that begins at its first."""
    if job.resume is None:
        return 0
    states = (state for run in past for state in run.states)
    known = next((state.step for state in states if state.path == job.resume), None)
    found = _STEP.search(job.resume.name)
    return known if known is not None else int(found[1]) if found else 0


def resume_words(step: int) -> str:
    """Return what is said of a run that waits to go on from a step."""
    return f"continues from step {step:,}"


def queued_words(name: str, step: int) -> str:
    """Return what is said when a run that goes on from a step has been queued."""
    return f"{name} waits in the queue and continues from step {step:,}."


def expected_s(job: Job, past: Sequence[PastRun]) -> float | None:
    """Return how long a job may take, by the runs of its profile that there were; None where there were none."""
    rates = [
        (run.seconds or 0.0) / (run.state.step - run.begun_at)
        for run in past
        if run.state.profile_name == job.profile_name and run.state.step > run.begun_at and (run.seconds or 0.0) > 0.0
    ]
    num_steps = max(0, job.profile.training.steps - resume_step(job, past))
    return statistics.median(rates) * num_steps if rates else None


WAITS_FOR_START = "waits for “Start the queue”"
WAITS_FOR_THE_QUEUE = "waits: the queue is paused"


@dataclass(frozen=True, kw_only=True)
class WaitingTime:
    """When a run that waits may start, in seconds from now, and how long it may take; None where not known.

    Attributes:
        start_s: When it may start.
        length_s: How long it may take.
        waits_for: What has to be done before it starts, in words; empty for nothing.
    """

    start_s: float | None
    length_s: float | None
    waits_for: str = ""

    def words(self, now: datetime) -> str:
        """Return it for a line of the queue.

        Args:
            now: The present moment, in local time.
        """
        length = f"about {words.duration(self.length_s)}" if self.length_s is not None else ""
        return f"{self._start_words(now)} · {length}".strip(" ·")

    def _start_words(self, now: datetime) -> str:
        if self.waits_for:
            return self.waits_for
        if self.start_s is None:
            return "starts after those before"
        if self.start_s <= 0:
            return "starts next"
        start = datetime.fromtimestamp(now.timestamp() + self.start_s)
        return f"starts about {start:%H:%M}"


def waiting_times(
    jobs: Sequence[Job], past: Sequence[PastRun], *, busy_s: float | None, waits_for: str = ""
) -> list[WaitingTime]:
    """Return when the runs of a queue may start, in their order.

    Args:
        jobs: What waits, the next one first.
        past: The runs that there were.
        busy_s: How long the run that goes on still takes; 0 where none does, None where that is not known.
        waits_for: What has to be done before the first one starts; empty for nothing.
    """
    times: list[WaitingTime] = []
    start_s = None if waits_for else busy_s
    for job in jobs:
        length_s = expected_s(job, past)
        times.append(WaitingTime(start_s=start_s, length_s=length_s, waits_for="" if times else waits_for))
        start_s = None if start_s is None or length_s is None else start_s + length_s
    return times


def waiting_words(number: int) -> str:
    """Return how many runs wait."""
    return "1 run waiting." if number == 1 else f"{number:,} runs waiting."


def all_done_words(times: Sequence[WaitingTime], *, now: datetime) -> str:
    """Return when everything will be done, as far as that is known."""
    if not times:
        return ""
    waiting = waiting_words(len(times))
    last = times[-1]
    if last.start_s is None or last.length_s is None:
        return waiting
    end = datetime.fromtimestamp(now.timestamp() + last.start_s + last.length_s)
    day = "" if end.date() == now.date() else f" on {end.day} {end:%b}"
    return f"{waiting} All done about {end:%H:%M}{day}."
