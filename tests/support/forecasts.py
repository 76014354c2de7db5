"""Forecasts as the forecasting process would write them, for a model of 14 billion parameters on small cards."""

from diffusionforce.wire.forecast import CardNeed, Cut, Forecast, ForecastCard, PhaseNeed, Way, WayCard

GIB = 1024**3
MIB = 1024**2


def gib(number: float) -> int:
    """Return an amount of GiB in bytes."""
    return int(number * GIB)


def card(index: int, name: str, *, total: float, taken: float = 0.3, reserve: float = 1.0) -> ForecastCard:
    """Return a card; sizes in GiB."""
    return ForecastCard(
        device=f"cuda:{index}",
        label=f"GPU {index} ({name})",
        total_bytes=gib(total),
        taken_bytes=gib(taken),
        reserve_bytes=gib(reserve),
        budget_bytes=gib(total - taken - reserve),
    )


def need(weights: float, *, lora: float = 0.3, activations: float = 1.5, paging: float = 0.0) -> CardNeed:
    """Return what a card holds; sizes in GiB."""
    return CardNeed(
        weights_bytes=gib(weights),
        trained_bytes=gib(lora / 4),
        optimizer_bytes=gib(lora / 2),
        gradient_bytes=gib(lora / 4),
        activation_bytes=gib(activations * 0.7),
        temporary_bytes=gib(activations * 0.3),
        paging_bytes=gib(paging),
        constant_bytes=gib(0.4),
    )


TWO_CARDS = (
    card(0, "RTX 5080", total=16, taken=0.9, reserve=1.2),
    card(1, "RTX 4060 Ti 16 GB", total=16, taken=0.2),
)


def way(
    kind: str,
    *,
    weights: str = "bf16",
    step_s: float | None,
    needs: tuple[float, ...],
    missing: tuple[float, ...] = (),
    blocks: tuple[int, ...] = (40,),
    paged: tuple[int, ...] = (),
    num_microbatches: int = 4,
    recommended: bool = False,
    reason: str = "",
    devices: tuple[str, ...] = ("cuda:0", "cuda:1"),
) -> Way:
    """Return a way to train; sizes in GiB, blocks and paged blocks by card."""
    lacks = missing or (0.0,) * len(needs)
    pages = paged or (0,) * len(needs)
    cards = tuple(
        WayCard(
            device=devices[i],
            num_blocks=blocks[i],
            num_paged=pages[i],
            needed_bytes=gib(needs[i]),
            missing_bytes=gib(lacks[i]),
        )
        for i in range(len(needs))
    )
    starts = [sum(blocks[:i]) for i in range(len(blocks))]
    micro = "1 micro-batch" if num_microbatches == 1 else f"{num_microbatches} micro-batches"
    return Way(
        words=f"{kind}, {weights} weights, {micro}",
        kind=kind,  # type: ignore[arg-type] - a test's own word.
        mode="B" if any(pages) else "A",
        weights=weights,
        num_microbatches=num_microbatches,
        schedule="interleaved" if len(needs) > 1 else "turns",
        fits=not any(lacks),
        recommended=recommended,
        reason=reason,
        step_s=step_s,
        cards=cards,
        chunk_sizes=blocks,
        card_of_chunk=tuple(range(len(blocks))),
        paged_blocks=tuple(starts[i] + k for i in range(len(blocks)) for k in range(pages[i])),
        ram_bytes=gib(0.66 * sum(pages)),
    )


def phases(*training: CardNeed, ram: float = 0.0, aside: tuple[int, ...] = ()) -> tuple[PhaseNeed, ...]:
    """Return the three phases around the needs of training; previews move half a GiB of weights a block aside."""
    caching = (need(9.6, lora=0, activations=1.2), CardNeed())[: len(training)]
    moved = [gib(0.5 * number) for number in aside] or [0] * len(training)
    sampling = tuple(
        part.model_copy(
            update={
                "weights_bytes": part.weights_bytes - moved[i],
                "activation_bytes": part.activation_bytes + gib(0.2) + moved[i],
            }
        )
        for i, part in enumerate(training)
    )
    return (
        PhaseNeed(phase="caching", cards=caching, words="text encoder, then VAE", ram_bytes=gib(2.5)),
        PhaseNeed(phase="training", cards=training, words="1024 × 1024, 4 at a time", ram_bytes=gib(ram)),
        PhaseNeed(
            phase="sampling", cards=sampling, words="1024 × 1024, guidance 5", ram_bytes=gib(ram), num_aside=aside
        ),
    )


def forecast(**changes: object) -> Forecast:
    """Return a forecast that fits on two cards by a split, with some of it changed."""
    values: dict[str, object] = {
        "profile_name": "klein-9b-1024",
        "title": "FLUX.2 Klein 9B, 1024 px",
        "engine": "musubi",
        "num_blocks": 40,
        "trainable_bytes": 164 * MIB,
        "rig": TWO_CARDS,
        "is_here": True,
        "ram_total_bytes": gib(64),
        "ram_usable_bytes": gib(48),
        "times": "measured",
        "phases": phases(need(11.2), need(7.6)),
        "ways": (
            way(
                "split",
                step_s=2.6,
                needs=(13.4, 9.8),
                blocks=(24, 16),
                recommended=True,
                reason="Both cards work, nothing is paged.",
            ),
            way(
                "split + swap",
                step_s=2.9,
                needs=(11.2, 8.1),
                blocks=(26, 14),
                paged=(6, 0),
                reason="Leaves room for larger pictures.",
            ),
            way("one card + swap", step_s=4.4, needs=(13.1,), paged=(15,), reason="GPU 0 alone, 15 blocks in RAM."),
            way("split", step_s=2.7, needs=(13.0, 9.4), blocks=(24, 16), num_microbatches=2, reason="More idle time."),
            way("one card", step_s=3.9, needs=(21.4,), missing=(7.5,), reason="The model is larger than the card."),
        ),
        "took_s": 1.4,
    }
    made = Forecast.model_validate(values | changes)
    return made.model_copy(update={"cuts": cuts(made)})


