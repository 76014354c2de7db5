"""Where the tensors of a file go, by their names, and which reads are sent elsewhere."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffusionforce.hooks.musubi.direct_loading import devices_by_name, direct_loading, read_directly

HOME, OTHER, RAM = torch.device("cuda", 0), torch.device("cuda", 1), torch.device("cpu")
FLUX = [
    "img_in.weight",
    *(f"double_blocks.{index}.img_attn.qkv.weight" for index in range(2)),
    *(f"single_blocks.{index}.linear1.weight" for index in range(3)),
]


def test_blocks_of_two_lists_are_counted_through_and_the_rest_goes_home() -> None:
    devices = [HOME, OTHER, RAM, HOME, OTHER]
    device_of = devices_by_name(FLUX, block_lists=("double_blocks", "single_blocks"), devices=devices, home=HOME)
    assert device_of is not None
    assert [device_of(name) for name in FLUX] == [HOME, *devices]
    assert device_of("model.diffusion_model.double_blocks.1.img_mlp.0.weight") == OTHER


def test_lists_with_alike_names_are_not_taken_for_each_other() -> None:
    names = ["blocks.0.x.weight", "text_blocks.0.x.weight", "text_blocks.7.x.weight"]
    device_of = devices_by_name(names, block_lists=("blocks",), devices=[OTHER], home=HOME)
    assert device_of is not None
    assert [device_of(name) for name in names] == [OTHER, HOME, HOME]


def test_a_file_of_another_model_is_left_to_ram() -> None:
    assert devices_by_name(FLUX, block_lists=("double_blocks",), devices=[HOME], home=HOME) is None


@pytest.mark.parametrize(
    ("name", "asked", "given"),
    [
        ("dit.safetensors", None, OTHER),
        ("dit.safetensors", "cpu", OTHER),
        ("dit.safetensors", HOME, HOME),
        ("expert.safetensors", None, None),
    ],
)
def test_only_what_would_stay_in_ram_and_is_of_the_file_is_sent_on(
    tmp_path: Path, name: str, asked: Any, given: Any
) -> None:
    # The second expert of Wan 2.2 waits in RAM, and is read while the first one's file is sent on.
    calls: list[Any] = []
    read = direct_loading().wrap(lambda self, key, device=None, dtype=None: calls.append(device))
    opened = SimpleNamespace(filename=str(tmp_path / name))
    with read_directly([tmp_path / "dit.safetensors"], lambda key: OTHER):
        read(opened, "blocks.0.x", asked)
    read(opened, "blocks.0.x", device=asked)
    assert calls == [given, asked]
