"""The records hold for the engine's own models, made without memory: blocks, shapes, layers with a LoRA.

Each needs the engine and the libraries that it imports; without them the test says what is missing.
"""

from typing import Any

import pytest
import torch
from tests.support.engine import needs_engine

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.families import FAMILIES, Family, Signature
from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.errors import EngineError

WAN = ("wan2.1-t2v-14b", "wan2.1-t2v-1.3b", "wan2.1-i2v-14b", "wan2.2-t2v-a14b", "wan2.2-i2v-a14b")
FLUX2 = {"dev": "Flux2Params", "klein-9b": "Klein9BParams", "klein-4b": "Klein4BParams"}
MADE = [name for name in FAMILIES if name.startswith(("wan", "flux2"))]


def signature_of(family: Family) -> Signature:
    file = family.file("dit")
    assert file is not None and file.signature is not None
    return file.signature


def model_of(family: Family, *, source) -> Any:
    module_name, _, class_name = family.dit_class.rpartition(".")
    module = import_light(module_name, source=source)
    make = getattr(module, class_name)
    if family.name in WAN:
        signature = signature_of(family)
        width, channels = signature.tensors["patch_embedding.weight"][:2]
        inner = next(shape[0] for name, shape in signature.tensors.items() if ".ffn.0." in name)
        return make(
            model_type="i2v" if family.name == "wan2.1-i2v-14b" else "t2v",
            model_version="2.2" if "2.2" in family.name else "2.1",
            dim=width,
            in_dim=channels,
            ffn_dim=inner,
            num_heads=width // 128,
            num_layers=family.blocks[0].count,
        )
    assert family.version is not None
    version = family.version[1].replace("-base", "")
    return make(getattr(module, FLUX2[version])(), "torch")


@needs_engine
@pytest.mark.parametrize("name", MADE)
def test_blocks_shapes_and_lora_layers(name: str):
    family, source = FAMILIES[name], open_engine()
    try:
        with torch.device("meta"):
            model = model_of(family, source=source)
        network = import_light(network_module(family), source=source)
    except EngineError as error:
        pytest.skip(f"a library of the engine is missing: {error}")
    shapes = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    for blocks in family.blocks:
        layers = getattr(model, blocks.name)
        assert len(layers) == blocks.count
        millions = sum(parameter.numel() for parameter in layers[0].parameters()) / 1e6
        assert millions == pytest.approx(blocks.million_parameters, abs=0.06)
    signature = signature_of(family)
    assert {key: shapes.get(key) for key in signature.tensors} == dict(signature.tensors)
    assert not [key for key in shapes if key.startswith(tuple(signature.absent or ("?",)))]
    lora = network.create_arch_network(1.0, 4, 4.0, None, [], model)
    named = {module.replace(".", "_") for module in family.lora_modules()}
    assert {part.lora_name.removeprefix("lora_unet_") for part in lora.unet_loras} == named


def network_module(family: Family) -> str:
    module = family.trainer.network_module
    return module if module.startswith("musubi_tuner.") else f"musubi_tuner.{module}"
