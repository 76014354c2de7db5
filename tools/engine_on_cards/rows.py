"""What is measured: a built-in profile on a number of cards, each held to a budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from diffusionforce.job import Profile, builtin_profiles, read_profile

TINY_SIDE = 64
_TINY_PICTURES = {"dataset.width": TINY_SIDE, "dataset.height": TINY_SIDE, "lora.rank": 4, "lora.alpha": 4.0}
_TINY_SAMPLES = {"samples.width": TINY_SIDE, "samples.height": TINY_SIDE, "samples.num_steps": 2}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table.

    Attributes:
        profile: A built-in profile.
        way: The way that the product is asked to go, as a forecast calls it; empty takes the fastest that fits.
        weights: Number format of the engine's own run: that of the way.
        num_cards: Cards of the product's run.
        at_a_time: Pictures that the product's run takes at a time, the others of a step accumulated; 0 leaves the batch
            to the plan, which splits it for several cards and not for one.
        budget_gib: What each of them, and the engine's one, may hold; 0 limits nothing.
        makes_samples: Whether the product's run makes samples.
        num_frames: Frames of a sample.
        swaps: For the engine alone, blocks to swap with each number of pictures at a time. Pictures that are not taken
            at a time are accumulated, so that a step has as many in all.
        blocks: Blocks of the tiny model.
    """

    profile: str
    way: str = ""
    weights: Literal["bf16", "fp8"] = "bf16"
    num_cards: int = 2
    at_a_time: int = 0
    budget_gib: float
    makes_samples: bool = True
    num_frames: int = 1
    swaps: Mapping[int, int]
    blocks: int = 4

    @property
    def family(self) -> str:
        """Name of the profile's family."""
        return self._profile.model.family

    @property
    def batch_size(self) -> int:
        """Pictures of a step."""
        return self._profile.training.batch_size

    def settings(self, *, num_steps: int, saves_at: int, samples: bool, tiny: bool) -> dict[str, Any]:
        """What a run changes in the profile.

        Args:
            num_steps: Steps of the run.
            saves_at: Step after which the state is saved and samples are made.
            samples: Whether samples are made, if the row makes any.
            tiny: Whether sizes are small and the cards are the processor.
        """
        values: dict[str, Any] = {
            "training.steps": num_steps,
            "training.warmup_steps": 0,
            "samples.prompts": ["a lighthouse at night"] if samples and self.makes_samples else [],
            "samples.every_steps": saves_at,
            "samples.before_training": False,
            "samples.num_steps": 4,
            "samples.width": 1024,
            "samples.height": 1024,
            "samples.num_frames": self.num_frames,
            "dataset.width": 1024,
            "dataset.height": 1024,
            "checkpoints.every_steps": saves_at,
        }
        if self.at_a_time:
            values["training.batch_size"] = self.at_a_time
            values["training.gradient_accumulation"] = self.batch_size // self.at_a_time
        if self.budget_gib and not tiny:
            values["memory.budget_gb"] = [self.budget_gib]
        return {**values, **(_TINY_PICTURES | _TINY_SAMPLES if tiny else {})}

    @property
    def _profile(self) -> Profile:
        return read_profile(builtin_profiles()[self.profile])


ROWS: Mapping[str, Row] = {
    "wan": Row(
        profile="wan21-14b", way="split + swap, bf16 weights", budget_gib=16, num_frames=9, swaps={4: 39, 1: 28}
    ),
    "klein": Row(
        profile="klein-9b-1024", way="split + swap, bf16 weights", budget_gib=12, swaps={4: 16, 1: 16}, blocks=6
    ),
    "wan22": Row(
        profile="wan22-t2v-14b", way="split, fp8 weights", weights="fp8", budget_gib=24, num_frames=9, swaps={4: 30}
    ),
    "one-card": Row(profile="wan21-14b", num_cards=1, budget_gib=0, makes_samples=False, swaps={4: 0}),
    # One card held to a budget. By the engine alone as many blocks are swapped as the plan keeps in RAM.
    "wan-one-16": Row(profile="wan21-14b", num_cards=1, at_a_time=1, budget_gib=16, num_frames=9, swaps={1: 30}),
    "wan-one-24": Row(profile="wan21-14b", num_cards=1, budget_gib=24, num_frames=9, swaps={4: 31, 1: 18}),
    "wan-one-16-fp8": Row(
        profile="wan21-14b",
        way="one card + swap on GPU 0 (H200), fp8 weights",  # Ways on one card are called after the card.
        weights="fp8",
        num_cards=1,
        at_a_time=1,
        budget_gib=16,
        num_frames=9,
        swaps={1: 19},
    ),
    "klein-one-12": Row(
        profile="klein-9b-1024",
        num_cards=1,
        at_a_time=1,
        budget_gib=12,
        swaps={1: 24},
        blocks=6,
    ),
}
