"""Is one card with our pager as fast as the engine's own block swap? `python tools/engine_swap.py` measures it.

The engine's real Wan class with random weights trains a LoRA on one card with a budget, the same batches in every way:

* `engine:h2d:2`: the engine's swap with `--block_swap_h2d_only --use_pinned_memory_for_block_swap` and a ring of two,
  which is the fastest that its documentation names; `engine:exchange`: its classic swap, with pinned memory;
* `pager:2`, `pager:3`: our pager with two or three slots;
* `resident`: nothing swapped and no budget, for comparison.

Each way swaps as few blocks as fit the budget: it begins with what arithmetic says and goes up or down until one fewer
would run out of memory. On a processor there is no budget, and the engine's swap does not work; there it shows with
small sizes that the rest does.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from diffusionforce.engines.musubi.access import open_engine
from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.errors import UserError
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from wan_training import WanTraining, Work, move_outside_blocks

GIB = 2**30
WAYS = ("resident", "engine:h2d:2", "engine:exchange", "pager:2", "pager:3")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one way came to. Sizes in bytes."""

    way: str
    num_swapped: int
    step_s: float
    all_steps_s: tuple[float, ...]
    allocated_bytes: int
    reserved_bytes: int
    late_loads: int | None
    """Loads of the pager that began too late; None for the engine, which does not count them."""
    losses: tuple[float, ...]
    """Of every batch of the first two steps."""


