"""Loads weights by the engine's own function, with each tensor sent to its device and without, and compares.

    python -m tests.support.musubi_loading FOLDER

prints one JSON object: the growth of the process's largest memory in both ways, where a device without contents stands
in for a card, and for every way of loading whether the numbers are the same and where they are.
"""

import contextlib
import importlib
import json
import resource
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tests.support.virtual_devices import VirtualDevices, real_of, virtual_device

from diffusionforce.engines.musubi import open_engine
from diffusionforce.hooks.musubi.direct_loading import devices_by_name, direct_loading, read_directly

SIDE, NUM_BLOCKS = 2048, 10
KIB = 1024


def weights(side: int) -> dict[str, torch.Tensor]:
    """Blocks of one matrix, and a matrix outside of them, with the prefix that some publishers write."""
    generator = torch.Generator().manual_seed(0)

    def matrix() -> torch.Tensor:
        return torch.randn(side, side, generator=generator).to(torch.bfloat16)

    names = [*(f"model.diffusion_model.blocks.{index}.ffn.weight" for index in range(NUM_BLOCKS)), "head.weight"]
    return {name: matrix() for name in names}


def lora(side: int) -> dict[str, torch.Tensor]:
    """A LoRA on the blocks."""
    generator = torch.Generator().manual_seed(1)
    table: dict[str, torch.Tensor] = {}
    for index in range(NUM_BLOCKS):
        name = f"lora_unet_model_diffusion_model_blocks_{index}_ffn"
        table[f"{name}.lora_down.weight"] = torch.randn(4, side, generator=generator)
        table[f"{name}.lora_up.weight"] = torch.randn(side, 4, generator=generator)
    return table


@contextlib.contextmanager
def direct(path: Path, devices: list[torch.device]) -> Generator[None]:
    """With the hook in place: the first half of the blocks goes to the first device."""
    half = NUM_BLOCKS // 2
    of_blocks = [devices[0]] * half + [devices[1]] * (NUM_BLOCKS - half)
    names = list(weights(1))
    device_of = devices_by_name(names, block_lists=("blocks",), devices=of_blocks, home=devices[0])
    assert device_of is not None
    hook = direct_loading()
    hook.apply()
    try:
        with read_directly([path], device_of):
            yield
    finally:
        hook.undo()


def load(path: Path, *, side: int, fp8: bool, with_lora: bool, calc_device: torch.device) -> dict[str, torch.Tensor]:
    """By the engine's function, as if into RAM."""
    engine: Any = importlib.import_module("musubi_tuner.utils.lora_utils")
    return engine.load_safetensors_with_lora_and_fp8(
        str(path),
        [lora(side)] if with_lora else None,
        None,
        fp8_optimization=fp8,
        calc_device=calc_device,
        target_keys=["blocks"] if fp8 else None,
    )


def peak_bytes() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB


def growth(path: Path, *, is_direct: bool) -> int:
    """By how much the largest memory grows while the file is loaded."""
    before = peak_bytes()
    with direct(path, [torch.device("meta")] * 2) if is_direct else contextlib.nullcontext():
        load(path, side=SIDE, fp8=False, with_lora=False, calc_device=torch.device("cpu"))
    return peak_bytes() - before


def compare(folder: Path, *, fp8: bool, with_lora: bool) -> dict[str, Any]:
    """The same numbers in the same formats, on the devices of their blocks."""
    side, path = 64, folder / "small.safetensors"
    save_file(weights(side), path)
    given: dict[str, Any] = {"side": side, "fp8": fp8, "with_lora": with_lora}
    expected = load(path, calc_device=torch.device("cpu"), **given)
    with VirtualDevices(), direct(path, [virtual_device(0), virtual_device(1)]):
        found = load(path, calc_device=virtual_device(0), **given)
    is_equal = found.keys() == expected.keys() and all(
        real_of(found[name]).dtype == value.dtype
        and torch.equal(real_of(found[name]).to(torch.float32), value.to(torch.float32))
        for name, value in expected.items()
    )
    return {"equal": is_equal, "devices": {name: str(value.device) for name, value in found.items()}}


def main() -> None:
    """Load in every way, and print what came out."""
    open_engine()
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    path = folder / "large.safetensors"
    # The engine's function is imported, and its memory had, before anything is measured.
    ways = {
        f"{'fp8' if fp8 else 'bf16'}{' with a LoRA' if with_lora else ''}": compare(
            folder, fp8=fp8, with_lora=with_lora
        )
        for fp8 in (False, True)
        for with_lora in (False, True)
    }
    if sys.argv[2:] == ["write"]:
        save_file(weights(SIDE), path)
        return
    answer = {
        "ways": ways,
        "file_bytes": path.stat().st_size,
        "direct_bytes": growth(path, is_direct=True),
        "plain_bytes": growth(path, is_direct=False),
    }
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
