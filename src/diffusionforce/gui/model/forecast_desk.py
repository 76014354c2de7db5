"""Which forecast is wanted, which are known, and what stands in the way of one.

A forecast takes a process of its own and some seconds, while choices change with every click. So a forecast is kept
under a key made of everything it depends on; one that is known is shown at once, one that is under way for another
choice is given up, and an answer that comes too late is kept but not shown.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from diffusionforce.errors import UserError
from diffusionforce.job import Job
from diffusionforce.wire.forecast import Forecast

MAX_KEPT = 32
TAKEN_CHANGE_BYTES = 512 * 1024**2
"""Memory that other programs must take or give back before a forecast is made anew."""
# Settings that say nothing about memory or speed: changing them keeps the forecast.
_INDIFFERENT = {
    "training": {
        "steps",
        "warmup_steps",
        "learning_rate",
        "weight_decay",
        "schedule",
        "max_grad_norm",
        "timestep_sampling",
        "logit_mean",
        "logit_std",
        "flow_shift",
        "seed",
    },
    "dataset": {"trigger", "regularisation_share", "held_out_folder"},
    "samples": {"prompts", "every_steps", "before_training", "num_steps", "seed"},
    "checkpoints": {"every_steps", "keep", "keep_best", "keep_every_steps"},
}


@dataclass(frozen=True, kw_only=True)
class ForecastStatus:
    """What is known for the present choice.

    Attributes:
        forecast: The newest forecast that may be shown; while another is made, the former one stays.
        is_current: Whether it belongs to the present choice.
        is_checking: Whether one is being made.
        problem: Why none could be made.
    """

    forecast: Forecast | None = None
    is_current: bool = False
    is_checking: bool = False
    problem: UserError | None = None

    @property
    def current(self) -> Forecast | None:
        """The forecast of the present choice, None while it is not known."""
        return self.forecast if self.is_current else None

    @property
    def is_refused(self) -> bool:
        """Whether the present choice is known not to fit."""
        return self.current is not None and bool(self.current.refusal)


@dataclass(kw_only=True)
class ForecastDesk:
    """Keeps the forecasts of a window and the status of the present choice."""

    status: ForecastStatus = field(default_factory=ForecastStatus)
    _wanted: str = ""
    _known: OrderedDict[str, Forecast] = field(default_factory=OrderedDict[str, Forecast])

    @property
    def wanted(self) -> str:
        """Key of the present choice, empty where there is none."""
        return self._wanted

    def want(self, key: str) -> bool:
        """Take another choice; tells whether a forecast must be made for it.

        Args:
            key: What `key_of` says of it; empty where nothing is chosen.
        """
        if key and key == self._wanted:
            return False
        self._wanted = key
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            self.status = ForecastStatus(forecast=known, is_current=True)
        elif key:
            self.status = ForecastStatus(forecast=self.status.forecast, is_checking=True)
        else:
            self.status = ForecastStatus()
        return bool(key) and known is None

    def wait(self) -> None:
        """Wait for a choice that is being made: what is shown stays in sight, but it may no longer hold."""
        self._wanted = ""
        self.status = ForecastStatus(forecast=self.status.forecast, is_checking=True)

    def again(self) -> None:
        """Make the forecast of the present choice once more after it failed."""
        self.status = replace(self.status, is_checking=True, problem=None)

    def answer(self, key: str, answer: Forecast | UserError) -> None:
        """Take what came of making a forecast."""
        if isinstance(answer, Forecast):
            self._known[key] = answer
            while len(self._known) > MAX_KEPT:
                self._known.popitem(last=False)
        if key != self._wanted:
            return
        if isinstance(answer, Forecast):
            self.status = ForecastStatus(forecast=answer, is_current=True)
        else:
            self.status = ForecastStatus(problem=answer)


@dataclass(kw_only=True)
class Machine:
    """The memory that other programs hold of each card, as far as it matters to a forecast. Sizes in bytes."""

    _taken: tuple[tuple[int, int], ...] = ()
    _is_known: bool = False

    def look(self, taken: Iterable[tuple[int, int]]) -> bool:
        """Take a reading of index and taken memory of each card; tells whether it differs enough to matter."""
        now = tuple(taken)
        before = dict(self._taken)
        is_same = [index for index, _ in now] == [index for index, _ in self._taken] and all(
            abs(num_bytes - before[index]) < TAKEN_CHANGE_BYTES for index, num_bytes in now
        )
        if self._is_known and is_same:
            return False
        self._taken, self._is_known = now, True
        return True

    @property
    def words(self) -> str:
        """The cards in a form that changes only when `look` says so."""
        return ",".join(f"{index}:{num_bytes}" for index, num_bytes in self._taken)


def key_of(job: Job, *, machine: str, num_pictures: int) -> str:
    """Return a key for everything that the forecast of a job depends on.

    Args:
        job: What is to be trained.
        machine: The state of the machine, from `Machine`.
        num_pictures: Pictures in the dataset, which tell a folder that has grown from what it was.
    """
    profile = job.profile.model_dump(mode="json", exclude={"title", "description", "based_on"})
    for section, names in _INDIFFERENT.items():
        profile[section] = {name: value for name, value in profile[section].items() if name not in names}
    profile["has_samples"] = bool(job.profile.samples.prompts)
    parts = [profile, job.way, str(job.dataset_dir), num_pictures, machine]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