class Comparison:
    """Measures ways one after the other in this process.

    Args:
        training: What is trained.
        source: The engine's folder on the import path.
        budget_bytes: What the card may use; 0 does not limit it.
        num_steps: Steps to time, after two that are not.
        pinned_bytes: The most RAM that the pager may lock.
    """

    def __init__(
        self, training: WanTraining, *, source: Path, budget_bytes: int, num_steps: int, pinned_bytes: int
    ) -> None:
        self._training = training
        self._device = training.work.device
        self._offloading: Any = import_light("musubi_tuner.modules.custom_offloading_utils", source=source)
        self._budget_bytes = budget_bytes
        self._num_steps = num_steps
        self._pinned_bytes = pinned_bytes

    def smallest(self, way: str) -> Measured | None:
        """Measure a way with as few swapped blocks as fit."""
        if way == "resident":
            return self.measure(way, 0)
        num_swapped = self._first_guess(way)
        best = self.measure(way, num_swapped)
        if not self._budget_bytes:
            return best
        while best is None:
            num_swapped += 1
            if num_swapped >= self._training.work.num_blocks:
                raise SystemExit(f"{way} does not fit the budget with {num_swapped - 1} blocks swapped")
            best = self.measure(way, num_swapped)
            if best is not None:
                return best
        while best.num_swapped > 1:
            # What the allocator does not hold at all fits for certain; one block more may fit, too.
            spare = (self._budget_bytes - best.reserved_bytes) // self._training.block_bytes
            fewer = self.measure(way, max(best.num_swapped - max(spare, 1), 1))
            if fewer is None:
                return best
            best = fewer
        return best

    def measure(self, way: str, num_swapped: int) -> Measured | None:
        """Measure a way with a number of swapped blocks; None if the memory does not suffice."""
        say(f"{way} with {num_swapped} blocks swapped ...")
        try:
            with self._arranged(way, num_swapped) as late_loads:
                return self._timed(way, num_swapped, late_loads)
        except torch.OutOfMemoryError:
            say("  out of memory")
            return None
        finally:
            self._training.release()

    @contextmanager
    def _arranged(self, way: str, num_swapped: int) -> Iterator[Callable[[], int | None]]:
        self._training.make_model()
        with self._budget() if num_swapped else nullcontext():
            if way.startswith("engine"):
                self._arrange_engine(way, num_swapped)
                yield lambda: None
            elif way == "resident":
                self._training.attach_lora()
                self._training.model.to(self._device)
                self._training.prepare()
                self._training.prepare_lora()
                yield lambda: None
            else:
                pager = self._arrange_pager(int(way.partition(":")[2]), num_swapped)
                try:
                    yield lambda: pager.counts[0].late_loads
                finally:
                    pager.close()

    def _arrange_engine(self, way: str, num_swapped: int) -> None:
        """Do in order what the engine's trainer does with `--blocks_to_swap`."""
        training, device = self._training, self._device
        ring = int(way.split(":")[2]) if way.startswith("engine:h2d") else 2
        config = self._offloading.BlockSwapConfig(
            device=device,
            supports_backward=True,
            use_pinned_memory=device.type == "cuda",
            h2d_only=way.startswith("engine:h2d"),
            ring_size=ring,
        )
        training.model.enable_block_swap(num_swapped, config)
        training.model.move_to_device_except_swap_blocks(device)
        training.attach_lora()
        training.prepare()
        training.model.move_to_device_except_swap_blocks(device)
        training.model.prepare_block_swap_before_forward()
        training.prepare_lora()

    def _arrange_pager(self, num_slots: int, num_swapped: int) -> Pager:
        training, device = self._training, self._device
        num_blocks = training.work.num_blocks
        paged = frozenset((2 * index + 1) * num_blocks // (2 * num_swapped) for index in range(num_swapped))
        blocks = tuple(range(num_blocks))
        training.attach_lora()
        move_outside_blocks(training.model, device)
        plan = CardPaging(device=device, blocks=blocks, paged=paged, num_slots=num_slots)
        pager = Pager(training.model.blocks, [plan], pinned_limit_bytes=self._pinned_bytes)
        pager.follow([[*blocks, *reversed(blocks)] * training.work.num_microbatches])
        training.prepare()
        training.prepare_lora()
        return pager

    def _timed(self, way: str, num_swapped: int, late_loads: Callable[[], int | None]) -> Measured:
        losses = [*self._training.step(), *self._training.step()]
        on_card = self._device.type == "cuda"
        if on_card:
            torch.cuda.reset_peak_memory_stats(self._device)
        late_before = late_loads() or 0
        seconds = []
        for _ in range(self._num_steps):
            start_s = time.perf_counter()
            self._training.step()
            if on_card:
                torch.cuda.synchronize(self._device)
            seconds.append(time.perf_counter() - start_s)
        late = late_loads()
        measured = Measured(
            way=way,
            num_swapped=num_swapped,
            step_s=statistics.median(seconds),
            all_steps_s=tuple(seconds),
            allocated_bytes=torch.cuda.max_memory_allocated(self._device) if on_card else 0,
            reserved_bytes=torch.cuda.max_memory_reserved(self._device) if on_card else 0,
            late_loads=None if late is None else late - late_before,
            losses=tuple(losses),
        )
        say(f"  {measured.step_s:.3f} s a step, {measured.reserved_bytes / GIB:.2f} GiB reserved")
        return measured

    def _first_guess(self, way: str) -> int:
        """Return about how many blocks have to be swapped."""
        work, block_bytes = self._training.work, self._training.block_bytes
        if not self._budget_bytes:
            return max(work.num_blocks // 2, 1)
        in_slots = int(way.rpartition(":")[2]) if way[-1].isdigit() else 0
        room = self._budget_bytes - self._training.estimated_rest_bytes()
        resident = room // block_bytes - in_slots
        return min(max(work.num_blocks - resident, in_slots + 1, 1), work.num_blocks - 1)

    @contextmanager
    def _budget(self) -> Iterator[None]:
        if not self._budget_bytes or self._device.type != "cuda":
            yield
            return
        gc.collect()
        torch.cuda.empty_cache()
        whole = torch.cuda.get_device_properties(self._device).total_memory
        torch.cuda.set_per_process_memory_fraction(self._budget_bytes / whole, self._device)
        try:
            yield
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0, self._device)


def say(text: str) -> None:
    """Write one line for the person who watches."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def report(results: list[Measured]) -> Iterator[str]:
    """Say what was found, a line at a time."""
    yield f"{'way':<16} {'swapped':>7} {'s/step':>8} {'allocated':>10} {'reserved':>10} {'late loads':>10}"
    for one in results:
        late = "-" if one.late_loads is None else one.late_loads
        yield (
            f"{one.way:<16} {one.num_swapped:>7} {one.step_s:>8.3f} {one.allocated_bytes / GIB:>6.2f} GiB "
            f"{one.reserved_bytes / GIB:>6.2f} GiB {late:>10}"
        )
    furthest = max(abs(a - b) for one in results for a, b in zip(one.losses, results[0].losses, strict=True))
    yield f"Losses of the first two steps differ by {furthest:.2g} at most."
    engine = min((one.step_s for one in results if one.way.startswith("engine")), default=None)
    ours = min((one.step_s for one in results if one.way.startswith("pager")), default=None)
    if engine and ours:
        yield f"The pager takes {ours / engine:.3f} of the time of the engine's fastest swap."


def main() -> int:
    """Measure, print a table, and write JSON if asked."""
    options = _parser().parse_args()
    try:
        source = open_engine()
    except UserError as error:
        say(str(error))
        return 1
    device = torch.device(options.device or ("cuda:0" if torch.cuda.is_available() else "cpu"))
    if device.type == "cuda":
        torch.cuda.set_device(device)
    work = Work(
        device=device,
        num_blocks=options.blocks,
        width=options.width,
        feed_forward_width=round(options.width * 2.7),
        num_heads=options.width // 128 or 1,
        latent_size=options.latent,
        batch_size=options.batch,
        num_microbatches=options.microbatches,
        rank=options.rank,
    )
    say("Making random weights ...")
    comparison = Comparison(
        WanTraining(work, source=source),
        source=source,
        budget_bytes=int(options.budget_gib * GIB) if device.type == "cuda" else 0,
        num_steps=options.steps,
        pinned_bytes=int(options.pinned_gib * GIB),
    )
    ways = [way for way in options.ways.split(",") if device.type == "cuda" or not way.startswith("engine")]
    results = [
        found
        for way in ways
        if (
            found := comparison.measure(way, options.swapped)
            if options.swapped and way != "resident"
            else comparison.smallest(way)
        )
    ]
    for line in report(results):
        sys.stdout.write(line + "\n")
    if options.json:
        record = {"work": {**asdict(work), "device": str(device)}, "results": [asdict(one) for one in results]}
        Path(options.json).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compare the pager with the engine's own block swap.")
    parser.add_argument("--ways", default=",".join(WAYS), help="which to measure, in order")
    parser.add_argument("--budget-gib", type=float, default=16.0, help="what the card may use")
    parser.add_argument("--swapped", type=int, default=0, help="swap so many blocks instead of as few as fit")
    parser.add_argument("--batch", type=int, default=1, help="pictures of one forward")
    parser.add_argument("--microbatches", type=int, default=4, help="forwards of one step")
    parser.add_argument("--steps", type=int, default=5, help="steps to time")
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--width", type=int, default=5120)
    parser.add_argument("--latent", type=int, default=128, help="height and width of the latent; 128 is 4096 tokens")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--pinned-gib", type=float, default=48.0, help="the most RAM that the pager may lock")
    parser.add_argument("--device", default="")
    parser.add_argument("--json", metavar="FILE", default="")
    return parser


if __name__ == "__main__":
    sys.exit(main())
