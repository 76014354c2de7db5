"""Room for a sample pass: blocks step aside to RAM while it runs, and come back as if nothing had been.

A training that fills its cards has no room for a sample, whose picture or video may be larger than what is trained on.
To keep that room free at all times would make every step slower. So between two steps as many blocks as needed go to
RAM and are paged in for their turns, the pass runs, and the blocks return to their cards: the same parameters, the
same bits, in the same order in memory, and the random numbers where they were. The losses that follow are those of a
run without samples, to the last bit.

A pass that runs out of memory all the same is given up. The training is worth more than a picture: whatever the pass
had made is let go, the blocks come back, and the training goes on. For the next pass more blocks step aside, if there
are more and RAM has a place for them.
"""

import contextlib
import gc
import random
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import psutil
import torch

from diffusionforce.pipeline.pager.pager import Pager
from diffusionforce.pipeline.pager.slots import spread
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.recompute.random_numbers import RandomNumbers
from diffusionforce.pipeline.shortage import Shortage, shortage_of
from diffusionforce.pipeline.wrapping import Installable


class SampleRoom:
    """Makes room on the cards for sample passes between training steps.

    Args:
        pager: Of the whole training; where training pages nothing, one without paged blocks.
        num_aside: For each of the pager's cards the resident blocks that step aside. All 0: nothing moves.
        wrappers: What wraps the forwards of the blocks around the pager, innermost first. They are installed when a
            pass begins, and again when it has ended.
        graphs: Captured graphs of the blocks. They hold the addresses of weights that will move, and memory; they are
            released, and captured again when the training goes on.
    """

    def __init__(
        self,
        pager: Pager,
        *,
        num_aside: Sequence[int],
        wrappers: Sequence[Installable] = (),
        graphs: BlockGraphs | None = None,
    ) -> None:
        self._pager = pager
        self._wrappers = list(wrappers)
        self._graphs = graphs
        self._devices = list(dict.fromkeys(plan.device for plan in pager.plans))
        self._resident = [[block for block in plan.blocks if block not in plan.paged] for plan in pager.plans]
        self.aside = tuple(spread(blocks, num) for blocks, num in zip(self._resident, num_aside, strict=True))
        """For each card the blocks that step aside in the next pass."""

    @property
    def locked_bytes(self) -> int:
        """RAM that is locked for blocks, in use or kept for the next pass."""
        return self._pager.pinned.locked_bytes

    def run(self, make: Callable[[], object]) -> Shortage | None:
        """Make samples, with the blocks aside while it lasts.

        Args:
            make: Runs the pass, without gradients.

        Returns:
            None if all went well; what was lacking if the pass ran out of memory. The training can go on in any case.

        Raises:
            DeviceError: More blocks are to step aside than a card has. Whatever else `make` raises, memory apart,
                is raised when the blocks are back.
        """
        shortage = None
        with same_random_numbers(self._devices):
            try:
                self._clear()
                make()
            except BaseException as error:
                # The frames of what failed hold its tensors, and the blocks need their place.
                shortage = shortage_of(error)
                drop_locals(error)
                if shortage is None:
                    raise
            finally:
                self._restore()
        if shortage is not None:
            self._grow(shortage)
        return shortage

    def _grow(self, shortage: Shortage) -> None:
        """Let more blocks step aside next time: what was lacking, twice over, because the first lack hides others."""
        room_bytes = psutil.virtual_memory().available // 2
        grown: list[frozenset[int]] = []
        for plan, resident, aside in zip(self._pager.plans, self._resident, self.aside, strict=True):
            block_bytes = max((self._pager.paged_bytes(block) for block in resident), default=0)
            num = len(aside)
            if block_bytes and shortage.device in (plan.device, None):
                # The first to go make place for the slots.
                num += 2 * -(-(shortage.wanted_bytes or 1) // block_bytes) + (
                    0 if aside or plan.paged else plan.num_slots
                )
            num = min(num, len(resident))
            added_bytes = (num - len(aside)) * block_bytes
            if added_bytes > room_bytes:
                num, added_bytes = len(aside), 0
            room_bytes -= added_bytes
            grown.append(spread(resident, num))
        self.aside = tuple(grown)

    def _clear(self) -> None:
        self._settle()
        if any(self.aside) and self._graphs is not None:
            self._graphs.release()
            gc.collect()
            self._clear_workspaces()
        with self._unwrapped():
            self._pager.step_aside(self.aside)
        self._settle()

    def _restore(self) -> None:
        gc.collect()
        self._settle()
        with self._unwrapped():
            self._pager.come_back()
        self._settle()

    @contextlib.contextmanager
    def _unwrapped(self) -> Iterator[None]:
        """Without what wraps the forwards while the pager, whose wrapping must lie innermost, wraps more of them."""
        wrappers = self._wrappers if any(self.aside) else []
        for wrapper in reversed(wrappers):
            wrapper.remove()
        try:
            # What is made in inference mode can never be trained with.
            with torch.inference_mode(False), torch.no_grad():
                yield
        finally:
            for wrapper in wrappers:
                wrapper.install()

    def _clear_workspaces(self) -> None:
        """Let cuBLAS's workspaces go: those made during a capture keep the memory of its graphs from going."""
        if any(device.type == "cuda" for device in self._devices):
            # Private, but PyTorch's own way: its graph trees do the same before they let memory go.
            torch._C._cuda_clearCublasWorkspaces()  # pyright: ignore

    def _settle(self) -> None:
        """Wait for the cards, and hand memory that nobody uses back to them: the allocator keeps it in sizes."""
        for device in self._devices:
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        if any(device.type == "cuda" for device in self._devices):
            torch.cuda.empty_cache()


@contextlib.contextmanager
def same_random_numbers(devices: Iterable[torch.device]) -> Iterator[None]:
    """Leave the random numbers of the host (PyTorch, NumPy, Python) and of cards as they were on entry."""
    numbers = RandomNumbers(devices)
    states, of_numpy, of_python = numbers.read(), np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        numbers.write(states)
        np.random.set_state(of_numpy)
        random.setstate(of_python)


def drop_locals(error: BaseException) -> None:
    """Empty the frames that an exception keeps, and those of what it was raised from; the line numbers stay."""
    links, seen = [error], set[int]()
    while links:
        link = links.pop()
        seen.add(id(link))
        if link.__traceback__ is not None:
            traceback.clear_frames(link.__traceback__)
        links += [one for one in (link.__cause__, link.__context__) if one is not None and id(one) not in seen]
