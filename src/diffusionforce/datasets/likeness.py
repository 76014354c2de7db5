"""Which pictures are the same, or look alike.

Looking alike is told by two things at once: where brightness rises from left to right, which survives another size or
compression, and the rough colours, without which every plain surface would be like every other.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

# Of 256 bits; another compression of the same picture differs in about 4, another picture in about 100.
MAX_OUTLINE_BITS = 22
# Mean difference of 8 x 8 colours, of 255.
MAX_COLOUR_DIFFERENCE = 7.0
_ROWS_AT_ONCE = 512


def same_files(digests: Sequence[bytes]) -> list[list[int]]:
    """Return groups of indices with the same, non-empty digest; each group in order, two or more in it."""
    found: defaultdict[bytes, list[int]] = defaultdict(list)
    for index, digest in enumerate(digests):
        if digest:
            found[digest].append(index)
    return [group for group in found.values() if len(group) > 1]


def lookalikes(
    outlines: NDArray[np.bool_], colours: NDArray[np.uint8], *, should_stop: Callable[[], bool] = lambda: False
) -> list[list[int]]:
    """Return groups of indices of pictures that look alike; each group in order, two or more in it.

    Args:
        outlines: (P, 256) bool, one row a picture.
        colours: (P, 192) uint8, one row a picture.
        should_stop: Asked now and then; when true, what was found until then is returned.
    """
    # As signs, a product counts equal bits less different ones: one matrix product for all pairs of a portion.
    signs = outlines.astype(np.float32) * 2 - 1
    num_bits = outlines.shape[1] if outlines.ndim == 2 else 0
    parents = list(range(len(signs)))
    for start in range(0, len(signs), _ROWS_AT_ONCE):
        if should_stop():
            break
        portion = signs[start : start + _ROWS_AT_ONCE]
        alike = portion @ signs[start:].T >= num_bits - 2 * MAX_OUTLINE_BITS
        rows, columns = np.nonzero(np.triu(alike, k=1))
        first, second = rows + start, columns + start
        # In portions as well: a set of plain pictures gives millions of pairs.
        for at in range(0, len(first), 200_000):
            a, b = first[at : at + 200_000], second[at : at + 200_000]
            is_close = np.abs(colours[a].astype(np.int16) - colours[b]).mean(axis=1) <= MAX_COLOUR_DIFFERENCE
            for one, other in zip(a[is_close], b[is_close], strict=True):
                _join(parents, int(one), int(other))
    return _groups(parents)


def _join(parents: list[int], one: int, other: int) -> None:
    a, b = _root(parents, one), _root(parents, other)
    parents[max(a, b)] = min(a, b)


def _root(parents: list[int], index: int) -> int:
    while parents[index] != index:
        parents[index] = parents[parents[index]]
        index = parents[index]
    return index


def _groups(parents: list[int]) -> list[list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for index in range(len(parents)):
        found[_root(parents, index)].append(index)
    return [group for group in found.values() if len(group) > 1]