def cuts(made: Forecast) -> tuple[Cut, ...]:
    """Return every cut of the shown way of a forecast, if it is a split: a block is 0.45 GiB and takes its time."""
    shown = made.ways[made.shown_way]
    if len(shown.cards) != 2 or len(made.rig) != 2:
        return ()
    budgets = [card.usable_bytes for card in made.rig]
    found: list[Cut] = []
    for first in range(1, made.num_blocks):
        moved = first - shown.cards[0].num_blocks
        needed = [shown.cards[0].needed_bytes + moved * gib(0.45), shown.cards[1].needed_bytes - moved * gib(0.45)]
        missing = tuple(max(0, need - budget) for need, budget in zip(needed, budgets, strict=True))
        found.append(
            Cut(
                num_blocks=(first, made.num_blocks - first),
                num_paged=tuple(card.num_paged for card in shown.cards),
                needed_bytes=tuple(needed),
                missing_bytes=missing,
                fits=not any(missing),
                step_s=None if shown.step_s is None else shown.step_s + 0.06 * abs(moved),
                is_best=not moved,
            )
        )
    return tuple(found)


def paging() -> Forecast:
    """Return a forecast in which a slow second card makes paging the fastest way, and previews move blocks aside."""
    return forecast(
        profile_name="wan21-14b",
        title="Wan 2.1 14B",
        times="catalogue",
        phases=phases(need(10.0, paging=1.3), need(8.1, paging=0.0), ram=9.2, aside=(4, 0)),
        ways=(
            way(
                "split + swap",
                step_s=3.1,
                needs=(13.5, 10.3),
                blocks=(27, 13),
                paged=(14, 0),
                recommended=True,
                reason="The fast card takes its share of the work and pages what does not fit.",
            ),
            way("split", step_s=5.2, needs=(13.8, 14.2), blocks=(20, 20), reason="The slow card sets the pace."),
            way("one card + swap", step_s=4.0, needs=(13.7,), paged=(24,), reason="GPU 0 alone, 24 blocks in RAM."),
            way("one card", step_s=3.4, needs=(30.2,), missing=(16.3,), reason="The model is larger than the card."),
        ),
        notes=("Times come from the cards' data sheets; a speed test makes them exact.",),
    )


def refused() -> Forecast:
    """Return a forecast in which nothing fits."""
    return forecast(
        profile_name="wan21-14b",
        title="Wan 2.1 14B",
        times="unknown",
        rig=(
            card(0, "RTX 4070 Ti SUPER", total=16, taken=0.9, reserve=1.2),
            card(1, "RTX 3060", total=12, taken=1.1, reserve=1.1),
        ),
        phases=phases(need(13.6, activations=2.6), need(7.9, activations=2.4)),
        ways=(
            way(
                "split",
                step_s=None,
                needs=(16.9, 11.0),
                missing=(3.0, 1.2),
                blocks=(25, 15),
                reason="Closest to fitting.",
            ),
            way("one card + swap", step_s=None, needs=(16.1,), missing=(2.2,), paged=(40,), reason="RAM is too small."),
        ),
        refusal=(
            "GPU 0 (RTX 4070 Ti SUPER) needs 3.0 GB more for training.",
            "GPU 1 (RTX 3060) needs 1.2 GB more for training.",
        ),
        ways_out=(
            "Choose fp8 weights: it fits, with 1.1 GB to spare.",
            "Train at 768 × 768: it fits by split + swap.",
            "Free 3.0 GB on GPU 0 and 1.2 GB on GPU 1.",
        ),
    )


def without_cards() -> Forecast:
    """Return a forecast for a small model on a processor."""
    return forecast(
        profile_name="pocket-demo",
        title="Pocket demo",
        engine="pocket",
        num_blocks=10,
        rig=(
            ForecastCard(
                device="cpu",
                label="Processor",
                total_bytes=gib(23.5),
                taken_bytes=gib(1),
                reserve_bytes=gib(3.2),
                budget_bytes=gib(19.3),
            ),
        ),
        ram_total_bytes=gib(23.5),
        ram_usable_bytes=0,
        times="unknown",
        phases=(
            PhaseNeed(phase="caching", cards=(_small(activations=13),), ram_bytes=492 * MIB),
            PhaseNeed(phase="training", cards=(_small(activations=116),), ram_bytes=474 * MIB),
            PhaseNeed(phase="sampling", cards=(_small(activations=12),), ram_bytes=474 * MIB),
        ),
        ways=(
            Way(
                words="on the processor, fp32 weights, 1 micro-batch",
                kind="one card",
                mode="A",
                weights="fp32",
                num_microbatches=1,
                schedule="turns",
                fits=True,
                recommended=True,
                reason="The fastest way that fits.",
                step_s=None,
                cards=(WayCard(device="cpu", num_blocks=10, num_paged=0, needed_bytes=636 * MIB, missing_bytes=0),),
                chunk_sizes=(10,),
                card_of_chunk=(0,),
            ),
        ),
        notes=("No NVIDIA card was found, so the training runs on the processor.",),
    )


def _small(*, activations: int) -> CardNeed:
    return CardNeed(
        weights_bytes=32 * MIB,
        trained_bytes=2 * MIB,
        optimizer_bytes=5 * MIB,
        activation_bytes=activations * MIB,
        constant_bytes=452 * MIB,
    )
