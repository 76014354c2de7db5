"""What an allocator holds beside tensors, counted by hand for small plans."""

import pytest

from diffusionforce.ugpum.allocator import (
    FIXED,
    GROWING,
    Slack,
    WorkspaceSizes,
    allocatable_bytes,
    held_bytes,
    most_under_way,
    sampling_workspaces_bytes,
    slack_here,
    training_workspaces_bytes,
)
from diffusionforce.ugpum.forecast import Layout, Op

MIB = 1 << 20
SIZES = WorkspaceSizes(product_bytes=32 * MIB, biased_bytes=5 * MIB)
SERIAL: tuple[Op, ...] = (("F", 0, 0), ("F", 1, 0), ("B", 1, 0), ("B", 0, 0), ("F", 0, 1), ("F", 1, 1))
OVERLAPPED: tuple[Op, ...] = (("F", 0, 0), ("F", 0, 1), ("F", 1, 0), ("F", 0, 2), ("F", 1, 1), ("F", 1, 2))


def two_cards(order: tuple[Op, ...]) -> Layout:
    return Layout(chunk_sizes=(2, 2), card_of_chunk=(0, 1), order=order)


def test_micro_batches_in_the_middle_of_their_forward_are_counted():
    assert most_under_way(SERIAL, num_chunks=2) == 1
    assert most_under_way(OVERLAPPED, num_chunks=2) == 2


def test_a_pipelined_card_has_a_workspace_for_every_thread_and_home_has_the_tails():
    home, other = training_workspaces_bytes(two_cards(OVERLAPPED), SIZES, is_pipelined=True)
    assert other == (2 + 1) * 32 * MIB, "two forwards under way, one thread for backwards"
    assert home == (2 + 1 + 2 + 1) * 32 * MIB, "and the same again for the tail's stream"


def test_biases_outside_the_blocks_cost_at_home_only():
    plain = training_workspaces_bytes(two_cards(OVERLAPPED), SIZES, is_pipelined=True)
    biased = training_workspaces_bytes(two_cards(OVERLAPPED), SIZES, is_pipelined=True, with_bias=True)
    assert biased[1] == plain[1]
    assert biased[0] - plain[0] == 2 * 2 * 5 * MIB, "prologue and tail of both threads"


def test_one_card_without_a_pipeline_has_two():
    layout = Layout(chunk_sizes=(4,), card_of_chunk=(0,), order=SERIAL[:0], num_cards=2)
    assert training_workspaces_bytes(layout, SIZES, is_pipelined=False) == (64 * MIB, 0)
    assert sampling_workspaces_bytes(layout, SIZES, with_bias=True) == (37 * MIB, 0)


@pytest.mark.parametrize("slack", [GROWING, FIXED])
@pytest.mark.parametrize("budget_gib", [4, 12, 16, 24, 80])
def test_what_may_be_handed_out_is_held_within_the_budget(budget_gib: int, slack: Slack):
    budget = budget_gib << 30
    allocatable = allocatable_bytes(budget, slack=slack)
    assert 0.97 * budget < held_bytes(allocatable, slack=slack) <= budget + 1
    assert held_bytes(allocatable + MIB, slack=slack) > budget


def test_less_may_be_handed_out_where_pieces_do_not_grow():
    assert allocatable_bytes(16 << 30, slack=FIXED) < allocatable_bytes(16 << 30, slack=GROWING)
    assert slack_here({"PYTORCH_ALLOC_CONF": "expandable_segments:True"}) is GROWING
    assert slack_here({}) is FIXED
