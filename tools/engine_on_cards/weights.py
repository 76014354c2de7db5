"""Random weights of full size, made on a card and written as fast as memory takes them.

    python -m tools.engine_on_cards.weights ROW tiny|full FOLDER

Their scale is that of a network at its beginning: what goes in with a spread of about one comes out with less, so that
forty blocks in a row stay finite. Where a model begins with zeros (its head, the far side of its residual branches),
random numbers are written all the same: zeros would hide every mistake before them.
"""

import json
import os
import struct
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import torch
from torch import nn

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.families import Family
from tools.engine_on_cards.models import Model, looked_for, model_of, shrink
from tools.engine_on_cards.processor import let_engine_import
from tools.engine_on_cards.rows import ROWS

_GAIN = 0.5
_NUM_WRITERS = 3
_NUM_WAITING = 8
"""Tensors that may wait for a writer: the RAM that is taken meanwhile."""
_NAMES = {torch.bfloat16: "BF16", torch.float32: "F32"}


class _Place(NamedTuple):
    shape: tuple[int, ...]
    begin: int
    end: int


def files_of(family: Family, folder: Path) -> dict[str, Path]:
    """Where the files of a model are, by role."""
    return {file.role: folder / f"{file.role}.safetensors" for file in family.files}


def write_files(model: Model, folder: Path, *, device: torch.device) -> None:
    """Write all files of a model that are not there.

    Args:
        model: The model; of two transformers the second is the first under another name.
        folder: Where they go.
        device: Makes the numbers. On a processor weights have 32 bits, because Wan trains with no others there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    files = files_of(model.family, folder)
    for role, path in files.items():
        if path.exists():
            continue
        if role == "dit":
            with torch.device("meta"):
                transformer = model.kind.transformer(model.version)
            write_random(transformer, path, device=device, dtype=dtype)
        elif role == "dit_high_noise":
            path.hardlink_to(files["dit"])
        elif role == "vae":
            with torch.device("meta"):
                autoencoder = model.kind.autoencoder()
            write_random(autoencoder, path, device=device, dtype=torch.float32)
        else:
            _write_hollow(looked_for(model.family, role), path)


def _write_hollow(shapes: Mapping[str, torch.Size], path: Path) -> None:
    """Write a file of zeros that takes no room on a disk."""
    with path.open("wb") as file, torch.device("meta"):
        places = dict(_places({name: torch.empty(shape) for name, shape in shapes.items()}, torch.bfloat16))
        _begin(file, places, torch.bfloat16)


def write_random(module: nn.Module, path: Path, *, device: torch.device, dtype: torch.dtype) -> None:
    """Write random weights for a module, which need not have any itself."""
    tensors = module.state_dict()
    places = dict(_places(tensors, dtype))
    part = path.with_suffix(".part")
    with part.open("wb") as file, ThreadPoolExecutor(_NUM_WRITERS) as writers:
        begin = _begin(file, places, dtype)
        generator = torch.Generator(device).manual_seed(1)
        waiting: list[Future[None]] = []
        for name, place in places.items():
            made = _random(name, place.shape, generator=generator, device=device, dtype=dtype).cpu()
            waiting.append(writers.submit(_write, file.fileno(), made, begin + place.begin))
            if len(waiting) > _NUM_WAITING:
                waiting.pop(0).result()
        for one in waiting:
            one.result()
    part.replace(path)


def _begin(file: BinaryIO, places: Mapping[str, _Place], dtype: torch.dtype) -> int:
    """Write the header, make the file as long as it will be, and return where its tensors begin."""
    header = json.dumps(_header(places, dtype)).encode()
    header += b" " * (-len(header) % 8)
    file.write(struct.pack("<Q", len(header)) + header)
    file.flush()
    begin = 8 + len(header)
    os.ftruncate(file.fileno(), begin + max(place.end for place in places.values()))
    return begin


def _random(
    name: str, shape: tuple[int, ...], *, generator: torch.Generator, device: torch.device, dtype: torch.dtype
) -> torch.Tensor:
    if name.endswith("bias"):
        return torch.zeros(shape, dtype=dtype)
    num_in = max(1, torch.Size(shape[1:]).numel())
    if num_in == 1 or "norm" in name:
        return torch.ones(shape, dtype=dtype)
    return torch.randn(shape, generator=generator, device=device, dtype=dtype).mul_(_GAIN * num_in**-0.5)


def _places(tensors: Mapping[str, torch.Tensor], dtype: torch.dtype) -> Iterator[tuple[str, _Place]]:
    begin = 0
    for name, tensor in tensors.items():
        end = begin + tensor.numel() * dtype.itemsize
        yield name, _Place(tuple(tensor.shape), begin, end)
        begin = end


def _header(places: Mapping[str, _Place], dtype: torch.dtype) -> dict[str, Any]:
    return {
        name: {"dtype": _NAMES[dtype], "shape": list(place.shape), "data_offsets": [place.begin, place.end]}
        for name, place in places.items()
    }


def _write(descriptor: int, tensor: torch.Tensor, offset: int) -> None:
    """Write all of a tensor; one call writes 2 GiB at most."""
    content = memoryview(cast(bytes, tensor.reshape(-1).view(torch.uint8).numpy()))
    while content:
        done = os.pwrite(descriptor, content, offset)
        content, offset = content[done:], offset + done


def main(name: str, size: str, folder: Path) -> None:
    """Write the files of a row's model."""
    row = ROWS[name]
    open_engine()
    model = model_of(row.family)
    if size == "tiny":
        torch.set_num_threads(1)
        let_engine_import()
        shrink(model, num_blocks=row.blocks)
    device = torch.device("cpu" if size == "tiny" else "cuda:0")
    write_files(model, folder, device=device)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
