"""The order in which pictures are dealt."""

from collections import Counter

from diffusionforce.engines.pocket.batches import BatchOrder


def dealt(order: BatchOrder, count: int, size: int) -> list[int]:
    return [index for _ in range(count) for index in order.next_batch(size)]


def test_every_picture_comes_once_a_round() -> None:
    order = BatchOrder(5, num_regularisation=0, regularisation_share=0.5, seed=1)
    indices = dealt(order, 5, 2)
    assert sorted(indices[:5]) == sorted(indices[5:]) == [0, 1, 2, 3, 4]


def test_regularisation_comes_at_an_even_pace() -> None:
    order = BatchOrder(4, num_regularisation=3, regularisation_share=0.25, seed=1)
    indices = dealt(order, 24, 2)
    assert [index >= 4 for index in indices] == [False, False, False, True] * 12
    assert Counter(index for index in indices if index >= 4) == {4: 4, 5: 4, 6: 4}
    assert Counter(index for index in indices if index < 4) == {0: 9, 1: 9, 2: 9, 3: 9}


def test_the_seed_decides() -> None:
    first, again, other = (
        dealt(BatchOrder(20, num_regularisation=0, regularisation_share=0, seed=seed), 10, 2) for seed in (1, 1, 2)
    )
    assert first == again != other
