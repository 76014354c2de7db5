"""What a file of weights says about itself before any tensor is read: names, shapes, number formats, completeness.

A download that broke off, a web page saved under the model's name, a pointer that git left in place of the file: each
of them fails in the engine after minutes, in words of a library. The header of a safetensors file tells in a moment.
"""

import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from diffusionforce.errors import WeightsError
from diffusionforce.job.files import is_there
from diffusionforce.runs import shortened

FilePrecision: TypeAlias = Literal["fp32", "bf16", "fp16", "fp8", "unknown"]
GIB = 1024**3
_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 32 << 20
"""Far more than any model has; a larger one would only take its time to be refused."""
_MAX_TENSORS = 20_000
_MAX_DIMENSIONS = 16
_MAX_LENGTH = 1 << 48
_PRECISIONS: Mapping[str, FilePrecision] = {
    "F32": "fp32",
    "BF16": "bf16",
    "F16": "fp16",
    "F8_E4M3": "fp8",
    "F8_E5M2": "fp8",
}
_ITEM_BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "BF16": 2, "F16": 2, "I16": 2, "F8_E4M3": 1, "F8_E5M2": 1}
_SPLIT = re.compile(r"(?P<before>.*?)(?P<number>\d+)-of-(?P<count>\d+)\.safetensors")
_PICKLES = {".pt", ".pth", ".bin", ".ckpt"}
_LORA_AGAIN = "Get the file once more from where it came from; of a run, take another of its checkpoints."
_OTHER_FORMAT = "Take the file in safetensors format."
_AGAIN = "Download it again: diffusionforce models download, or in the browser until it is finished."


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One tensor of a file."""

    dtype: str
    """As safetensors calls it, for example `BF16`."""
    shape: tuple[int, ...]
    offset: int = 0
    """Where it begins, counted from the end of the header."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """What stands in front of the tensors of one file, or of all files of a split set."""

    path: Path
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]

    @property
    def precision(self) -> FilePrecision:
        """The number format of most of the file."""
        sizes: Counter[str] = Counter()
        for tensor in self.tensors.values():
            sizes[tensor.dtype] += math.prod(tensor.shape) * _ITEM_BYTES.get(tensor.dtype, 1)
        return _PRECISIONS.get(sizes.most_common(1)[0][0], "unknown") if sizes else "unknown"

    @property
    def has_scales(self) -> bool:
        """Whether it holds 8-bit weights with scales beside them."""
        return any(name.endswith((".scale_weight", ".weight_scale", "scaled_fp8")) for name in self.tensors)


def read_lora_header(path: Path) -> Header:
    """Read the header of a LoRA file, which comes from anywhere but the models' pages.

    Raises:
        WeightsError: It is missing, incomplete, or something else.
    """
    try:
        return read_header(path)
    except WeightsError as error:
        hint = _LORA_AGAIN if error.hint == _AGAIN else error.hint
        raise WeightsError(error.sentence, hint=hint, detail=error.detail) from error


def read_header(path: Path) -> Header:
    """Read the header of a safetensors file; of a split set, give the first file, and all are read.

    Raises:
        WeightsError: The file, or one of its set, is missing, incomplete, or something else.
    """
    parts = split_parts(path)
    missing = [part.name for part in parts if not is_there(part)]
    if missing and len(parts) > 1:
        raise WeightsError(
            f"{shortened(path)} is one of {len(parts)} files that belong together, and {missing[0]} is not beside it.",
            hint=f"Missing: {', '.join(missing)}.",
        )
    tensors: dict[str, Tensor] = {}
    metadata: dict[str, str] = {}
    for part in parts:
        header = _read_one(part)
        tensors |= header.tensors
        metadata |= header.metadata
    return Header(path=path, tensors=tensors, metadata=metadata)


def require_pickle(path: Path) -> None:
    """Refuse a file of PyTorch's own format that is incomplete or something else; what is in it is not looked at.

    Raises:
        WeightsError: It is missing, incomplete or no such file.
    """
    start = _start(path)
    if start.startswith(b"PK") and not zipfile.is_zipfile(path):
        raise WeightsError(f"{shortened(path)} is half downloaded: its end is missing.", hint=_AGAIN)
    if not start.startswith((b"PK", b"\x80")):
        raise WeightsError(f"{shortened(path)} is no file of weights{_what_instead(start)}.", hint=_AGAIN)


def is_pickle(path: Path) -> bool:
    """Tell whether a file is of PyTorch's own format, by its name."""
    return path.suffix.lower() in _PICKLES


