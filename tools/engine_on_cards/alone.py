"""`python -m tools.engine_on_cards.alone ROW tiny|full BUDGET_BYTES RESULT SCRIPT OPTIONS...`: the engine by itself.

Its own program runs as it is. What is added is a limit to what the card's allocator hands out, and a clock that looks
at the progress bar: the time of a step is that from one of its ticks to the next, between which the program waits for
the card.
"""

import importlib
import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import torch

from diffusionforce.engines.musubi import open_engine
from tools.engine_on_cards.models import model_of, shrink
from tools.engine_on_cards.processor import let_engine_import
from tools.engine_on_cards.rows import ROWS


class Clock:
    """Notes when each step ended, its loss, and the memory that was held."""

    def __init__(self) -> None:
        self.ticks_s: list[float] = []
        self.losses: list[float] = []
        self.peaks_bytes: list[int] = []

    def watch(self) -> None:
        """Look at the trainer's progress bar and at the losses that it notes."""
        base: Any = importlib.import_module("musubi_tuner.training.trainer_base")
        usual_bar, usual_recorder, clock = base.tqdm, base.train_utils.LossRecorder, self

        class Bar(usual_bar):
            def update(self, n: float | None = 1) -> Any:
                if self.desc == "steps":
                    clock.tick()
                return super().update(n)

        class Recorder(usual_recorder):
            def add(self, *, epoch: int, step: int, loss: float) -> None:
                clock.losses.append(loss)
                super().add(epoch=epoch, step=step, loss=loss)

        base.tqdm, base.train_utils.LossRecorder = Bar, Recorder

    def tick(self) -> None:
        """A step has ended; the first one's peak is that of a beginning and does not count."""
        self.ticks_s.append(time.perf_counter())
        if torch.cuda.is_available():
            self.peaks_bytes.append(torch.cuda.max_memory_reserved())
            torch.cuda.reset_peak_memory_stats()

    def steps_s(self) -> list[float]:
        """The seconds of the second step and of all that follow."""
        return [after - before for before, after in zip(self.ticks_s, self.ticks_s[1:], strict=False)]


def main(name: str, size: str, budget_bytes: int, result: Path, argv: list[str]) -> None:
    """Run the program, and write down what was noted, however it ended."""
    source = open_engine()
    row = ROWS[name]
    if size == "tiny":
        torch.set_num_threads(1)
        let_engine_import()
        shrink(model_of(row.family), num_blocks=row.blocks)
    if budget_bytes and torch.cuda.is_available():
        whole_bytes = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, budget_bytes / whole_bytes), 0)
    clock = Clock()
    clock.watch()
    program, *options = argv
    sys.argv = [program, *options]
    ended = "failed"
    try:
        runpy.run_path(str(source.parent / f"{program}.py"), run_name="__main__")
        ended = "done"
    except torch.OutOfMemoryError as error:
        ended = "out of memory"
        sys.stderr.write(f"{error}\n")
    finally:
        noted = {"ended": ended, "steps_s": clock.steps_s(), "losses": clock.losses, "peaks_bytes": clock.peaks_bytes}
        result.write_text(json.dumps(noted), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
