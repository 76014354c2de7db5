"""What a forecast says: the memory that every card and RAM will need, and the ways to train with their speed.

A forecast is made by a child process, because it runs the model's own code on fake tensors. It answers with one JSON
object, which the window draws and the command line prints.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from diffusionforce.wire.messages import LATER, Failed, JobChange, Record

Phase = Literal["caching", "training", "sampling"]


class ForecastCard(Record):
    """One card of the rig and what it gives to a training. Sizes in bytes."""

    device: str
    """For example `cuda:0`."""
    label: str
    """For people, for example `GPU 0 (RTX 4060 Ti)`."""
    total_bytes: int
    taken_bytes: int
    """Held by other programs at the time of the forecast; 0 on a rig out of the catalogue."""
    reserve_bytes: int
    """Kept back for the driver, the desktop and the allocator's leftovers."""
    budget_bytes: int
    """What is left for the training."""
    lost_bytes: int = 0
    """What of the budget no tensor can have, because the allocator takes memory in whole pages."""

    @property
    def usable_bytes(self) -> int:
        """What of the budget a plan may fill."""
        return self.budget_bytes - self.lost_bytes


class CardNeed(Record):
    """What one card holds at its fullest moment in one phase, by what it is for. Sizes in bytes."""

    weights_bytes: int = 0
    trained_bytes: int = 0
    optimizer_bytes: int = 0
    gradient_bytes: int = 0
    activation_bytes: int = 0
    temporary_bytes: int = 0
    paging_bytes: int = 0
    constant_bytes: int = 0

    @property
    def peak_bytes(self) -> int:
        """All of it."""
        return sum(getattr(self, name) for name in CardNeed.model_fields)


class StageNeed(Record):
    """One of the models that run by themselves in a phase, and hold their card while they do."""

    name: str
    """What it is called in a plan: `pictures`, `captions`, `decoding`."""
    words: str
    """For people, for example `text encoder on captions`."""
    device: str
    """For example `cuda:0`; `cpu` where no card holds it."""
    in_tiles: bool = False
    """Whether it works on a tile of the picture at a time, because no card holds what it needs for the whole."""
    need: CardNeed
    """On that device, with what stays there meanwhile."""
    missing_bytes: int = 0
    """What the device lacks; 0 where it fits."""


class PhaseNeed(Record):
    """One phase of the recommended way, or of the closest where nothing fits."""

    phase: Phase
    cards: tuple[CardNeed, ...]
    """One for each card of the rig."""
    ram_bytes: int = 0
    """RAM for blocks and other weights that are not on a card then."""
    words: str = ""
    """What the phase does, for example `1024 x 1024, 4 at a time`."""
    num_aside: tuple[int, ...] = ()
    """Sampling in mode C: for each card of the rig the blocks that step aside to RAM meanwhile; empty where none do."""
    fits: bool = True
    """Whether the phase fits beside a training that does. Samples that do not are left out."""
    stages: tuple[StageNeed, ...] = ()
    """What runs by itself in it."""
    step_s: float | None = None
    """Sampling: predicted seconds of one denoising step of one sample; None where nothing is known of the speed."""


class WayCard(Record):
    """What one card gets in one way to train."""

    device: str
    num_blocks: int
    num_paged: int
    num_slots: int = 0
    """Blocks that the card can hold for their turn; 0 where it pages none."""
    needed_bytes: int
    missing_bytes: int
    """What its budget lacks; 0 where it fits."""


class Way(Record):
    """One way to train on this rig."""

    words: str
    """For example `split + swap, bf16 weights, 4 micro-batches`."""
    kind: Literal["one card", "one card + swap", "split", "split + swap"]
    mode: Literal["A", "B", "C"]
    weights: str
    num_microbatches: int
    schedule: str
    fits: bool
    recommended: bool
    reason: str
    step_s: float | None
    """Predicted seconds of a step; None where nothing is known of the cards' speed."""
    cards: tuple[WayCard, ...]
    """The used ones; the first is home."""
    chunk_sizes: tuple[int, ...]
    card_of_chunk: tuple[int, ...]
    """Index into `cards` of this way, one a chunk."""
    paged_blocks: tuple[int, ...] = ()
    ram_bytes: int = 0


class Cut(Record):
    """One place where the model could be cut between two cards, all else being as in the way that is shown."""

    num_blocks: tuple[int, ...]
    """Of each card, in the order of the way."""
    num_paged: tuple[int, ...]
    needed_bytes: tuple[int, ...]
    missing_bytes: tuple[int, ...]
    """What the budget of each card lacks; 0 where it fits."""
    fits: bool
    step_s: float | None
    """Predicted seconds of a step; None where nothing is known of the cards' speed."""
    is_best: bool = False
    """Whether the planner would cut here."""


class Forecast(Record):
    """The answer."""

    kind: Literal["forecast"] = "forecast"
    profile_name: str
    title: str
    engine: str
    num_blocks: int
    trainable_bytes: int = 0
    """Size of the LoRA's trained parameters."""
    rig: tuple[ForecastCard, ...]
    is_here: bool
    """Whether the rig is this machine's; False for one out of the catalogue."""
    ram_total_bytes: int
    ram_usable_bytes: int
    """What of RAM may be locked for blocks."""
    times: Literal["measured", "catalogue", "unknown"]
    """Where predicted seconds come from."""
    phases: tuple[PhaseNeed, ...]
    ways: tuple[Way, ...]
    """Best first."""
    shown_way: int = 0
    """Index into `ways`: the one whose phases are given. The recommended one, or what comes closest where none is."""
    cuts: tuple[Cut, ...] = ()
    """Where the shown way is a split over two cards: every place to cut, estimated, by blocks of its first card."""
    refusal: tuple[str, ...] = ()
    """Where nothing fits: what is missing, a sentence a card."""
    ways_out: tuple[str, ...] = ()
    """Where nothing fits: what would help, each computed."""
    changes: tuple[JobChange, ...] = ()
    """Those of the ways out that are other settings, ready to be taken."""
    notes: tuple[str, ...] = ()
    """What the forecast takes for granted, in sentences."""
    took_s: float = 0.0

    @property
    def recommended(self) -> Way | None:
        """The way to take; None where nothing fits."""
        return next((way for way in self.ways if way.recommended), None)


class GivenUp(Record):
    """Stands for the forecast of a job that was given up: each job that a process is given is answered."""

    kind: Literal["given_up"] = "given_up"


_adapter = TypeAdapter(Forecast)
_answers: TypeAdapter[Forecast | Failed] = TypeAdapter(
    Annotated[Forecast | Failed, Field(discriminator="kind")], config=LATER
)


def read_forecast(text: str) -> Forecast:
    """Read what a forecasting child wrote.

    Raises:
        ValueError: It is not a forecast.
    """
    return _adapter.validate_json(text)


def read_answer(text: bytes | str) -> Forecast | Failed:
    """Read what a forecasting child answered.

    Raises:
        ValueError: It is neither a forecast nor a reason why there is none.
    """
    return _answers.validate_json(text)
