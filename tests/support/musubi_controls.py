"""Prepares pictures with control pictures by the engine's own program for FLUX.1 Kontext, with a made-up autoencoder.

    python -m tests.support.musubi_controls FOLDER

prints one JSON object: what the cached files hold, in the order of the pictures.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from PIL import Image
from safetensors.torch import load_file
from tests.support.jobs import picture_folder, small_job
from tests.support.musubi_process import import_on_processor

from diffusionforce.datasets import read_folder
from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi import preparation as preparations
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.engines.musubi.preparation import Preparation
from diffusionforce.engines.musubi.readiness import Ready
from diffusionforce.job import Profile

KONTEXT = FAMILIES["flux1-kontext"]


class Means(torch.nn.Module):
    """Encodes a picture as the brightness of its parts, so that it can be told which one was encoded."""

    device, dtype = torch.device("cpu"), torch.float32

    def encode(self, pictures: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) -> (B, 16, H/8, W/8)"""
        return torch.nn.functional.avg_pool2d(pictures.mean(1, keepdim=True), 8).expand(-1, 16, -1, -1)


def _profile(folder: Path, pictures: Path) -> Profile:
    profile = small_job(folder, dataset_dir=pictures).profile
    model = profile.model.model_copy(update={"engine": "musubi", "family": KONTEXT.name})
    return profile.model_copy(update={"model": model})


def main() -> None:
    """Prepare, and print what came out."""
    open_engine()
    import_on_processor()
    folder = Path(sys.argv[1])
    pictures = picture_folder(folder / "mine", num_pictures=2)
    (pictures / "control").mkdir()
    for index, level in enumerate((0, 255)):
        Image.new("RGB", (96, 96), (level,) * 3).save(pictures / "control" / f"{index}.png")
    files = {role: folder / f"{role}.bin" for role in ("vae", "text_encoder1", "text_encoder2")}
    for path in files.values():
        path.touch()
    preparation = Preparation(
        ready=Ready(family=KONTEXT, files=files, file_precision="bf16"),
        dataset=read_folder(pictures),
        profile=_profile(folder, pictures),
        picture_device="cpu",
        caption_device="cpu",
        announce=lambda message: None,
    )
    tools: Any = importlib.import_module("musubi_tuner.flux.flux_utils")
    captions: Any = importlib.import_module("musubi_tuner.flux_kontext_cache_text_encoder_outputs")
    with (
        mock.patch.object(tools, "load_ae", lambda *_, **__: Means()),
        mock.patch.object(captions, "main"),
        mock.patch.object(preparations, "num_lacking", return_value=0),  # All captions do.
    ):
        config = preparation.run().config
    cached = sorted((config.parent / "0" / "cache").glob("*.safetensors"))
    answer = [
        {name: [*tensor.shape, tensor.float().mean().item()] for name, tensor in load_file(path).items()}
        for path in cached
    ]
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
