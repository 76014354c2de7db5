"""A plan as the record that the window draws and the command line prints."""

from collections.abc import Iterable, Mapping, Sequence

from diffusionforce.engines.subjects import JobSubjects
from diffusionforce.trainer.forecasting.judging import order_of, walked
from diffusionforce.trainer.forecasting.rigs import Rig
from diffusionforce.trainer.forecasting.speeds import denoising_s
from diffusionforce.trainer.forecasting.traces import CallFootprint
from diffusionforce.ugpum.estimate import spread
from diffusionforce.ugpum.forecast import CardForecast, Layout, forecast_sampling
from diffusionforce.ugpum.planner import Candidate
from diffusionforce.ugpum.replayed import replayed
from diffusionforce.wire.forecast import CardNeed, PhaseNeed, Way, WayCard

Calls = Sequence[tuple[str, CallFootprint]]
"""Modules that run by themselves: where, and what they need."""


def way_of(candidate: Candidate, rig: Rig, *, recommended: Candidate | None, with_times: bool) -> Way:
    """One way to train, as a record.

    Args:
        candidate: The way.
        rig: The cards.
        recommended: The way to take.
        with_times: Whether its seconds mean anything.
    """
    placing = candidate.placing
    return Way(
        words=candidate.words.removeprefix("one card ") if not rig.on_cards else candidate.words,
        kind=candidate.kind,
        mode=candidate.mode,
        weights=candidate.variant.weights,
        num_microbatches=candidate.variant.num_microbatches,
        schedule="turns" if len(placing.cards) == 1 else "interleaved",
        fits=candidate.fits,
        recommended=candidate is recommended,
        reason=candidate.reason,
        step_s=candidate.step_s if with_times else None,
        cards=tuple(
            WayCard(
                device=rig.shown[card].device,
                num_blocks=stage.num_blocks,
                num_paged=stage.num_paged,
                num_slots=stage.num_slots,
                needed_bytes=stage.needed_bytes,
                missing_bytes=stage.missing_bytes,
            )
            for card, stage in zip(placing.cards, candidate.stages, strict=True)
        ),
        chunk_sizes=placing.chunk_sizes,
        card_of_chunk=tuple(placing.cards.index(card) for card in placing.card_of_chunk),
        paged_blocks=tuple(sorted(candidate.paged)),
        ram_bytes=candidate.ram_bytes,
    )


def phases_of(
    candidate: Candidate, subjects: JobSubjects, rig: Rig, *, caching: Calls, decoding: Calls, with_times: bool
) -> tuple[PhaseNeed, ...]:
    """What every phase of a way needs.

    Args:
        candidate: The way.
        subjects: What the engine would run.
        rig: The cards.
        caching: What prepares the data.
        decoding: What turns the model's result into a picture.
        with_times: Whether its seconds mean anything.
    """
    layout = candidate.layout(order_of(candidate))
    training = walked(candidate, layout, rig, graphs=subjects.graphs)
    phases = [
        _caching_phase(candidate, subjects, rig, caching),
        PhaseNeed(
            phase="training",
            cards=_needs(training.cards, rig),
            ram_bytes=training.ram_bytes + subjects.ram_bytes,
            words=subjects.training_words,
        ),
    ]
    if candidate.variant.sampling is not None:
        phase = _sampling_phase(candidate, subjects, rig, layout, decoding)
        links = [card.link_bytes_per_s for card in rig.cards]
        step_s = denoising_s(candidate, passes=subjects.sampling_passes, link_bytes_per_s=links)
        phases.append(phase.model_copy(update={"step_s": step_s if with_times else None}))
    found = phases if caching else phases[1:]
    if not rig.on_cards:
        found = [phase.model_copy(update={"ram_bytes": phase.cards[0].peak_bytes}) for phase in found]
    return tuple(found)


