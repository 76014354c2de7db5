"""The splitter on modelled rigs: what it models, what it finds, how it explains and how it refuses."""

import random

import pytest

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.schedule.generators import Costs, interleaved, simulate, turns
from diffusionforce.pipeline.splitter.choice import Split, choose_split
from diffusionforce.pipeline.splitter.costs import BlockSizes, CardCosts, RigCosts, equal_blocks
from diffusionforce.pipeline.splitter.model import Cut, modelled_step, share_of
from diffusionforce.pipeline.splitter.search import DEFAULT_SCHEDULES, Search

GIB = 2**30


def rig(
    *,
    num_blocks: int = 8,
    budgets: tuple[int, ...] = (100, 100),
    block_s: tuple[tuple[float, float], ...] = ((1.0, 2.0), (1.0, 2.0)),
    paging: tuple[float, ...] = (0.0, 0.0),
    weights: int = 1,
    kept: int = 0,
    crossing_s: float = 0.0,
    fixed: int = 0,
) -> RigCosts:
    """A rig in toy units: bytes are GiB, seconds are seconds."""
    return equal_blocks(
        num_blocks=num_blocks,
        names=[f"GPU {index}" for index in range(len(budgets))],
        budgets_bytes=[budget * GIB for budget in budgets],
        fixed_bytes=[fixed * GIB] * len(budgets),
        block_s=block_s,
        paging_bytes_per_s=[rate * GIB for rate in paging],
        weights_bytes=weights * GIB,
        kept_bytes=kept * GIB,
        crossing_s=crossing_s,
    )


def cut_of(sizes: tuple[int, ...], cards: tuple[int, ...], num_microbatches: int) -> Cut:
    if len(set(cards)) == 1:
        order = turns(Costs.equal(cards), num_microbatches=num_microbatches)
    else:
        order = interleaved(Costs.equal(cards), num_microbatches=num_microbatches)
    return Cut(chunk_sizes=sizes, card_of_chunk=cards, order=tuple(order))


def step_s(costs: RigCosts, cut: Cut, *, num_slots: int = 3, num_steps: int = 2) -> float:
    shares = [share_of(costs, cut, card, num_slots=num_slots) for card in range(len(costs.cards))]
    assert not any(share.missing_bytes for share in shares)
    return modelled_step(costs, cut, shares, num_steps=num_steps).step_s


def test_a_resident_step_is_the_schedules_own_clock():
    costs = rig(block_s=((1.0, 2.0), (2.0, 5.0)), crossing_s=0.25)
    cut = cut_of((2, 2, 3, 1), (0, 1, 0, 1), 3)
    expected = simulate(
        cut.order,
        costs=Costs(
            device_of=cut.card_of_chunk,
            forward_s=[2, 4, 3, 2],
            backward_s=[4, 10, 6, 5],
            transfer_s=0.25,
            tail_s=0.5,
        ),
    )
    assert step_s(costs, cut) == pytest.approx(expected.step_s)


def test_paging_that_hides_under_computing_costs_nothing():
    alone = cut_of((8,), (0,), 2)
    # Four blocks stay and four come, each in a third of the time that one block's forward takes.
    paged = rig(budgets=(7,), block_s=((1.0, 2.0),), paging=(3.0,))
    shares = [share_of(paged, alone, 0, num_slots=3)]
    assert len(shares[0].paged) == 4
    assert step_s(paged, alone) == pytest.approx(2 * 8 * 3.0)


def test_a_slow_link_becomes_the_step():
    alone = cut_of((8,), (0,), 2)
    slow = rig(budgets=(7,), block_s=((1.0, 2.0),), paging=(1 / 20,))
    # Three of the four paged blocks are still in their slots at each of the four turns: one load of 20 s a turn.
    assert step_s(slow, alone) >= 4 * (4 - 3) * 20 > 2 * 8 * 3.0


def test_a_share_counts_weights_slots_activations_and_what_is_fixed():
    costs = rig(budgets=(20, 100), kept=1, fixed=2, paging=(1.0, 0.0))
    cut = cut_of((4, 4), (0, 1), 3)
    first = share_of(costs, cut, 0, num_slots=2)
    # 1F1B: the first of two cards holds two micro-batches of four blocks each.
    assert (first.resident_bytes, first.kept_bytes, first.fixed_bytes) == (4 * GIB, 8 * GIB, 2 * GIB)
    assert not first.paged
    tight = share_of(rig(budgets=(13, 100), kept=1, fixed=2, paging=(1.0, 0.0)), cut, 0, num_slots=2)
    assert len(tight.paged) == 3
    assert (tight.resident_bytes, tight.slots_bytes, tight.missing_bytes) == (GIB, 2 * GIB, 0)


