"""The plan of a run: what was forecast and chosen for a job, in the words of the engine that carries it out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class DevicePlan:
    """What one device is to do. Sizes in bytes."""

    device: str
    """For example `cuda:0`."""
    label: str
    """For people, for example `GPU 0 (RTX 4060 Ti)`."""
    total_bytes: int = 0
    budget_bytes: int | None = None
    """The most that the training may hold; None: nobody limits it."""
    planned_bytes: int | None = None
    """What it is forecast to hold at the fullest moment of a step; None: it was not forecast."""
    planned_sampling_bytes: int | None = None
    """The same while samples are made."""
    num_slots: int = 3
    """Paged blocks that it can hold for their turn."""
    num_aside: int = 0
    """Of its blocks that are resident in training, those that step aside while samples are made."""

    def would_hold(self, *, held_bytes: int | None, wanted_bytes: int | None) -> bool:
        """Whether the budget has room for what was lacking, so that another program must have taken its memory.

        Args:
            held_bytes: The most that this run has held of the device; None if that is not known.
            wanted_bytes: What was lacking; None if that is not known.
        """
        if self.budget_bytes is None or held_bytes is None or wanted_bytes is None:
            return False
        return max(self.planned_bytes or 0, held_bytes) + wanted_bytes <= self.budget_bytes


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """How a job is to be trained."""

    devices: tuple[DevicePlan, ...]
    """One a stage; the first is home."""
    chunk_sizes: tuple[int, ...]
    """Blocks of each chunk."""
    stage_of_chunk: tuple[int, ...]
    """Index into `devices`, one a chunk."""
    paged: frozenset[int] = frozenset()
    """Blocks that live in RAM."""
    num_microbatches: int | None = None
    """Micro-batches of a step that the forecast counts on; None leaves it to the engine."""
    weights: str = "bf16"
    """Number format of the frozen weights, as the engine's forecast calls it; `fp8` is 8 bits."""
    words: str = ""
    """The way, for people: `split, bf16 weights, 4 micro-batches`."""
    mode: Literal["A", "B", "C"] = "A"
    bucket: str = ""
    """The largest thing that is trained on, for example `1024 x 1024, 4 at a time`."""
    step_s: float | None = None
    """Predicted seconds of a step; None where nothing is known of the cards' speed."""
    device_of_call: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where models run that run by themselves, by the names that the engine's forecast gives them."""
    calls_in_tiles: frozenset[str] = frozenset()
    """Those of them that work in tiles, because no card holds the whole."""

    def of_device(self, device: str) -> DevicePlan | None:
        """The plan of a device by its name; None if it has none."""
        return next((one for one in self.devices if one.device == device), None)
