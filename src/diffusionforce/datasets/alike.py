"""Findings about pictures that are there twice, or look alike: which one is kept, and which are too many."""

from collections.abc import Callable, Iterator, Set
from pathlib import Path

import numpy as np

from diffusionforce.datasets.likeness import lookalikes, same_files
from diffusionforce.datasets.looking import Look
from diffusionforce.datasets.records import FileFinding
from diffusionforce.wire import readable


def judge_likeness(
    looks: list[tuple[Path, Look]], *, captioned_stems: Set[str], should_stop: Callable[[], bool]
) -> Iterator[FileFinding]:
    """Find pictures that are there twice, or look alike.

    Args:
        looks: The pictures.
        captioned_stems: Names, without their endings, of those with a caption; they are kept rather than others.
        should_stop: Asked now and then; when true, what was found until then is all.
    """
    seen = [(path, look) for path, look in looks if not look.problem and look.outline is not None]
    twice: set[int] = set()
    for group in same_files([look.digest for _, look in seen]):
        first = _best([seen[i] for i in group], captioned_stems)
        for i in group:
            if seen[i][0] != first:
                twice.add(i)
                yield _finding("duplicate", seen[i][0], first, "Same as")
    left = [pair for i, pair in enumerate(seen) if i not in twice]
    for indices in _groups_alike([look for _, look in left], should_stop):
        alike = [left[i] for i in indices]
        first = _best(alike, captioned_stems)
        for path, _ in alike:
            if path != first:
                yield _finding("near_duplicate", path, first, "Looks like")


def _finding(what: str, path: Path, first: Path, words: str) -> FileFinding:
    name = readable(first.name)
    return FileFinding(what=what, name=readable(path.name), note=f"{words} {name}", related=(name,))


def _best(pictures: list[tuple[Path, Look]], captioned_stems: Set[str]) -> Path:
    """Return the one to keep: with a caption, then the largest, then the first by name."""

    def rank(pair: tuple[Path, Look]) -> tuple[bool, int, str]:
        path, look = pair
        return path.stem not in captioned_stems, -look.width * look.height, path.name

    return min(pictures, key=rank)[0]


def _groups_alike(looks: list[Look], should_stop: Callable[[], bool]) -> Iterator[list[int]]:
    if len(looks) < 2:
        return
    outlines = np.stack([look.outline for look in looks if look.outline is not None])
    colours = np.stack([look.colours for look in looks if look.colours is not None])
    yield from lookalikes(outlines, colours, should_stop=should_stop)
