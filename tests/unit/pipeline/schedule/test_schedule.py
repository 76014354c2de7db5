"""Schedules as drawn tables, and what must hold for any of them."""

import random
from inspect import cleandoc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffusionforce.pipeline.schedule.generators import (
    Costs,
    Op,
    best,
    draw,
    gpipe,
    greedy,
    interleaved,
    one_f_one_b,
    peak_live,
    simulate,
    turns,
    validate,
)

TWO, THREE = ["a", "b"], ["a", "b", "c"]


def drawn(order: list[Op], device_of: list[str], forward_s: list[float] | None = None) -> str:
    forward_s = forward_s or [1.0] * len(device_of)
    backward_s = [2 * seconds for seconds in forward_s]
    return draw(simulate(order, costs=Costs(device_of=device_of, forward_s=forward_s, backward_s=backward_s)))


def test_turns_leave_one_device_idle():
    assert drawn(turns(Costs.equal(TWO), num_microbatches=2), TWO) == cleandoc("""
        a | F0.0 .    .    .    B0.0 -    F0.1 .    .    .    B0.1 -
        b | .    F1.0 B1.0 -    .    .    .    F1.1 B1.1 -    .    .
    """)


def test_gpipe_runs_all_forwards_first():
    order = gpipe(Costs.equal(TWO), num_microbatches=4)
    assert drawn(order, TWO) == cleandoc("""
        a | F0.0 F0.1 F0.2 F0.3 .    .    .    B0.0 -    B0.1 -    B0.2 -    B0.3 -
        b | .    F1.0 F1.1 F1.2 F1.3 B1.0 -    B1.1 -    B1.2 -    B1.3 -    .    .
    """)
    assert peak_live(order, num_chunks=2) == [4, 4]


def test_one_f_one_b_on_two_devices():
    order = one_f_one_b(Costs.equal(TWO), num_microbatches=4)
    assert drawn(order, TWO) == cleandoc("""
        a | F0.0 F0.1 .    .    B0.0 -    F0.2 B0.1 -    F0.3 B0.2 -    .    B0.3 -
        b | .    F1.0 B1.0 -    F1.1 B1.1 -    F1.2 B1.2 -    F1.3 B1.3 -    .    .
    """)
    assert peak_live(order, num_chunks=2) == [2, 1]


def test_one_f_one_b_on_three_devices():
    order = one_f_one_b(Costs.equal(THREE), num_microbatches=4)
    assert drawn(order, THREE) == cleandoc("""
        a | F0.0 F0.1 F0.2 .    .    .    .    B0.0 -    F0.3 B0.1 -    .    B0.2 -    .    B0.3 -
        b | .    F1.0 F1.1 .    .    B1.0 -    F1.2 B1.1 -    F1.3 B1.2 -    .    B1.3 -    .    .
        c | .    .    F2.0 B2.0 -    F2.1 B2.1 -    F2.2 B2.2 -    F2.3 B2.3 -    .    .    .    .
    """)
    assert peak_live(order, num_chunks=3) == [3, 2, 1]


def test_interleaving_two_chunks_a_device():
    order = interleaved(Costs.equal(TWO * 2), num_microbatches=2)
    assert drawn(order, TWO * 2) == cleandoc("""
        a | F0.0 F0.1 F2.0 F2.1 .    .    B2.0 -    .    B2.1 -    B0.0 -    B0.1 -
        b | .    F1.0 F1.1 F3.0 B3.0 -    F3.1 B3.1 -    B1.0 -    B1.1 -    .    .
    """)


def test_interleaving_with_an_odd_micro_batch():
    order = interleaved(Costs.equal(TWO * 2), num_microbatches=3)
    assert drawn(order, TWO * 2) == cleandoc("""
        a | F0.0 F0.1 F2.0 F2.1 F0.2 .    B2.0 -    .    B2.1 -    F2.2 B0.0 -    B0.1 -    .    B2.2 -    .    .    B0.2 -
        b | .    F1.0 F1.1 F3.0 B3.0 -    F3.1 B3.1 -    F1.2 B1.0 -    B1.1 -    F3.2 B3.2 -    .    .    B1.2 -    .    .
    """)  # noqa: E501


def test_greedy_with_a_slow_second_device_and_two_micro_batches_in_flight():
    forward_s = [1.0, 2.0, 1.0, 2.0]
    costs = Costs(device_of=TWO * 2, forward_s=forward_s, backward_s=[2 * seconds for seconds in forward_s])
    order = greedy(costs, num_microbatches=2, max_live=2)
    assert drawn(order, TWO * 2, forward_s) == cleandoc("""
        a | F0.0 F0.1 .    F2.0 .    F2.1 .    .    .    .    .    B2.0 -    .    .    .    .    B2.1 -    .    .    B0.0 -    .    .    B0.1 -
        b | .    F1.0 -    F1.1 -    F3.0 -    B3.0 -    -    -    F3.1 -    B3.1 -    -    -    B1.0 -    -    -    B1.1 -    -    -    .    .
    """)  # noqa: E501


@st.composite
def rigs(draw_value: st.DrawFn) -> tuple[int, Costs]:
    """A number of micro-batches, and chunks of any cost on any of up to four devices."""
    num_devices = draw_value(st.integers(1, 4))
    num_chunks = draw_value(st.integers(1, 8))
    seconds = st.floats(0.5, 3.0, allow_nan=False)
    device_of = draw_value(st.lists(st.integers(0, num_devices - 1), min_size=num_chunks, max_size=num_chunks))
    costs = Costs(
        device_of=device_of,
        forward_s=draw_value(st.lists(seconds, min_size=num_chunks, max_size=num_chunks)),
        backward_s=draw_value(st.lists(seconds, min_size=num_chunks, max_size=num_chunks)),
        transfer_s=draw_value(st.sampled_from([0.0, 0.1, 1.0])),
        tail_s=draw_value(st.sampled_from([0.0, 0.5])),
    )
    return draw_value(st.integers(1, 6)), costs