def split_parts(path: Path) -> list[Path]:
    """Return all files of the set that a file is one of; the file alone if it is none of a set."""
    match = _SPLIT.fullmatch(path.name)
    if match is None:
        return [path]
    digits, count = len(match["number"]), int(match["count"])
    names = (f"{match['before']}{n:0{digits}}-of-{match['count']}.safetensors" for n in range(1, count + 1))
    return [path.with_name(name) for name in names]


def _read_one(path: Path) -> Header:
    start = _start(path)
    length = int.from_bytes(start[:_LENGTH_BYTES], "little")
    size_bytes = path.stat().st_size
    if len(start) <= _LENGTH_BYTES or start[_LENGTH_BYTES : _LENGTH_BYTES + 1] != b"{" or length > _MAX_HEADER_BYTES:
        hint = _OTHER_FORMAT if start.startswith((b"GGUF", b"PK", b"\x80")) else _AGAIN
        raise WeightsError(f"{shortened(path)} is no safetensors file{_what_instead(start)}.", hint=hint)
    if size_bytes < _LENGTH_BYTES + length:
        raise WeightsError(f"{shortened(path)} is half downloaded: not even its header is whole.", hint=_AGAIN)
    try:
        with path.open("rb") as file:
            file.seek(_LENGTH_BYTES)
            table = json.loads(file.read(length))
        metadata = {str(name): str(value) for name, value in table.pop("__metadata__", {}).items()}
        if len(table) > _MAX_TENSORS:
            raise ValueError(f"{len(table)} tensors are more than any model has")
        tensors = {name: _tensor(entry) for name, entry in cast(dict[str, Any], table).items()}
        end = max((entry["data_offsets"][1] for entry in cast(dict[str, Any], table).values()), default=0)
    except (
        ArithmeticError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
    ) as error:
        raise WeightsError(f"{shortened(path)} has a damaged header.", hint=_AGAIN, detail=repr(error)) from error
    whole_bytes = _LENGTH_BYTES + length + end
    if size_bytes < whole_bytes:
        has, whole = _amount(size_bytes), _amount(whole_bytes)
        if has == whole:
            has, whole = f"{size_bytes} bytes", f"{whole_bytes} bytes"
        raise WeightsError(f"{shortened(path)} is half downloaded: it has {has} of {whole}.", hint=_AGAIN)
    return Header(path=path, tensors=tensors, metadata=metadata)


def _tensor(entry: Mapping[str, Any]) -> Tensor:
    shape = tuple(int(length) for length in entry["shape"])
    begin, end = (int(offset) for offset in entry["data_offsets"])
    if len(shape) > _MAX_DIMENSIONS or not all(0 <= length < _MAX_LENGTH for length in (*shape, begin, end)):
        raise ValueError(f"no tensor has the shape {str(shape[:_MAX_DIMENSIONS])[:100]} at {begin}")
    if end - begin != math.prod(shape) * _ITEM_BYTES.get(entry["dtype"], 0) and entry["dtype"] in _ITEM_BYTES:
        raise ValueError(f"a tensor of the shape {shape} does not take {end - begin} bytes")
    return Tensor(dtype=str(entry["dtype"]), shape=shape, offset=begin)


def _start(path: Path) -> bytes:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # A pipe would be waited for.
            raise WeightsError(f"{shortened(path)} is no file of weights: it is a device or a pipe.")
        with path.open("rb") as file:
            start = file.read(512)
    except FileNotFoundError:
        raise WeightsError(f"{shortened(path)} is not there.", hint="Check the path.") from None
    except IsADirectoryError:
        raise WeightsError(
            f"{shortened(path)} is a folder, not a file.", hint="Name a file in it, like FOLDER/NAME.safetensors."
        ) from None
    except OSError as error:
        raise WeightsError(f"{shortened(path)} cannot be read: {error.strerror}.") from error
    if not start:
        raise WeightsError(f"{shortened(path)} is empty.", hint=_AGAIN)
    return start


def _what_instead(start: bytes) -> str:
    """Say what a file is that was taken for weights, as the end of a sentence."""
    if start.startswith(b"version https://git-lfs"):
        return ": it is the pointer that git leaves in its place"
    if start.lstrip()[:1] == b"<":
        return ": it is a web page"
    if start.startswith(b"GGUF"):
        return ": it is a GGUF file, which the engine does not load"
    if start.startswith((b"PK", b"\x80")):
        return ": it is in PyTorch's own format"
    return ""


def _amount(size_bytes: int) -> str:
    if size_bytes < 1 << 20:
        return f"{size_bytes} bytes"
    return f"{size_bytes / GIB:.1f} GB" if size_bytes >= GIB else f"{size_bytes / 1024**2:.1f} MB"
