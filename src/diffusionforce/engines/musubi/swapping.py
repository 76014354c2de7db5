"""The engine's own block swap on one card: what its option has to be for as much to stay in RAM as was planned.

The option counts blocks where a model has one list of them. Where it has two, of blocks that differ in size, the engine
makes a number for each list out of the one that it is given, in two ways.
"""

from collections.abc import Callable, Collection, Sequence

from diffusionforce.engines.musubi.families import Family
from diffusionforce.engines.musubi.training import chain_of
from diffusionforce.errors import DeviceError

Split = Callable[[int, Sequence[int]], tuple[int, ...]]
"""From the option and the lengths of the lists to the blocks of each that are swapped."""


def blocks_to_swap(family: Family, *, paged: Collection[int]) -> int:
    """Return the smallest value of the option that keeps at least as much in RAM as a plan does.

    Args:
        family: The model.
        paged: Its blocks that the plan keeps in RAM, counted through all lists.

    Raises:
        DeviceError: The engine does not swap as much.
    """
    if not paged:
        return 0
    lists = chain_of(family)
    sizes = [blocks.million_parameters for blocks in lists for _ in range(blocks.count)]
    wanted = sum(sizes[index] for index in paged)
    for option in range(1, family.blocks_to_swap_max + 1):
        swapped = swapped_blocks(family, option)
        if sum(num * blocks.million_parameters for num, blocks in zip(swapped, lists, strict=True)) >= wanted - 1e-6:
            return option
    raise DeviceError(
        f"On one card {len(paged)} of {len(sizes)} blocks of {family.title} would have to stay in RAM, and the engine "
        "does not swap as many.",
        hint="Train it over two cards, in 8 bits, or on smaller pictures.",
    )


def swapped_blocks(family: Family, option: int) -> tuple[int, ...]:
    """Return how many blocks of each list the engine swaps for a value of its option."""
    counts = [blocks.count for blocks in chain_of(family)]
    split = _SPLITS.get(family.trainer.architecture)
    return split(option, counts) if split is not None else (option,)


def _in_halves(option: int, counts: Sequence[int]) -> tuple[int, ...]:
    doubles = option // 2
    return doubles, (option - doubles) * 2 + 1


def _in_proportion(option: int, counts: Sequence[int]) -> tuple[int, ...]:
    num_doubles, num_singles = counts
    ratio = num_singles / num_doubles
    doubles = round(option / (1.0 + ratio / 2.0))
    singles = round(doubles * ratio)
    if num_doubles * 2 < num_singles:
        while doubles >= 1 and doubles > num_doubles - 2:
            doubles, singles = doubles - 1, singles + 2
    else:
        while singles >= 2 and singles > num_singles - 2:
            doubles, singles = doubles + 1, singles - 2
    least = (0, 1) if num_singles >= num_doubles else (1, 0)
    return (doubles, singles) if doubles or singles else least


_SPLITS: dict[str, Split] = {
    "flux_2": _in_proportion,
    "flux_kontext": _in_halves,
    "framepack": _in_halves,
    "hunyuan_video": _in_halves,
}
"""By architecture; one that is not here has a single list of blocks."""
