"""The pictures that the trainer draws its batches from: all on the device, renewed while training runs."""

import threading
import time

import torch
from drawing import CAPTIONS_PER_PICTURE, DrawingRoom
from torch import Tensor

from diffusionforce.engines.pocket.config import MAX_WORDS

_PORTION = 64
"""Pictures copied at once."""
_IDLE_PAUSE_S = 0.005


class PicturePool:
    """A ring of pictures on the device, filled from a drawing room by a thread.

    Args:
        room: Where pictures come from.
        capacity: Pictures kept; the oldest make room for new ones.
        device: Where they are kept.
    """

    def __init__(self, room: DrawingRoom, *, capacity: int, device: torch.device) -> None:
        size_px = room.pictures.shape[2]
        self._room = room
        self._device = device
        self._pixels = torch.empty(capacity, size_px, size_px, 3, dtype=torch.uint8, device=device)
        self._words = torch.empty(capacity, CAPTIONS_PER_PICTURE, MAX_WORDS, 2, dtype=torch.int16, device=device)
        self._stream = torch.cuda.Stream() if device.type == "cuda" else None
        self._running = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="picture pool", daemon=True)
        self.num_received = 0

    def __len__(self) -> int:
        return min(self.num_received, len(self._pixels))

    def start(self, *, first: int) -> None:
        """Begin to fill, and wait until some pictures are there."""
        self._running.set()
        self._thread.start()
        while len(self) < min(first, len(self._pixels)):
            time.sleep(_IDLE_PAUSE_S)

    def pause(self) -> None:
        """Stop filling for a while, to leave the cores to a compiler."""
        self._running.clear()

    def resume(self) -> None:
        """Fill again."""
        self._running.set()

    def stop(self) -> None:
        """Stop filling for good."""
        self._stopped.set()
        self._running.set()
        self._thread.join()

    def batch(self, size: int, *, share_without_caption: float) -> tuple[Tensor, Tensor]:
        """Choose pictures at random, each with one of its captions.

        Returns:
            (size, 3, P, P) float32 from -1 to 1, and (size, 24, 2) int64 word codes.
        """
        which = torch.randint(0, len(self), (size,), device=self._device)
        caption = torch.randint(0, CAPTIONS_PER_PICTURE, (size,), device=self._device)
        words = self._words[which, caption].long()
        words[torch.rand(size, device=self._device) < share_without_caption] = 0
        return self._pixels[which].permute(0, 3, 1, 2).float().div_(127.5).sub_(1).contiguous(), words

    def _fill(self) -> None:
        while not self._stopped.is_set():
            self._running.wait()
            if not sum(self._take(drawer) for drawer in range(self._room.num_drawers)):
                time.sleep(_IDLE_PAUSE_S)

    def _take(self, drawer: int) -> int:
        """Copy one portion from a drawer's ring; gives its size."""
        slots = self._room.waiting(drawer, at_most=_PORTION)
        position = self.num_received % len(self._pixels)
        count = min(slots.stop - slots.start, len(self._pixels) - position)
        if count == 0:
            return 0
        source, target = slice(slots.start, slots.start + count), slice(position, position + count)
        # A stream of its own: on the default one the copy would wait behind the training step.
        with torch.cuda.stream(self._stream):
            self._pixels[target].copy_(torch.from_numpy(self._room.pictures[drawer, source]))
            self._words[target].copy_(torch.from_numpy(self._room.words[drawer, source]))
            if self._stream is not None:
                self._stream.synchronize()
        self._room.release(drawer, count)
        self.num_received += count
        return count
