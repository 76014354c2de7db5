"""What the user gives of each card."""

import pytest

from diffusionforce.errors import DeviceError
from diffusionforce.rig import GIB
from diffusionforce.ugpum.allowance import allowed
from diffusionforce.ugpum.budget import Budget


def budget(index: int, *, free_gib: float, reserve_gib: float = 1.0) -> Budget:
    return Budget(
        device=f"cuda:{index}",
        label=f"GPU {index}",
        total_bytes=24 * GIB,
        free_bytes=int(free_gib * GIB),
        reserve_bytes=int(reserve_gib * GIB),
    )


CARDS = [budget(0, free_gib=22), budget(1, free_gib=10, reserve_gib=2)]


@pytest.mark.parametrize(
    ("reserve_gb", "budget_gb", "usable_gib"),
    [
        ((), (), [21, 8]),
        ((0.5,), (), [21.5, 9.5]),
        ((4, 0), (), [18, 10]),
        ((), (12,), [12, 8]),  # A limit is no promise: the second card has no 12 GB to give.
        ((), (30, 3), [21, 3]),
        ((3,), (20, 5), [19, 5]),
        ((30,), (), [0, 0]),
        ((), (0,), [0, 0]),
    ],
)
def test_the_user_has_the_last_word_within_what_is_free(reserve_gb, budget_gb, usable_gib):
    found = allowed(CARDS, reserve_gb=reserve_gb, budget_gb=budget_gb)
    assert [one.usable_bytes / GIB for one in found] == usable_gib


def test_as_many_numbers_as_cards():
    with pytest.raises(DeviceError, match=r"memory.budget_gb has 3 numbers, but the training runs on 2 cards"):
        allowed(CARDS, budget_gb=(1, 2, 3))
    with pytest.raises(DeviceError, match=r"memory.reserve_gb has 2 numbers, but the training runs on 1 card\."):
        allowed(CARDS[:1], reserve_gb=(1, 2))
