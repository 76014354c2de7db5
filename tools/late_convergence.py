"""Compare training one step late (`pipeline.executor.late`) with synchronous training, on the pocket model.

    python tools/late_convergence.py --steps 300 --rates 0.003,0.01 --seeds 7

Trains the pocket demo's LoRA at a batch of one in three ways on the processor and prints the held-out loss before and
after: in step, one step late, and in step with two samples accumulated, which sees as many pictures in half as many
updates. Fixed noise levels and noise make the held-out losses comparable.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import torch

from diffusionforce.datasets import read_folder
from diffusionforce.engines.contract import Datasets
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.microbatches import DeviceWork, InTurn, Piece, PieceRunner
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.objective import HeldOutLoss
from diffusionforce.engines.pocket.precision import training_precision
from diffusionforce.engines.pocket.preparation import Materials, prepare
from diffusionforce.engines.pocket.stepper import Stepper, stream_seed
from diffusionforce.engines.pocket.weights import load_base
from diffusionforce.errors import DivergedError
from diffusionforce.job import Job, Profile, changed, dataset_folder, find_profile, read_profile
from diffusionforce.pipeline.executor.late import LateTrainer
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.placement import even_placement
from diffusionforce.pipeline.wrapping import Installable

CPU = torch.device("cpu")
WAYS = ("in step", "one step late", "two accumulated")


class LateRunner:
    """Runs each step's only piece one step late; the loss that a step reports is the step before's."""

    schedule = "late"

    def __init__(self, transformer: PocketTransformer) -> None:
        blocks = transformer.blocks
        self._executor = StepExecutor(blocks, even_placement(len(blocks), [CPU, CPU])).install()
        self._trainer = LateTrainer(self._executor, transformer)

    def installed(self) -> AbstractContextManager[object]:
        """The blocks can be called while this is entered."""
        return self._executor

    @property
    def wrappers(self) -> Sequence[Installable]:
        """No samples are made."""
        return ()

    def num_pieces(self, batch_size: int, *, num_batches: int) -> int:
        """A batch stays whole."""
        return 1

    def run(self, pieces: Sequence[Piece], *, in_turn: bool = False) -> list[float]:
        """Begin this step and finish the one before."""
        (piece,) = pieces
        loss = self._trainer.push(piece.loss)
        return [0.0 if loss is None else loss.item()]

    def work(self) -> dict[torch.device, DeviceWork]:
        """Nobody notes it."""
        return {}


def train(profile: Profile, materials: Materials, way: str) -> tuple[float, float]:
    """Train from the base model on.

    Args:
        profile: All settings, for a batch of one.
        materials: Pictures and captions.
        way: One of `WAYS`.

    Returns:
        The held-out loss before and after; infinite after a divergence.
    """
    transformer, seed = load_base().transformer, profile.training.seed
    lora = Lora.attach(
        transformer,
        rank=profile.lora.rank,
        alpha=profile.lora.alpha,
        dropout=profile.lora.dropout,
        seed=stream_seed(seed, "lora"),
    )
    placement = even_placement(len(transformer.blocks), [CPU])
    late = way == "one step late"
    runner: PieceRunner = LateRunner(transformer) if late else InTurn(transformer.blocks, placement, recompute=False)
    precision = training_precision(profile.model.precision, CPU)
    assert materials.held_out is not None, "the demo keeps pictures back"
    held_out = HeldOutLoss(materials.held_out, device=CPU, precision=precision)
    with runner.installed():
        stepper = Stepper(transformer, lora, materials, runner=runner, profile=profile, device=CPU, precision=precision)
        before = held_out.measure(transformer.eval())
        transformer.train()
        with contextlib.suppress(DivergedError):
            for step in range(1, profile.training.steps + 1):
                stepper.take_step(step)
            return before, held_out.measure(transformer.eval())
    return before, float("inf")


def main() -> int:
    """Train in all ways at all rates and print a table."""
    parser = argparse.ArgumentParser(description="Compare training one step late with synchronous training.")
    parser.add_argument("--steps", type=int, default=300, help="pictures seen")
    parser.add_argument("--rates", default="0.003,0.01", help="learning rates, comma separated")
    parser.add_argument("--seeds", default="7", help="seeds, comma separated")
    options = parser.parse_args()
    torch.set_num_threads(1)
    profile = read_profile(find_profile("pocket-demo"))
    held_out = profile.dataset.held_out_folder
    job = Job(
        profile_name="pocket-demo",
        profile=profile,
        dataset_dir=dataset_folder(profile.dataset.folder or "demo:loranne"),
        held_out_dir=dataset_folder(held_out) if held_out else None,
        run_dir=Path("unused"),
    )
    datasets = Datasets(
        training=read_folder(job.dataset_dir),
        held_out=read_folder(job.held_out_dir) if job.held_out_dir is not None else None,
    )
    materials = prepare(job, datasets, load_base().text_encoder, announce=lambda message: None)
    for rate in map(float, options.rates.split(",")):
        for seed in map(int, options.seeds.split(",")):
            for way in WAYS:
                accumulated = 2 if way == "two accumulated" else 1
                settings = {
                    "training.steps": options.steps // accumulated,
                    "training.batch_size": 1,
                    "training.gradient_accumulation": accumulated,
                    "training.learning_rate": rate,
                    "training.seed": seed,
                }
                start_s = time.perf_counter()
                before, after = train(changed(profile, settings, origin="this comparison"), materials, way)
                seconds = time.perf_counter() - start_s
                sys.stdout.write(
                    f"rate {rate:g} seed {seed} {way:16}: held-out {before:.4f} -> {after:.4f} "
                    f"({(1 - after / before) * 100:+.1f} %), {seconds:.0f} s\n"
                )
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
