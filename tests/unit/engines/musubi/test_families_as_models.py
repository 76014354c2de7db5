"""The records hold for the engine's own models, made whole and without memory: blocks, shapes, layers with a LoRA.

Each needs the engine and the libraries that it imports; without them the test says what is missing. What a LoRA file of
the engine is called comes from the names of its layers, so a record that holds names every layer of such a file.
"""

import importlib
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.engine import needs_engine
from torch import nn

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.headers import Tensor
from diffusionforce.engines.musubi.lora_comfy import write_for_comfy
from diffusionforce.engines.musubi.lora_files import describe_lora
from diffusionforce.engines.musubi.side_models import SIDE_MODELS
from diffusionforce.engines.musubi.subjects import TRACED
from diffusionforce.engines.musubi.traced.autoencoders import AUTOENCODERS
from diffusionforce.engines.musubi.traced.parts import Use
from diffusionforce.engines.musubi.weights_check import matches
from diffusionforce.errors import EngineError

ALIKE = {
    "wan2.1-t2v-14b": ("wan2.2-t2v-a14b",),
    "qwen-image": ("qwen-image-edit", "qwen-image-edit-2509", "qwen-image-edit-2511"),
    "flux2-klein-9b": ("flux2-klein-base-9b",),
    "flux2-klein-4b": ("flux2-klein-base-4b",),
    "kandinsky5-pro-t2v": ("kandinsky5-pro-i2v",),
    "hunyuan-video-1.5": ("hunyuan-video-1.5-i2v",),
}
"""Models of the same layers, which need not be made again."""
MADE = [name for name in FAMILIES if name not in {other for others in ALIKE.values() for other in others}]
USE = Use(
    width=64, height=64, num_frames=1, batch_size=1, weights="bf16", rank=4, alpha=4.0, dropout=0.0, recompute=False
)


def whole_model(family: Family, monkeypatch: pytest.MonkeyPatch) -> nn.Module:
    """With all of its blocks, and a LoRA on each layer that gets one."""
    module: Any = importlib.import_module(f"diffusionforce.engines.musubi.traced.{TRACED[family.name]}")
    monkeypatch.setattr(module, "MADE_BLOCKS", 1000)
    try:
        subject = module.training_subject(family.name, USE, source=open_engine())
        with torch.device("meta"):
            return subject.make_model()
    except EngineError as error:
        pytest.skip(f"a library of the engine is missing: {error}")


@needs_engine
@pytest.mark.parametrize("name", MADE)
def test_blocks_shapes_and_lora_layers(name: str, monkeypatch: pytest.MonkeyPatch):
    family = FAMILIES[name]
    model = whole_model(family, monkeypatch)
    file = family.file("dit")
    assert file is not None and file.signature is not None
    shapes = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    for blocks in family.blocks:
        layers = getattr(model, blocks.name)
        assert len(layers) == blocks.count
        own = (p.numel() for key, p in layers[0].named_parameters() if ".lora." not in key)
        assert sum(own) / 1e6 == pytest.approx(blocks.million_parameters, abs=0.06)
    assert {key: shapes.get(key) for key in file.signature.tensors} == dict(file.signature.tensors)
    assert not [key for key in shapes if key.startswith(tuple(file.signature.absent or ("?",)))]
    named = {key.removesuffix(".lora") for key, _ in model.named_modules() if key.endswith(".lora")}
    assert named == family.lora_modules()
    for other in ALIKE.get(name, ()):
        assert FAMILIES[other].lora_modules() == family.lora_modules()


@needs_engine
@pytest.mark.parametrize("name", FAMILIES)
def test_autoencoders_are_recognised(name: str):
    file = FAMILIES[name].file("vae")
    assert file is not None and file.signature is not None
    try:
        with torch.device("meta"):
            model = AUTOENCODERS[SIDE_MODELS[name].autoencoder].make(open_engine())
    except EngineError as error:
        pytest.skip(f"a library of the engine is missing: {error}")
    tensors = {key: Tensor(dtype="F32", shape=tuple(value.shape)) for key, value in model.state_dict().items()}
    assert matches(file.signature, tensors)


@needs_engine
@pytest.mark.parametrize("name", [name for name in MADE if FAMILIES[name].comfy.loads in {"renamed", "converted"}])
def test_a_converted_file_has_every_layer_of_the_model(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    model = whole_model(FAMILIES[name], monkeypatch)
    layers = {key.removesuffix(".lora"): part for key, part in model.named_modules() if key.endswith(".lora")}
    tensors = {
        f"lora_unet_{key.replace('.', '_')}.{part}": torch.zeros(tensor.shape, dtype=torch.bfloat16)
        for key, lora in layers.items()
        if ".0." in key
        for part, tensor in lora.state_dict().items()
    }
    save_file(tensors, tmp_path / "x.safetensors", {"ss_base_model_version": FAMILIES[name].trainer.architecture})
    write_for_comfy(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    assert describe_lora(tmp_path / "y.safetensors").comfy_lost == 0
    found = {key.rpartition(".lora_")[0] for key in load_file(tmp_path / "y.safetensors") if ".lora_" in key}
    expected = {f"diffusion_model.{FAMILIES[name].comfy_name(key)}" for key in layers if ".0." in key}
    assert found == expected
