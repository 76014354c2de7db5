"""Which LoRA files of the engine's runs stay."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tests.support.jobs import small_job
from tests.support.pocket_runs import FakeControls

from diffusionforce.engines.musubi.telling import Teller
from diffusionforce.errors import DivergedError, WeightsError
from diffusionforce.job.profile import CheckpointSettings
from diffusionforce.pipeline.placement import even_placement
from diffusionforce.runs import RunFolder


def teller(folder: RunFolder, **settings: int) -> Teller:
    return Teller(
        even_placement(2, [torch.device("cpu")]),
        output=folder,
        report=lambda message: None,
        controls=FakeControls(),
        plan=None,
        sample_steps=frozenset(),
        num_steps=60,
        write_prompts=lambda prompts: Path(),
        checkpoints=CheckpointSettings(**settings),
    )


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    job = small_job(tmp_path)
    return RunFolder.create(job.run_dir, job)


def saved(folder: RunFolder, step: int, name: str = "") -> Path:
    path = folder.checkpoints_dir / (name or f"fox-step{step:08d}.safetensors")
    save_file({"x": torch.zeros(8)}, path)
    return path


def test_the_newest_and_some_in_between_stay(folder: RunFolder) -> None:
    told = teller(folder, every_steps=10, keep=2, keep_every_steps=20)
    for step in range(10, 60, 10):
        told.on_checkpoint(step, path=saved(folder, step))
    told.on_checkpoint(60, path=saved(folder, 60, "fox.safetensors"))
    kept = {path.name for path in folder.checkpoints_dir.iterdir()}
    assert kept == {"fox.safetensors", *(f"fox-step{step:08d}.safetensors" for step in (20, 40, 50))}


def test_nothing_goes_for_a_file_that_is_cut_short(folder: RunFolder) -> None:
    told = teller(folder, every_steps=10, keep=1)
    first, second = saved(folder, 10), saved(folder, 20)
    told.on_checkpoint(10, path=first)
    second.write_bytes(second.read_bytes()[:-8])
    with pytest.raises(WeightsError):
        told.on_checkpoint(20, path=second)
    assert first.is_file()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_lora_of_numbers_that_are_none_ends_the_run_and_those_before_stay(folder: RunFolder, number: float) -> None:
    """Its last step was still measured well: only the gradients were no numbers."""
    told = teller(folder, every_steps=10, keep=1)
    first, second = saved(folder, 10), saved(folder, 20)
    told.on_checkpoint(10, path=first)
    save_file({"good": torch.zeros(3), "bad": torch.tensor([0.0, number])}, second)
    with pytest.raises(DivergedError, match="broke down by step 20"):
        told.on_checkpoint(20, path=second)
    assert first.is_file() and not second.exists()
    assert (told.saved_step, told.saved_path) == (10, "checkpoints/fox-step00000010.safetensors")
