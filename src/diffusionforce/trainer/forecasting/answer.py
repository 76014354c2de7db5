"""A plan as the record that the window draws and the command line prints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from diffusionforce.engines.subjects import JobSubjects, TracedCall
from diffusionforce.trainer.forecasting.judging import order_of, walked
from diffusionforce.trainer.forecasting.rigs import Rig
from diffusionforce.trainer.forecasting.side_calls import PlacedCall, need_of, needs_by_card
from diffusionforce.trainer.forecasting.speeds import denoising_s
from diffusionforce.trainer.forecasting.traces import CallFootprint
from diffusionforce.ugpum.candidate import Candidate
from diffusionforce.ugpum.estimate import spread
from diffusionforce.ugpum.forecast import CardForecast, Layout, forecast_sampling
from diffusionforce.ugpum.planner import Plan
from diffusionforce.ugpum.replayed import replayed
from diffusionforce.wire.forecast import CardNeed, Cut, PhaseNeed, StageNeed, Way, WayCard


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


def cuts_of(made: Plan, *, with_times: bool) -> tuple[Cut, ...]:
    """Where the shown way of a plan could be cut, as records."""
    shown = made.closest
    planned = [
        one.placing.totals
        for one in made.candidates
        if not one.is_asked_cut and one.kind == shown.kind and one.variant is shown.variant
    ]
    return tuple(
        Cut(
            num_blocks=one.placing.totals,
            num_paged=tuple(stage.num_paged for stage in one.stages),
            needed_bytes=tuple(stage.needed_bytes for stage in one.stages),
            missing_bytes=tuple(stage.missing_bytes for stage in one.stages),
            fits=one.fits,
            step_s=one.step_s if with_times else None,
            is_best=one.placing.totals in planned,
        )
        for one in made.cuts
    )


def phases_of(
    candidate: Candidate,
    subjects: JobSubjects,
    rig: Rig,
    *,
    caching: Sequence[PlacedCall],
    footprint_of: Callable[[TracedCall], CallFootprint],
    with_times: bool,
) -> tuple[PhaseNeed, ...]:
    """What every phase of a way needs.

    Args:
        candidate: The way.
        subjects: What the engine would run.
        rig: The cards.
        caching: What prepares the data.
        footprint_of: Gives what a model that runs by itself needs.
        with_times: Whether its seconds mean anything.
    """
    layout = candidate.layout(order_of(candidate))
    training = walked(candidate, layout, rig, graphs=subjects.graphs)
    phases = [
        _caching_phase(subjects, rig, caching),
        PhaseNeed(
            phase="training",
            cards=_needs(training.cards, rig),
            ram_bytes=training.ram_bytes + subjects.ram_bytes,
            words=subjects.training_words,
        ),
    ]
    if candidate.variant.sampling is not None:
        phases.append(_Sampling(candidate, subjects, rig, layout, footprint_of, with_times).phase())
    found = phases if caching else phases[1:]
    if not rig.on_cards:
        found = [phase.model_copy(update={"ram_bytes": phase.cards[0].peak_bytes}) for phase in found]
    return tuple(found)


def _caching_phase(subjects: JobSubjects, rig: Rig, calls: Sequence[PlacedCall]) -> PhaseNeed:
    in_ram = [one for one in calls if one.card is None]
    needs = needs_by_card(calls, rig) if rig.on_cards else {0: _largest(one.need(rig.extra_bytes[0]) for one in in_ram)}
    return PhaseNeed(
        phase="caching",
        cards=_filled(needs, rig),
        ram_bytes=subjects.ram_bytes + max((one.need().peak_bytes for one in in_ram), default=0),
        words=subjects.caching_words,
        fits=not any(one.missing_bytes for one in calls),
        stages=tuple(one.stage(rig, one.need(_extra_bytes(one.card, rig))) for one in calls),
    )


def _extra_bytes(card: int | None, rig: Rig) -> int:
    return rig.extra_bytes[card] if card is not None else 0


@dataclass(frozen=True)
class _Sampling:
    """Samples made with one way to train, while the training rests."""

    candidate: Candidate
    subjects: JobSubjects
    rig: Rig
    layout: Layout
    footprint_of: Callable[[TracedCall], CallFootprint]
    with_times: bool

    def phase(self) -> PhaseNeed:
        """What it needs, with what decodes the samples where there is room."""
        candidate, rig = self.candidate, self.rig
        aside = candidate.num_aside or (0,) * len(candidate.placing.cards)
        stages: list[StageNeed] = []
        needs, ram_bytes = self._needs(aside)
        for call in self.subjects.decoding:
            one, aside = self._placed(call, aside)
            needs, ram_bytes = self._needs(aside)
            card = one.card
            if card is None:
                missing_bytes = max(0, one.need().peak_bytes - (rig.ram_free_bytes - ram_bytes))
                one = replace(one, missing_bytes=missing_bytes)
            meanwhile = _beside(needs[card], one.footprint) if card is not None else one.need()
            stages.append(one.stage(rig, meanwhile))
            if card is not None:
                needs[card] = _largest((needs[card], meanwhile))
        by_card = dict(zip(candidate.placing.cards, aside, strict=True))
        return PhaseNeed(
            phase="sampling",
            cards=tuple(needs),
            ram_bytes=ram_bytes + self.subjects.ram_bytes,
            words=self.subjects.sampling_words,
            num_aside=tuple(by_card.get(index, 0) for index in range(len(rig.cards))) if any(aside) else (),
            fits=candidate.num_aside is not None,
            step_s=self._step_s(aside) if self.with_times else None,
            stages=tuple(stages),
        )

    def _step_s(self, aside: Sequence[int]) -> float:
        links = [card.link_bytes_per_s for card in self.rig.cards]
        candidate = replace(self.candidate, num_aside=tuple(aside))
        return denoising_s(candidate, passes=self.subjects.sampling_passes, link_bytes_per_s=links)

    def _needs(self, aside: Sequence[int]) -> tuple[list[CardNeed], int]:
        """What each card needs while some more blocks are in RAM, and RAM."""
        variant, rig, layout = self.candidate.variant, self.rig, self.layout
        assert variant.sampling is not None
        during = _with_aside(self.candidate, layout, aside, rig)
        constants = rig.sampling_constants(during, layout, replays_blocks=self.subjects.graphs)
        if self.subjects.graphs:
            held = replayed(variant.footprint).held(layout, len(constants))
            constants = tuple(a + b for a, b in zip(constants, held, strict=True))
        forecast = forecast_sampling(variant.sampling, during, training=variant.footprint, constant_bytes=constants)
        return list(_needs(forecast.cards, rig)), forecast.ram_bytes

    def _placed(self, call: TracedCall, aside: Sequence[int]) -> tuple[PlacedCall, tuple[int, ...]]:
        """Where a sample is decoded and in which way, and what steps aside on every card then."""
        way: TracedCall | None = call
        while way is not None:
            footprint = self.footprint_of(way)
            card, more = self._room_for(footprint, aside, way)
            if card is not None:
                return PlacedCall(call=way, footprint=footprint, card=card), more
            way = way.otherwise
        return PlacedCall(call=call, footprint=self.footprint_of(call), card=None), tuple(aside)

    def _room_for(
        self, footprint: CallFootprint, aside: Sequence[int], call: TracedCall
    ) -> tuple[int | None, tuple[int, ...]]:
        """The card on which a sample is decoded, and what steps aside on every card then.

        The card with most room is taken, or the first on which blocks can make enough. Where one card holds all of the
        model, the engine runs it by itself, and no blocks make room.
        """
        cards, rig = self.candidate.placing.cards, self.rig
        if call.where == "cpu" and rig.on_cards:
            return None, tuple(aside)
        needs, _ = self._needs(aside)
        short = {card: _beside(needs[card], footprint).peak_bytes - rig.cards[card].budget_bytes for card in cards}
        if self.candidate.kind == "one card":
            return cards[0] if short[cards[0]] <= 0 or not rig.on_cards else None, tuple(aside)
        for card in sorted(cards, key=lambda card: short[card]):
            rank = cards.index(card)
            resident = [one for one in self.candidate.placing.blocks_of(rank) if one not in self.layout.paged]
            for more in range(len(resident) - aside[rank] + 1) if short[card] > 0 else [0]:
                trial = tuple(num + (more if index == rank else 0) for index, num in enumerate(aside))
                needs, _ = self._needs(trial) if more else (needs, 0)
                if _beside(needs[card], footprint).peak_bytes <= rig.cards[card].budget_bytes:
                    return card, trial
        return None, tuple(aside)


def _beside(need: CardNeed, footprint: CallFootprint) -> CardNeed:
    """What a card holds while a model runs beside what rests there."""
    call = need_of(footprint)
    return need.model_copy(
        update={
            "weights_bytes": need.weights_bytes + call.weights_bytes,
            "activation_bytes": call.activation_bytes,
            "temporary_bytes": call.temporary_bytes,
        }
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


def _largest(needs: Iterable[CardNeed]) -> CardNeed:
    return max(needs, key=lambda need: need.peak_bytes, default=CardNeed())


def _filled(needs: Mapping[int, CardNeed], rig: Rig) -> tuple[CardNeed, ...]:
    return tuple(needs.get(index, CardNeed()) for index in range(len(rig.cards)))