def _caching_phase(candidate: Candidate, subjects: JobSubjects, rig: Rig, calls: Calls) -> PhaseNeed:
    home = candidate.placing.cards[0]
    on_card = [call for where, call in calls if where == "home" and rig.on_cards]
    in_ram = [call for where, call in calls if where == "cpu" or not rig.on_cards]
    needs: dict[int, CardNeed] = {}
    if rig.on_cards and on_card:
        needs[home] = _largest(_call_need(call, rig.extra_bytes[home]) for call in on_card)
    elif not rig.on_cards:
        need = _largest(_call_need(call, 0) for call in in_ram)
        needs[0] = need.model_copy(update={"constant_bytes": rig.extra_bytes[0]})
    peaks = [call.weights_bytes + call.input_bytes + call.peak_bytes for call in in_ram]
    return PhaseNeed(
        phase="caching",
        cards=_filled(needs, rig),
        ram_bytes=subjects.ram_bytes + max(peaks, default=0),
        words=subjects.caching_words,
    )


def _sampling_phase(
    candidate: Candidate, subjects: JobSubjects, rig: Rig, layout: Layout, decoding: Calls
) -> PhaseNeed:
    variant = candidate.variant
    assert variant.sampling is not None
    aside = candidate.num_aside or (0,) * len(candidate.placing.cards)
    during = _with_aside(candidate, layout, aside, rig)
    constants = rig.sampling_constants(during, layout, replays_blocks=subjects.graphs)
    if subjects.graphs:
        held = replayed(variant.footprint).held(layout, len(constants))
        constants = tuple(a + b for a, b in zip(constants, held, strict=True))
    forecast = forecast_sampling(variant.sampling, during, training=variant.footprint, constant_bytes=constants)
    needs = list(_needs(forecast.cards, rig))
    on_card = [call for where, call in decoding if where == "home" or not rig.on_cards]
    if on_card:
        home = candidate.placing.cards[0]
        decode = _largest(_call_need(call, constants[home]) for call in on_card)
        resting = needs[home].model_copy(
            update={
                "weights_bytes": needs[home].weights_bytes + decode.weights_bytes,
                "activation_bytes": decode.activation_bytes,
                "temporary_bytes": decode.temporary_bytes,
            }
        )
        needs[home] = _largest((needs[home], resting))
    return PhaseNeed(
        phase="sampling",
        cards=tuple(needs),
        ram_bytes=forecast.ram_bytes + subjects.ram_bytes,
        words=subjects.sampling_words,
        num_aside=_by_card(dict(zip(candidate.placing.cards, aside, strict=True)), rig) if any(aside) else (),
        fits=candidate.num_aside is not None,
    )


def _with_aside(candidate: Candidate, layout: Layout, aside: Sequence[int], rig: Rig) -> Layout:
    """The layout while some more blocks are in RAM."""
    gone, slots = set(layout.paged), list(layout.num_slots)
    for rank, (card, num) in enumerate(zip(candidate.placing.cards, aside, strict=True)):
        mine = candidate.placing.blocks_of(rank)
        resident = [block for block in mine if block not in layout.paged]
        gone |= spread(resident, num)
        if num:
            slots[card] = max(slots[card], candidate.num_slots)
    return Layout(
        chunk_sizes=layout.chunk_sizes,
        card_of_chunk=layout.card_of_chunk,
        order=(),
        paged=frozenset(gone),
        num_slots=tuple(slots),
        num_cards=layout.num_cards,
        home=layout.home,
    )


def _needs(cards: Sequence[CardForecast], rig: Rig) -> tuple[CardNeed, ...]:
    return _filled(
        {
            index: CardNeed(**{name: getattr(card, name) for name in CardNeed.model_fields})
            for index, card in enumerate(cards)
            if card.peak_bytes > card.constant_bytes
        },
        rig,
    )


def _call_need(call: CallFootprint, constant_bytes: int) -> CardNeed:
    return CardNeed(
        weights_bytes=call.weights_bytes,
        activation_bytes=call.input_bytes,
        temporary_bytes=call.peak_bytes,
        constant_bytes=constant_bytes,
    )


def _largest(needs: Iterable[CardNeed]) -> CardNeed:
    return max(needs, key=lambda need: need.peak_bytes, default=CardNeed())


def _filled(needs: Mapping[int, CardNeed], rig: Rig) -> tuple[CardNeed, ...]:
    return tuple(needs.get(index, CardNeed()) for index in range(len(rig.cards)))


def _by_card(values: Mapping[int, int], rig: Rig) -> tuple[int, ...]:
    return tuple(values.get(index, 0) for index in range(len(rig.cards)))
