"""Whether a file is the one that a model needs, by its header: architecture, number format, completeness."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from diffusionforce.engines.musubi.families import FAMILIES, Family, Signature, WeightFile
from diffusionforce.engines.musubi.families.record import ALL_IN_ONE_PREFIX
from diffusionforce.engines.musubi.headers import (
    FilePrecision,
    Header,
    Tensor,
    is_pickle,
    read_header,
    require_pickle,
)
from diffusionforce.errors import WeightsError
from diffusionforce.runs import shortened

DIT_ROLES = frozenset({"dit", "dit_high_noise"})
"""Files of what is trained."""
_NOISE = re.compile(r"(?<![a-z])(high|low)(?![a-z])")
"""Which of the two models of Wan 2.2 a file is; from inside they look alike."""


def check_file(file: WeightFile, path: Path, *, family: Family) -> FilePrecision:
    """Refuse a file that is not what the model needs, and return its number format.

    Args:
        file: What is needed.
        path: The file; of a split set the first one; of a folder the folder.
        family: The model.

    Raises:
        WeightsError: It is missing, incomplete, another model's, or in a format that the engine does not load.
    """
    if file.is_folder:
        _require_folder(file, path, family=family)
        return "unknown"
    if is_pickle(path):
        require_pickle(path)
        if not any(is_pickle(Path(name)) for name in (file.name, *file.other_names)):
            raise WeightsError(
                f"{shortened(path)} is in PyTorch's own format, which the engine does not load for {family.title}.",
                hint=_needed(file),
            )
        return "unknown"
    header = read_header(path)
    _require_signature(file, header, family=family)
    if file.role in DIT_ROLES:
        _require_loadable(header, family=family)
        _require_name(file, path, family=family)
    return header.precision


def recognised(header: Header) -> str:
    """Return what a file is, a LoRA or out of all that the families know; empty if it is none of them."""
    for signature in _all_signatures():
        if matches(signature, header.tensors):
            return signature.title
    return "a LoRA" if any("lora_" in name for name in header.tensors) else ""


def matches(signature: Signature, tensors: Mapping[str, Tensor]) -> bool:
    """Tell whether tensors of the signature's names and shapes are in a file, and none that may not be."""
    return _prefix_of(signature, tensors) is not None


def _prefix_of(signature: Signature, tensors: Mapping[str, Tensor]) -> str | None:
    """Return what stands before the signature's names in a file; None if it does not match."""
    first, *others = signature.tensors.items()
    for prefix in _prefixes(first[0], tensors):
        found = all(_shape(tensors, prefix + name) == shape for name, shape in (first, *others))
        if found and not any(_is_banned(name, prefix, signature) for name in tensors):
            return prefix
    return None


def _prefixes(name: str, tensors: Iterable[str]) -> Iterator[str]:
    for candidate in tensors:
        if candidate == name or candidate.endswith(f".{name}"):
            yield candidate.removesuffix(name)


def _shape(tensors: Mapping[str, Tensor], name: str) -> tuple[int, ...] | None:
    return tensors[name].shape if name in tensors else None


def _is_banned(name: str, prefix: str, signature: Signature) -> bool:
    """Tell whether a tensor is one that the file may not have; where any prefix will do, it may stand behind any."""
    if signature.prefixes is None:
        return any(f".{part}" in f".{name}" for part in signature.absent)
    return name.startswith(tuple(prefix + part for part in signature.absent)) if signature.absent else False


def _require_signature(file: WeightFile, header: Header, *, family: Family) -> None:
    signature = file.signature
    if signature is None:
        return
    prefix = _prefix_of(signature, header.tensors)
    if prefix is None:
        other = recognised(header)
        it_is = f"it is {other}" if other else "its layers have other names or sizes"
        raise WeightsError(
            f"{shortened(header.path)} is not the {file.title} of {family.title}: {it_is}.",
            hint=_needed(file),
        )
    if signature.prefixes is not None and prefix not in signature.prefixes:
        kind = "an all-in-one checkpoint" if prefix == ALL_IN_ONE_PREFIX else f"a file whose names begin with {prefix}"
        raise WeightsError(
            f"{shortened(header.path)} is {kind}, which the engine does not load for {family.title}.",
            hint=_needed(file),
        )


def _needed(file: WeightFile) -> str:
    return f"What is needed is {file.name} from {file.page}"


def _require_loadable(header: Header, *, family: Family) -> None:
    """Refuse a number format that the engine does not load for this model."""
    name = shortened(header.path)
    if family.eight_bit == "already":
        if header.precision != "fp8":
            raise WeightsError(
                f"{name} is not in 8 bits, and {family.title} is trained on 8-bit weights only.",
                hint="Take the file that is called fp8_scaled.",
            )
        return
    if header.has_scales:
        raise WeightsError(
            f"{name} holds 8-bit weights with scales (fp8_scaled), which the engine does not load for {family.title}.",
            hint="Take the file in bf16 or fp16; the engine makes its own 8-bit weights from it.",
        )
    if header.precision == "fp8" and family.eight_bit != "plain" and not family.keeps_precision:
        raise WeightsError(
            f"{name} is in 8 bits, which the engine does not load for {family.title}.",
            hint="Take the file in bf16; the engine makes its own 8-bit weights from it.",
        )


def _require_name(file: WeightFile, path: Path, *, family: Family) -> None:
    """Refuse the file of another model that has the same layers, as long as its name tells."""
    other = next((other for other in _namesakes(path.name.lower()) if other.signature == file.signature), None)
    noise = set(_NOISE.findall(path.name.lower()))
    is_swapped = noise == {"low" if file.role == "dit_high_noise" else "high"} and family.file("dit_high_noise")
    if (other is not None and path.name.lower() not in _names(file)) or is_swapped:
        raise WeightsError(
            f"{shortened(path)} is not the {file.title} of {family.title}, by its name.",
            hint=f"{_needed(file)}; if this is the same under another name, rename it.",
        )


def _namesakes(name: str) -> Iterator[WeightFile]:
    return (file for family in FAMILIES.values() for file in family.files if name in _names(file))


def _names(file: WeightFile) -> set[str]:
    return {name.lower() for name in (file.name, *file.other_names)}


def _require_folder(file: WeightFile, path: Path, *, family: Family) -> None:
    if not path.is_dir():
        raise WeightsError(f"{shortened(path)} is not a folder.", hint="The engine wants the whole folder here.")
    if not (path / "config.json").is_file():
        raise WeightsError(f"{shortened(path)} has no config.json, so it is no folder of a model.")
    headers = [read_header(part) for part in sorted(path.glob("*.safetensors"))]
    if headers:
        tensors = {name: tensor for header in headers for name, tensor in header.tensors.items()}
        _require_signature(file, Header(path=path, tensors=tensors, metadata={}), family=family)
    elif not any(is_pickle(child) for child in path.iterdir()):
        raise WeightsError(f"{shortened(path)} has no weights in it.")


def _all_signatures() -> Iterator[Signature]:
    for family in FAMILIES.values():
        yield from (file.signature for file in family.files if file.signature is not None)
