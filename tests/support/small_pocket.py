"""A pocket model of two thin blocks, untrained, with which a whole run takes a fraction of a second."""

from pathlib import Path
from typing import Any

import torch
from tests.support.jobs import picture_folder
from tests.support.pocket_runs import tiny_job

from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.text import TextEncoder
from diffusionforce.engines.pocket.weights import encode_base
from diffusionforce.job import Job

CONFIG = PocketConfig(
    native_size_px=64,
    width=16,
    num_blocks=4,
    num_heads=2,
    hidden=24,
    bottleneck=8,
    head_hidden=16,
    text_width=16,
    text_num_blocks=1,
    text_num_heads=2,
    text_hidden=16,
)


def small_weights(path: Path) -> Path:
    """Write the weights of the small model: random, and the same every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformer, text_encoder = PocketTransformer(CONFIG), TextEncoder(CONFIG)
        for parameter in (*transformer.parameters(), *text_encoder.parameters()):
            torch.nn.init.normal_(parameter, std=0.3)  # Some begin at zero, and then no gradient reaches a LoRA.
    path.write_bytes(encode_base(transformer, text_encoder, notes={}))
    return path


def eventful_job(folder: Path, **changes: Any) -> Job:
    """A job of seven steps with a checkpoint every other step, samples, held-out losses, dropout and drawn pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {
        "model__weights": str(small_weights(folder / "small.safetensors")),
        "training__batch_size": 1,
        "training__gradient_accumulation": 2,
        "training__warmup_steps": 2,
        "lora__rank": 4,
        "lora__dropout": 0.1,
        "checkpoints__every_steps": 2,
        "samples__prompts": ["Blob, waving"],
        "samples__every_steps": 3,
        "samples__num_steps": 1,
        "dataset__regularisation_share": 0.25,
        "dataset__trigger": "Blob",
    }
    job = tiny_job(folder, steps=7, **(settings | changes))
    return job.model_copy(update={"held_out_dir": picture_folder(folder / "held out", num_pictures=1)})
