"""The slot planner on plain numbers: nothing is used before it was loaded, and few loads are spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffusionforce.pipeline.pager.slots import SlotPlanner, VisitOrder, visits_of


def drive(planner: SlotPlanner, visits: list[int]) -> tuple[int, int]:
    """Visit blocks in order, starting every load the planner asks for; returns (all loads, loads on demand)."""
    loads = demanded = 0
    for block in visits:
        planner.leave()
        urgent = planner.arrive(block)
        if urgent is not None:
            assert urgent.block == block
            loads, demanded = loads + 1, demanded + 1
        assert planner.slot_of(block) == planner.active
        in_use = planner.active
        while (load := planner.next_load()) is not None:
            assert load.slot != in_use, "the block in use must not be overwritten"
            loads += 1
    return loads, demanded


def test_the_order_finds_the_next_visit_round_the_corner():
    order = VisitOrder([3, 5, 5, 3])
    assert order.next_visit(3, after=-1) == 0
    assert order.next_visit(3, after=0) == 3
    assert order.next_visit(5, after=1) == 2
    assert order.next_visit(5, after=2) == 5
    assert order.next_visit(7, after=0) is None


def test_a_block_visited_twice_with_resident_blocks_between_keeps_its_place_in_the_order():
    # Two micro-batches in a row through the same chunk, whose other blocks are resident: the second visit is the next
    # place in the order, not the one a chunk later. Taking it for that one doubled the loads.
    step = [0, 0, 1, 1, 2, 2]
    planner = SlotPlanner(VisitOrder(step), num_slots=2)
    drive(planner, step)
    loads, demanded = drive(planner, step * 10)
    assert (loads, demanded) == (30, 0)


def test_after_the_first_block_nothing_is_loaded_on_demand():
    step = visits_of([("F", [0, 1, 2, 3, 4, 5]), ("B", [0, 1, 2, 3, 4, 5])])
    planner = SlotPlanner(VisitOrder(step), num_slots=3)
    _, demanded = drive(planner, step * 4)
    assert demanded == 1


def test_the_turn_of_the_step_reuses_what_is_still_there():
    step = visits_of([("F", list(range(6))), ("B", list(range(6)))])
    planner = SlotPlanner(VisitOrder(step), num_slots=3)
    drive(planner, step)
    loads, _ = drive(planner, step * 10)
    # Two of the three slots carry over each of a lap's two turns.
    assert loads <= 10 * 2 * (6 - 2)


def test_two_microbatches_in_a_row_share_one_load_of_a_small_chunk():
    step = visits_of([("F", [0, 1]), ("F", [0, 1]), ("F", [4, 5]), ("F", [4, 5])] * 3)
    planner = SlotPlanner(VisitOrder(step), num_slots=3)
    drive(planner, step)
    loads, demanded = drive(planner, step * 5)
    assert demanded == 0
    assert loads == len(step * 5) // 2


def test_an_unannounced_block_is_served_and_the_order_is_found_again():
    planner = SlotPlanner(VisitOrder([0, 1, 2, 3]), num_slots=2)
    drive(planner, [0, 1])
    assert drive(planner, [9])[1] == 1
    drive(planner, [2])
    assert drive(planner, [3, 0, 1, 2, 3, 0])[1] == 0


def test_one_slot_is_refused():
    with pytest.raises(ValueError, match="at least 2 slots"):
        SlotPlanner(VisitOrder([0]), num_slots=1)


@given(
    blocks=st.lists(st.integers(0, 6), min_size=2, max_size=12),
    num_slots=st.integers(2, 4),
)
def test_any_order_is_served_ahead_of_its_turn_and_never_loaded_twice_for_one_visit(blocks: list[int], num_slots: int):
    order = VisitOrder(blocks)
    planner = SlotPlanner(order, num_slots=num_slots)
    visits = list(order.visits) * 6
    loads, demanded = drive(planner, visits)
    assert demanded == 1
    assert loads <= len(visits) + num_slots
