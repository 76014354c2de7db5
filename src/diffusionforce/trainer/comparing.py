"""The forecast of a run against what its steps took, told after the first two and once more at the end.

The first step is not like the others: it allocates, chooses kernels and captures graphs. So seconds are those of later
steps, and memory is the highest of later steps, samples excepted.
"""

import statistics

from diffusionforce.engines.plans import DevicePlan
from diffusionforce.errors import CardMemoryError
from diffusionforce.job import Job
from diffusionforce.trainer.planning import PlannedRun
from diffusionforce.ugpum.causes import SeenCard, causes
from diffusionforce.ugpum.learned import Lesson, Lessons
from diffusionforce.wire import Compared, ComparedDevice, Message, Step

FIRST_COMPARED_STEP = 2
_MOST_STEPS = 10_000


class Comparison:
    """Follows the steps of a planned run.

    Args:
        job: The job.
        planned: Its plan and forecast.
        lessons: Where it is remembered for the next run.
    """

    def __init__(self, job: Job, planned: PlannedRun, lessons: Lessons) -> None:
        self._job = job
        self._planned = planned
        self._lessons = lessons
        self._seconds: list[float] = []
        self._peaks_bytes: dict[str, int] = {}
        self._busy: dict[str, list[float]] = {}
        self._step = 0

    def note(self, message: Message) -> Compared | None:
        """Take in a record of the run, and give the comparison when it is time for the first one."""
        if not isinstance(message, Step) or message.step < FIRST_COMPARED_STEP:
            return None
        self._step = message.step
        if len(self._seconds) < _MOST_STEPS:
            self._seconds.append(message.seconds)
            for device in message.devices:
                if device.busy is not None:
                    self._busy.setdefault(device.device, []).append(device.busy)
        for device in message.devices:
            if device.peak_bytes is not None:
                self._peaks_bytes[device.device] = max(self._peaks_bytes.get(device.device, 0), device.peak_bytes)
        return self.result() if message.step == FIRST_COMPARED_STEP else None

    def result(self) -> Compared | None:
        """The comparison of all steps so far; None before the second."""
        if not self._seconds:
            return None
        seen_s = statistics.median(self._seconds)
        plan, forecast = self._planned.plan, self._planned.forecast
        cards = self._seen_cards()
        found = (
            causes(list(cards.values()), planned_s=plan.step_s, seen_s=seen_s, times=forecast.times) if cards else ()
        )
        return Compared(
            step=self._step,
            devices=tuple(
                ComparedDevice(
                    device=device, label=card.label, planned_bytes=card.planned_bytes, seen_bytes=card.seen_bytes
                )
                for device, card in cards.items()
            ),
            planned_s=plan.step_s,
            seen_s=seen_s,
            causes=found,
            hint="The next run of this kind is planned anew with what was seen, and shares the blocks out by it."
            if found
            else "",
        )

    def learn(self) -> None:
        """Remember what was seen for the next forecast.

        Raises:
            OSError: The disk refuses.
        """
        if not self._seconds:
            return
        cards = {self._planned.index_of(device): card for device, card in self._seen_cards().items()}
        self._keep(
            planned_bytes={index: card.planned_bytes for index, card in cards.items()},
            seen_bytes={index: card.seen_bytes for index, card in cards.items()},
            seen_s=statistics.median(self._seconds),
        )

    def learn_shortage(self, error: CardMemoryError) -> None:
        """Remember that a card ran out of memory within its budget: what it wanted was not in the forecast.

        Raises:
            OSError: The disk refuses.
        """
        plan = self._planned.plan.of_device(error.device)
        needed_bytes = needed(error, plan)
        if plan is None or plan.planned_bytes is None or needed_bytes is None or is_foreign(error, plan):
            return
        index = self._planned.index_of(error.device)
        self._keep(planned_bytes={index: plan.planned_bytes}, seen_bytes={index: needed_bytes}, seen_s=None)

    def _keep(self, *, planned_bytes: dict[int, int], seen_bytes: dict[int, int], seen_s: float | None) -> None:
        profile, rig = self._job.profile, self._planned.rig
        known = self._lessons.find(self._job.profile_name, profile, rig=rig) or Lesson(extra_bytes=(0,) * len(rig))
        lesson = known.after(
            planned_bytes=planned_bytes, seen_bytes=seen_bytes, planned_s=self._planned.modelled_s, seen_s=seen_s
        )
        self._lessons.keep(lesson, self._job.profile_name, profile, rig=rig)

    def _seen_cards(self) -> dict[str, SeenCard]:
        """The planned cards that told their memory."""
        return {
            one.device: SeenCard(
                label=one.label,
                planned_bytes=one.planned_bytes,
                seen_bytes=self._peaks_bytes[one.device],
                busy=statistics.median(self._busy[one.device]) if one.device in self._busy else None,
            )
            for one in self._planned.plan.devices
            if one.planned_bytes is not None and one.device in self._peaks_bytes
        }


def needed(error: CardMemoryError, plan: DevicePlan | None) -> int | None:
    """What a card that ran out of memory would have had to give; None if that is not known."""
    if plan is None or error.held_bytes is None or error.wanted_bytes is None:
        return None
    return max(plan.planned_bytes or 0, error.held_bytes) + error.wanted_bytes


def is_foreign(error: CardMemoryError, plan: DevicePlan | None) -> bool:
    """Whether the budget would have held what was wanted, so that another program must have taken its memory."""
    return plan is not None and plan.would_hold(held_bytes=error.held_bytes, wanted_bytes=error.wanted_bytes)
