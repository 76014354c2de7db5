"""Files of weights that are all header: the tensors are holes, so that a file of any size takes no room."""

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path

from diffusionforce.engines.musubi.families import Signature

ITEM_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1}


def write_weights(
    path: Path,
    tensors: Mapping[str, tuple[int, ...]],
    *,
    dtype: str = "BF16",
    metadata: Mapping[str, str] | None = None,
    missing_bytes: int = 0,
) -> Path:
    """Write a safetensors file.

    Args:
        path: The file; its folder is made.
        tensors: Shapes by name.
        dtype: Number format of all of them.
        metadata: Notes in its header.
        missing_bytes: How much of its end is left out.
    """
    table: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, shape in tensors.items():
        start, end = end, end + prod(shape) * ITEM_BYTES[dtype]
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    header = json.dumps(table).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end - missing_bytes)
    return path


def write_like(path: Path, signature: Signature | None, *, prefix: str = "", dtype: str = "BF16") -> Path:
    """Write a file that has what a signature asks for."""
    tensors = {"x.weight": (4, 4)} if signature is None else dict(signature.tensors)
    return write_weights(path, {prefix + name: shape for name, shape in tensors.items()}, dtype=dtype)
