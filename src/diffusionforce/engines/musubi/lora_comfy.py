"""A LoRA file with the names under which ComfyUI finds every layer.

ComfyUI finds the layers of most models under the names that the engine writes. For some it knows them under names with
dots only, and one it holds with query, key and value in a single layer. The same numbers are written under the names
that it knows; nothing is rounded, and no library for tensors is needed.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from diffusionforce.engines.musubi.families import Family
from diffusionforce.engines.musubi.headers import Header, read_lora_header
from diffusionforce.engines.musubi.lora_files import bare_name, families_of, read_modules, split_key
from diffusionforce.errors import WeightsError
from diffusionforce.job import write_whole
from diffusionforce.runs import shortened, storage_error

PREFIX = "diffusion_model."
NOTE = "diffusionforce_names"
_THIRDS = ("q", "k", "v")
_WORDS = {"F64": np.uint64, "F32": np.uint32, "BF16": np.uint16, "F16": np.uint16}
"""Numbers are moved as what they are in memory; all formats have zero in common."""


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """One tensor as it is stored."""

    dtype: str
    words: np.ndarray

    @property
    def entry(self) -> dict[str, object]:
        return {"dtype": self.dtype, "shape": list(self.words.shape)}


def write_for_comfy(source: Path, target: Path) -> str:
    """Write a LoRA under the names that ComfyUI knows.

    Args:
        source: The file that the engine wrote.
        target: The file to write.

    Returns:
        What was done: `renamed`, or `joined` where layers were put together.

    Raises:
        WeightsError: It is no LoRA, its model is not known, or ComfyUI loads it as it is.
        UserError: The disk refuses.
    """
    header = read_lora_header(source)
    family = _family_of(header)
    stored = _read(header)
    dotted = dict(_dotted(stored, family))
    is_joined = family.comfy.loads == "converted"
    named = _named(_joined(dotted) if is_joined else dotted, family)
    try:
        write_whole(target, _content(named, {**_metadata(header), NOTE: "ComfyUI"}))
    except OSError as error:
        raise storage_error(error, target) from error
    return "joined" if is_joined else "renamed"


def _metadata(header: Header) -> dict[str, str]:
    """Return the metadata without the hashes of the file that it was."""
    return {name: value for name, value in header.metadata.items() if not name.startswith("sshs_")}


def _family_of(header: Header) -> Family:
    modules = read_modules(header)
    families = families_of(modules.values(), header.metadata)
    name = shortened(header.path)
    if not families:
        raise WeightsError(f"The model that {name} is for is not known.")
    if families[0].comfy.loads == "as written":
        raise WeightsError(
            f"{name} is for {families[0].title}, whose LoRAs ComfyUI loads as they are.",
            hint="Use the file itself; a converted one would lose layers.",
        )
    if families[0].comfy.loads == "unknown":
        raise WeightsError(f"How ComfyUI names the layers of {families[0].title} is not known.")
    return families[0]


def _read(header: Header) -> dict[str, _Stored]:
    stored: dict[str, _Stored] = {}
    with header.path.open("rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        for key, tensor in header.tensors.items():
            if tensor.dtype not in _WORDS:
                raise WeightsError(f"{shortened(header.path)} holds {key} in {tensor.dtype}, which is not known here.")
            word = np.dtype(_WORDS[tensor.dtype])
            file.seek(start + tensor.offset)
            content = file.read(prod(tensor.shape) * word.itemsize)
            stored[key] = _Stored(dtype=tensor.dtype, words=np.frombuffer(content, word).reshape(tensor.shape))
    return stored


def _dotted(stored: Mapping[str, _Stored], family: Family) -> Iterator[tuple[str, _Stored]]:
    names = {name.replace(".", "_"): name for name in family.lora_modules()}
    for key, tensor in stored.items():
        module, part = split_key(key)
        name = bare_name(module)
        if name not in names:
            raise WeightsError(f"The names in this file are ComfyUI's already, like {module}.")
        yield f"{names[name]}.{part}", tensor


def _named(dotted: Mapping[str, _Stored], family: Family) -> dict[str, _Stored]:
    named: dict[str, _Stored] = {}
    for key, tensor in dotted.items():
        module, part = split_key(key)
        named[f"{PREFIX}{family.comfy_name(module)}.{part}"] = tensor
    return named


def _joined(named: Mapping[str, _Stored]) -> dict[str, _Stored]:
    """Put the three LoRAs of query, key and value into one of three times their rank."""
    joined: dict[str, _Stored] = {}
    for key, tensor in named.items():
        module, part = split_key(key)
        if not module.endswith(tuple(f"attn_{third}" for third in _THIRDS)):
            joined[key] = tensor
            continue
        stem = module[:-1]
        if module.endswith("q"):
            parts = [named[f"{stem}{third}.{part}"] for third in _THIRDS if f"{stem}{third}.{part}" in named]
            if len(parts) < len(_THIRDS):
                raise WeightsError(f"{stem}q, k and v have to be there all three to be joined.")
            joined[f"{stem}q.{part}"] = _join(part, parts)
    return joined


def _join(part: str, parts: list[_Stored]) -> _Stored:
    dtype, arrays = parts[0].dtype, [one.words for one in parts]
    if part == "alpha":
        # The rank is three times what it was, so alpha has to be, for the same strength.
        alphas = {_number(one) for one in parts}
        if len(alphas) > 1:
            raise WeightsError("Query, key and value have different strengths and cannot be joined.")
        words = np.frombuffer(struct.pack("<f", 3 * alphas.pop()), np.uint32).reshape(())
        return _Stored(dtype="F32", words=words)
    if part in {"lora_down.weight", "lora_A.weight"}:
        return _Stored(dtype=dtype, words=np.concatenate(arrays))
    whole = np.zeros((sum(a.shape[0] for a in arrays), sum(a.shape[1] for a in arrays)), arrays[0].dtype)
    row = column = 0
    for array in arrays:
        whole[row : row + array.shape[0], column : column + array.shape[1]] = array
        row, column = row + array.shape[0], column + array.shape[1]
    return _Stored(dtype=dtype, words=whole)


def _number(tensor: _Stored) -> float:
    content = tensor.words.tobytes()
    if tensor.dtype == "BF16":
        return struct.unpack("<f", b"\0\0" + content)[0]
    return struct.unpack({"F64": "<d", "F32": "<f", "F16": "<e"}[tensor.dtype], content)[0]


def _content(named: Mapping[str, _Stored], metadata: Mapping[str, str]) -> bytes:
    """Return the bytes of a safetensors file."""
    table: dict[str, object] = {"__metadata__": dict(metadata)}
    pieces: list[bytes] = []
    end = 0
    for name, tensor in sorted(named.items()):
        piece = tensor.words.tobytes()
        table[name] = {**tensor.entry, "data_offsets": [end, end + len(piece)]}
        pieces.append(piece)
        end += len(piece)
    header = json.dumps(table, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return b"".join((len(header).to_bytes(8, "little"), header, *pieces))
