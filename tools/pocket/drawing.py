"""Processes that draw pictures of the world all the time, into memory that the trainer reads.

One GPU learns from thousands of pictures a second, and one core draws two hundred; so every core draws, and the
trainer shows each picture several times. Pictures travel through rings in shared memory: a queue would pickle
gigabytes.

Legend: D drawers, S slots of a ring, K captions a picture, P pixels of a side.
"""

import multiprocessing
import os
import time
from random import Random

import numpy as np
from numpy.typing import NDArray

from diffusionforce.engines.pocket.config import MAX_WORDS
from diffusionforce.engines.pocket.words import codes_of
from diffusionforce.engines.pocket.world import caption_of, cast_figure, picture_of

CAPTIONS_PER_PICTURE = 3
_DRAWN, _TAKEN = 0, 1
_FULL_RING_PAUSE_S = 0.002


class DrawingRoom:
    """Drawers and their rings.

    Make and start it before anything touches CUDA: a process that is forked afterwards inherits a dead driver.

    Args:
        num_drawers: Processes that draw.
        num_slots: Pictures that each may be ahead of the trainer.
        size_px: Width and height of the pictures.
    """

    def __init__(self, num_drawers: int, *, num_slots: int, size_px: int) -> None:
        self._context = multiprocessing.get_context("fork")
        self.num_slots = num_slots
        pictures = self._shared("B", num_drawers * num_slots * size_px * size_px * 3)
        words = self._shared("h", num_drawers * num_slots * CAPTIONS_PER_PICTURE * MAX_WORDS * 2)
        counts = self._shared("q", num_drawers * 2)
        self.pictures = pictures.reshape(num_drawers, num_slots, size_px, size_px, 3)
        """(D, S, P, P, 3) uint8"""
        self.words = words.reshape(num_drawers, num_slots, CAPTIONS_PER_PICTURE, MAX_WORDS, 2)
        """(D, S, K, 24, 2) int16"""
        self._counts = counts.reshape(num_drawers, 2)
        self._processes = [
            self._context.Process(target=self._draw_forever, args=(drawer,), daemon=True)
            for drawer in range(num_drawers)
        ]

    def start(self) -> None:
        """Begin to draw."""
        for process in self._processes:
            process.start()

    def stop(self) -> None:
        """End all drawers."""
        for process in self._processes:
            process.terminate()
            process.join()

    @property
    def num_drawers(self) -> int:
        """Processes that draw."""
        return len(self._processes)

    def waiting(self, drawer: int, *, at_most: int) -> slice:
        """The slots of a ring that can be taken now, without wrapping around; perhaps none."""
        drawn, taken = (int(count) for count in self._counts[drawer])
        first = taken % self.num_slots
        return slice(first, first + min(at_most, drawn - taken, self.num_slots - first))

    def release(self, drawer: int, count: int) -> None:
        """Give slots back to the drawer, after their pictures have been copied."""
        self._counts[drawer, _TAKEN] += count

    def _draw_forever(self, drawer: int) -> None:
        os.nice(5)
        random = Random(1_000_003 * drawer + 17)
        counts, size_px = self._counts[drawer], self.pictures.shape[2]
        while True:
            while counts[_DRAWN] - counts[_TAKEN] >= self.num_slots:
                time.sleep(_FULL_RING_PAUSE_S)
            figure = cast_figure(random)
            slot = counts[_DRAWN] % self.num_slots
            self.pictures[drawer, slot] = np.asarray(picture_of(figure, random, size_px=size_px))
            for caption in range(CAPTIONS_PER_PICTURE):
                self.words[drawer, slot, caption] = codes_of(caption_of(figure, random))
            # Last: the slot counts as drawn only when it is whole.
            counts[_DRAWN] += 1

    def _shared(self, kind: str, count: int) -> NDArray[np.generic]:
        # Anonymous shared memory; /dev/shm is often too small for it.
        return np.frombuffer(self._context.RawArray(kind, count), dtype=kind)