@settings(max_examples=60, deadline=None)
@given(rigs(), st.integers(1, 6))
def test_greedy_is_valid_within_its_limit_and_never_faster_than_the_busiest_device(rig, max_live):
    num_microbatches, costs = rig
    order = greedy(costs, num_microbatches=num_microbatches, max_live=max_live)
    validate(order, num_chunks=costs.num_chunks, num_microbatches=num_microbatches, max_live=max_live)
    timeline = simulate(order, costs=costs)
    assert timeline.step_s >= max(timeline.busy_s.values()) - 1e-9
    assert timeline.step_s <= simulate(turns(costs, num_microbatches=num_microbatches), costs=costs).step_s + 1e-9


@settings(max_examples=30, deadline=None)
@given(rigs())
def test_best_is_at_least_as_fast_as_every_generator(rig):
    num_microbatches, costs = rig
    chosen = validate(
        best(costs, num_microbatches=num_microbatches),
        num_chunks=costs.num_chunks,
        num_microbatches=num_microbatches,
    )
    for other in (turns(costs, num_microbatches=num_microbatches), greedy(costs, num_microbatches=num_microbatches)):
        assert simulate(chosen, costs=costs).step_s <= simulate(other, costs=costs).step_s + 1e-6


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 9))
def test_fixed_patterns_are_valid_for_any_size(num_devices, chunks_each, num_microbatches):
    device_of = list(range(num_devices)) * chunks_each
    for make in (gpipe, interleaved):
        order = make(Costs.equal(device_of), num_microbatches=num_microbatches)
        validate(order, num_chunks=len(device_of), num_microbatches=num_microbatches)


@pytest.mark.parametrize(("num_microbatches", "share"), [(2, 0.93), (4, 0.96), (8, 0.97)])
def test_ten_chunks_a_device_leave_little_idle(num_microbatches, share):
    """Forward 1, backward with recomputing 3, a boundary 2 % of a chunk's forward."""
    costs = Costs.equal(TWO * 10, backward_s=3, transfer_s=0.02, tail_s=0.2)
    timeline = simulate(best(costs, num_microbatches=num_microbatches), costs=costs)
    assert min(timeline.busy_share(device) for device in TWO) > share


def test_a_busy_link_carries_one_boundary_at_a_time():
    order = gpipe(Costs.equal(TWO), num_microbatches=2)
    costs = Costs.equal(TWO, backward_s=1, transfer_s={("a", "b"): 3.0, ("b", "a"): 0.0})
    starts = {span.op: span.start_s for span in simulate(order, costs=costs).spans}
    assert starts[Op("F", 1, 0)] == 4.0
    assert starts[Op("F", 1, 1)] == 7.0


def test_the_tail_delays_only_its_own_backward():
    order = one_f_one_b(Costs.equal(TWO), num_microbatches=2)
    timeline = simulate(order, costs=Costs.equal(TWO, tail_s=0.5))
    starts = {span.op: span.start_s for span in timeline.spans}
    assert starts[Op("B", 1, 0)] == 2.5
    assert starts[Op("F", 0, 1)] == 1.0


ORDER = interleaved(Costs.equal(TWO * 2), num_microbatches=3)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda ops: ops[:-1], "1 ops are missing"),
        (lambda ops: [*ops, ops[0]], "F0.0 is listed twice"),
        (lambda ops: [*ops, Op("F", 9, 0)], "F9.0 is no op of this step"),
        (lambda ops: [Op("F", 1, 0), *ops], "F1.0 runs before F0.0"),
        (lambda ops: [Op("B", 3, 0), *ops], "B3.0 runs before F3.0"),
    ],
)
def test_damaged_schedules_are_refused(damage, words):
    validate(ORDER, num_chunks=4, num_microbatches=3)
    with pytest.raises(ValueError, match=words):
        validate(damage(ORDER), num_chunks=4, num_microbatches=3)


def test_any_swap_of_dependent_ops_is_refused():
    generator = random.Random(0)
    refused = 0
    for _ in range(50):
        damaged = list(ORDER)
        first, second = sorted(generator.sample(range(len(damaged)), 2))
        damaged[first], damaged[second] = damaged[second], damaged[first]
        same_microbatch = damaged[first].microbatch == damaged[second].microbatch
        if same_microbatch:
            refused += 1
            with pytest.raises(ValueError, match="runs before"):
                validate(damaged, num_chunks=4, num_microbatches=3)
    assert refused > 5


def test_too_many_in_flight_are_refused():
    order = gpipe(Costs.equal(TWO), num_microbatches=3)
    with pytest.raises(ValueError, match="makes 3 live micro-batches, limit 2"):
        validate(order, num_chunks=2, num_microbatches=3, max_live=2)


def test_patterns_refuse_placements_they_are_not_made_for():
    with pytest.raises(ValueError, match="one chunk a device"):
        one_f_one_b(Costs.equal(TWO * 2), num_microbatches=2)
    with pytest.raises(ValueError, match="devices in turn"):
        interleaved(Costs.equal(["a", "a", "b", "b"]), num_microbatches=2)
    with pytest.raises(ValueError, match="2 devices, 3 forwards and 2 backwards"):
        Costs(device_of=TWO, forward_s=[1, 1, 1], backward_s=[2, 2])
    with pytest.raises(ValueError, match="at least one micro-batch"):
        greedy(Costs.equal(TWO), num_microbatches=2, max_live=0)
