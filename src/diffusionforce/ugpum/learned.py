"""What earlier runs taught: how far the forecast of a kind of run on a rig was from what was seen.

A forecast is computed from the model's code and the cards' speeds, and what it does not know (workspaces of a library
version, clocks under load, a slow slot) it gets wrong in the same way every time. So the difference is remembered for
each profile, its settings and rig, and added to the next forecast. It is added to every way of training on that rig
and not only to the one that was seen: the cause lies in the cards and the model, and a correction of one way alone
would send the planner to ways that nobody has measured.

Memory is corrected by a number of bytes a card, because what a trace cannot see is about as large whatever the split;
seconds are corrected by a factor. Where less memory was held than forecast, nothing is taken off beyond what earlier
runs had added: a forecast that is too high errs on the safe side.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from diffusionforce.job import Profile, write_whole
from diffusionforce.runs import data_dir
from diffusionforce.ugpum.estimate import PlanCard, Variant

_FORMAT = 1
_WITHOUT_WEIGHT = frozenset(
    {"learning_rate", "weight_decay", "warmup_steps", "schedule", "max_grad_norm", "seed", "steps"}
)
"""Settings of the training that change neither memory nor seconds."""


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What to add to a forecast.

    Attributes:
        extra_bytes: For each card of the rig what was held beyond the forecast, 0 or more.
        step_factor: How many times as long a step took.
        num_runs: How many runs taught it.
    """

    extra_bytes: tuple[int, ...]
    step_factor: float = 1.0
    num_runs: int = 0

    def on_cards(self, cards: Sequence[PlanCard]) -> tuple[PlanCard, ...]:
        """The cards of a rig with what libraries were seen to take there."""
        return tuple(
            replace(card, constant_bytes=card.constant_bytes + extra)
            for card, extra in zip(cards, self.extra_bytes, strict=True)
        )

    def on_variant(self, variant: Variant) -> Variant:
        """A variant with the seconds that were seen."""
        return replace(
            variant,
            block_s=tuple(seconds * self.step_factor for seconds in variant.block_s),
            host_s=variant.host_s * self.step_factor,
            crossing_s=variant.crossing_s * self.step_factor,
            tail_s=variant.tail_s * self.step_factor,
            between_steps_s=variant.between_steps_s * self.step_factor,
        )

    def after(
        self,
        *,
        planned_bytes: Mapping[int, int],
        seen_bytes: Mapping[int, int],
        planned_s: float | None,
        seen_s: float | None,
    ) -> "Lesson":
        """The lesson after one more run, whose forecast was made with this one.

        Args:
            planned_bytes: By number of the card in the rig, what it was forecast to hold.
            seen_bytes: What it held; cards that are left out teach nothing.
            planned_s: Forecast seconds of a step; None where there were none.
            seen_s: Seconds that it took.
        """
        extra = list(self.extra_bytes)
        for card, seen in seen_bytes.items():
            extra[card] = max(0, extra[card] + seen - planned_bytes[card])
        factor = self.step_factor * (seen_s / planned_s if planned_s and seen_s else 1.0)
        return Lesson(extra_bytes=tuple(extra), step_factor=factor, num_runs=self.num_runs + 1)


class Lessons:
    """Lessons on disk, one small file each.

    Args:
        folder: Where they lie; made when the first is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def kept(cls) -> "Lessons":
        """Those in the user's data folder."""
        return cls(data_dir() / "lessons")

    def find(self, profile_name: str, profile: Profile, *, rig: Sequence[str]) -> Lesson | None:
        """What earlier runs of a kind taught; None where there were none, or their file cannot be read.

        Args:
            profile_name: Name of the profile.
            profile: Its settings.
            rig: Names of the cards, in the job's order.
        """
        try:
            data: dict[str, Any] = json.loads(self._path(profile_name, profile, rig).read_text(encoding="utf-8"))
            if data["format"] != _FORMAT:
                return None
            lesson = Lesson(
                extra_bytes=tuple(int(one) for one in data["extra_bytes"]),
                step_factor=float(data["step_factor"]),
                num_runs=int(data["num_runs"]),
            )
            is_sound = len(lesson.extra_bytes) == len(rig) and min(lesson.extra_bytes) >= 0
            is_sound = is_sound and 0 < lesson.step_factor < float("inf")
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None
        return lesson if is_sound else None

    def keep(self, lesson: Lesson, profile_name: str, profile: Profile, *, rig: Sequence[str]) -> None:
        """Remember a lesson.

        Raises:
            OSError: The disk refuses.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"format": _FORMAT, **asdict(lesson)})
        write_whole(self._path(profile_name, profile, rig), text.encode())

    def _path(self, profile_name: str, profile: Profile, rig: Sequence[str]) -> Path:
        kind = {"profile": profile_name, "rig": list(rig), "settings": settings_of(profile)}
        digest = hashlib.sha256(json.dumps(kind, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{digest[:32]}.json"


def settings_of(profile: Profile) -> dict[str, Any]:
    """The settings of a profile that memory and seconds depend on."""
    training = profile.training.model_dump(mode="json")
    samples = profile.samples
    return {
        "model": profile.model.model_dump(mode="json"),
        "rank": profile.lora.rank,
        "dropout": profile.lora.dropout > 0,
        "training": {name: value for name, value in training.items() if name not in _WITHOUT_WEIGHT},
        "size": [profile.dataset.width, profile.dataset.height],
        "samples": [samples.width, samples.height, samples.num_frames, samples.guidance > 1, bool(samples.prompts)],
    }