def test_with_one_microbatch_the_fast_card_gets_as_much_as_it_holds():
    costs = rig(num_blocks=10, budgets=(7, 100), block_s=((1.0, 2.0), (2.0, 4.0)))
    split = choose_split(costs, num_microbatches=1, paging=False)
    assert split.chunk_sizes == (7, 3)


def test_with_several_microbatches_equal_cards_get_equal_work():
    split = choose_split(rig(num_blocks=12), num_microbatches=4, max_chunks_per_card=3)
    blocks = [len(share.blocks) for share in split.shares]
    assert blocks == [6, 6]
    assert split.limit_s / split.step_s > 0.85


def test_a_card_that_would_only_be_waited_for_gets_nothing():
    costs = rig(num_blocks=6, block_s=((1.0, 2.0), (50.0, 100.0)))
    split = choose_split(costs, num_microbatches=2)
    assert split.card_of_chunk == (0,)
    assert "GPU 1 gets no blocks" in "\n".join(split.explain())


def test_split_and_swap_gives_the_fast_card_more_than_it_holds():
    costs = rig(num_blocks=16, budgets=(9, 9), block_s=((1.0, 2.0), (2.6, 5.2)), paging=(2.0, 0.1), weights=1, kept=0)
    resident = choose_split(costs, num_microbatches=4, paging=False, max_chunks_per_card=2)
    swapped = choose_split(costs, num_microbatches=4, max_chunks_per_card=2)
    assert len(swapped.shares[0].blocks) > len(resident.shares[0].blocks)
    assert swapped.shares[0].paged and not swapped.shares[1].paged
    assert swapped.step_s < 0.8 * resident.step_s
    assert swapped.alone_s is not None and swapped.step_s < swapped.alone_s
    text = "\n".join(swapped.explain())
    assert "GPU 0 computes" in text and "wait in RAM" in text and "times as fast" in text


def random_rig(chance: random.Random, num_blocks: int) -> RigCosts:
    blocks = [chance.uniform(0.6, 1.6) for _ in range(num_blocks)] if chance.random() < 0.5 else [1.0] * num_blocks
    speeds = [1.0, chance.choice([1.0, 1.3, 2.6])]
    chance.shuffle(speeds)
    crossing = chance.uniform(0, 0.5)
    return RigCosts(
        cards=tuple(
            CardCosts(
                name=f"GPU {index}",
                budget_bytes=10**6,
                fixed_bytes=0,
                forward_s=tuple(block * speed for block in blocks),
                backward_s=tuple(2 * block * speed for block in blocks),
            )
            for index, speed in enumerate(speeds)
        ),
        blocks=BlockSizes(weights=(1,) * num_blocks, kept=(1,) * num_blocks),
        crossing_s=((0.0, crossing), (crossing, 0.0)),
        tail_s=chance.uniform(0, 0.5),
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_search_loses_less_than_two_per_cent_against_trying_all(seed: int):
    chance = random.Random(seed)
    costs = random_rig(chance, chance.choice([10, 12]))
    options = {
        "rig": costs,
        "num_microbatches": chance.choice([2, 3, 4]),
        "schedules": DEFAULT_SCHEDULES,
        "max_chunks_per_card": 2,
    }
    found = Search(**options, try_all_below=20)
    everything = Search(**options, try_all_below=10**9)
    assert found.best().step_s <= 1.02 * everything.best().step_s
    assert found.num_judged < everything.num_judged


PAPER = {
    # name: cards as (GiB, effective TFLOP/s, link in GB/s); the rates are about 75 % of the datasheets'
    "5080 + 4060 Ti 16 GB": ((16, 85, 25), (16, 33, 6.5)),
    "2 x 3090": ((24, 53, 25), (24, 53, 6.5)),
    "4090 + 3090": ((24, 125, 25), (24, 53, 6.5)),
    "5090 + 4090": ((32, 155, 25), (24, 125, 6.5)),
    "2 x 4060 Ti 16 GB": ((16, 33, 13), (16, 33, 6.5)),
    "4070 Ti S + 3060": ((16, 66, 25), (12, 19, 3.2)),
}


def paper_rig(name: str, *, tokens: int = 4096, num_blocks: int = 20) -> RigCosts:
    """Wan 14B in bf16 at 1024 x 1024, its 40 blocks taken in pairs to keep the test quick."""
    work = 3 * (2 * 14.3e9 * tokens + 4 * tokens**2 * 5120 * 40) / 1e12 / num_blocks
    cards = PAPER[name]
    return equal_blocks(
        num_blocks=num_blocks,
        names=[f"GPU {index}" for index in range(len(cards))],
        budgets_bytes=[gib * GIB for gib, _, _ in cards],
        fixed_bytes=[int(2.2 * GIB)] * len(cards),
        block_s=[(work / 3 / rate, work * 2 / 3 / rate) for _, rate, _ in cards],
        paging_bytes_per_s=[link * 1e9 for _, _, link in cards],
        weights_bytes=int(26.6 * GIB / num_blocks),
        kept_bytes=0,
        crossing_s=tokens * 5120 * 2 / (min(link for _, _, link in cards) * 1e9),
    )


def try_split(costs: RigCosts, schedules: tuple[str, ...], *, chunks: int, paging: bool) -> Split | None:
    try:
        return choose_split(costs, num_microbatches=4, paging=paging, max_chunks_per_card=chunks, schedules=schedules)
    except DeviceError:
        return None


@pytest.mark.parametrize("name", PAPER)
def test_the_ways_to_use_two_cards_rank_as_on_paper(name: str):
    costs = paper_rig(name)
    two = [
        try_split(costs, ("turns",), chunks=1, paging=False),
        try_split(costs, ("interleaved",), chunks=1, paging=False),
        try_split(costs, ("interleaved",), chunks=3, paging=False),
    ]
    swapped = try_split(costs, ("interleaved", "greedy"), chunks=3, paging=True)
    assert swapped is not None and swapped.alone_s is not None
    if name == "4070 Ti S + 3060":
        assert two == [None, None, None], "the weights fit no two such cards"
    else:
        seconds = [split.step_s for split in two if split is not None]
        assert len(seconds) == 3
        assert seconds[0] > 1.1 * seconds[1] > 1.1 * seconds[2]
        assert swapped.step_s <= 1.01 * seconds[2]
    assert 0.85 < swapped.limit_s / swapped.step_s <= 1.0
    gain = swapped.alone_s / swapped.step_s
    assert gain > (1.2 if name == "5080 + 4060 Ti 16 GB" else 1.1)


def test_a_refusal_names_the_card_and_offers_only_what_was_computed_to_fit():
    costs = rig(num_blocks=8, budgets=(3, 3), paging=(1.0, 1.0))
    lighter = rig(num_blocks=8, budgets=(6, 6), paging=(1.0, 1.0))
    with pytest.raises(DeviceError) as caught:
        choose_split(
            costs,
            num_microbatches=2,
            paging=False,
            max_chunks_per_card=1,
            alternatives={"8-bit weights": lighter, "prayer": costs.without_paging()},
        )
    assert caught.value.sentence == "This needs 1.0 GB more on GPU 0."
    assert "Free 1.0 GB there" in caught.value.hint
    assert "8-bit weights (fits" in caught.value.hint
    assert "prayer" not in caught.value.hint


def test_a_refusal_offers_split_and_swap_only_where_its_slots_fit():
    roomy = rig(num_blocks=12, budgets=(5, 5), paging=(1.0, 1.0))
    with pytest.raises(DeviceError, match=r"split \+ swap \(fits"):
        choose_split(roomy, num_microbatches=2, paging=False, max_chunks_per_card=1)
    with pytest.raises(DeviceError) as caught:
        choose_split(rig(num_blocks=12, budgets=(1, 1), paging=(1.0, 1.0)), num_microbatches=2, max_chunks_per_card=1)
    assert "split + swap" not in caught.value.hint


def test_costs_for_different_models_are_refused():
    card = CardCosts(name="GPU 0", budget_bytes=1, fixed_bytes=0, forward_s=(1.0,), backward_s=(1.0, 2.0))
    with pytest.raises(DeviceError, match="different numbers of blocks"):
        RigCosts(cards=(card,), blocks=BlockSizes(weights=(1,), kept=(1,)), crossing_s=((0.0,),))
