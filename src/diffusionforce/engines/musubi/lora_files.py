"""LoRA files, looked at from outside: which model they are for, how large, and whether ComfyUI finds every layer.

ComfyUI passes over layers whose names it does not know and says so only in its log; the picture then looks as if the
training had done little. So the names are compared with those of the base model, and with those that ComfyUI knows for
it, as `families` records them.
"""

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.families.record import Blocks
from diffusionforce.engines.musubi.headers import Header, read_lora_header
from diffusionforce.errors import WeightsError
from diffusionforce.runs import shortened
from diffusionforce.wire.weights import LoraInfo

Names: TypeAlias = Literal["engine", "dotted", "unknown"]
ENGINE_PREFIX = "lora_unet_"
_DOTTED_PREFIXES = ("diffusion_model.", "transformer.", "lora_transformer.")
_PARTS = {
    "lora_down.weight": "LoRA",
    "lora_up.weight": "LoRA",
    "lora_A.weight": "LoRA",
    "lora_B.weight": "LoRA",
    "hada_w1_a": "LoHa",
    "hada_w1_b": "LoHa",
    "hada_w2_a": "LoHa",
    "hada_w2_b": "LoHa",
    "lokr_w1": "LoKr",
    "lokr_w1_a": "LoKr",
    "lokr_w1_b": "LoKr",
    "lokr_w2": "LoKr",
    "lokr_w2_a": "LoKr",
    "lokr_w2_b": "LoKr",
    "alpha": "",
    "dora_scale": "DoRA",
}
_LONGEST_FIRST = tuple(sorted(_PARTS, key=len, reverse=True))
_DOWN = ("lora_down.weight", "lora_A.weight")
_UP = ("lora_up.weight", "lora_B.weight")
_FORMATS = {"F64": ("<d", 8), "F32": ("<f", 4), "F16": ("<e", 2)}
_MAX_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Module:
    """One layer's part of a LoRA."""

    name: str
    """As in the file, without the part."""
    rank: int
    """0 if it has no single one."""
    width: int
    """Numbers that go into the layer; 0 if the shapes do not tell."""


def describe_lora(path: Path) -> LoraInfo:
    """Return what a LoRA file is.

    Raises:
        WeightsError: It is missing, incomplete, or no LoRA.
    """
    header = read_lora_header(path)
    modules = read_modules(header)
    candidates = families_of(modules.values(), header.metadata)
    family = candidates[0] if candidates else None
    bare = {bare_name(name) for name in modules}
    expected = _expected(family, bare) if family else frozenset[str]()
    alphas = _alphas(header)
    comfy, num_lost, words = comfy_verdict(modules, family=family)
    return LoraInfo(
        path=str(path),
        size_bytes=path.stat().st_size,
        base_model=_base_model(header.metadata),
        families=tuple(candidate.name for candidate in candidates),
        titles=tuple(candidate.title for candidate in candidates),
        algorithm=_algorithm(header),
        num_modules=len(modules),
        num_expected=len(expected),
        unknown_modules=tuple(sorted(bare - expected)[:_MAX_SHOWN]) if family else (),
        ranks=tuple(sorted({module.rank for module in modules.values() if module.rank})),
        alphas=tuple(sorted(alphas)),
        precision=header.precision,
        step=_step(header.metadata),
        comfy=comfy,
        comfy_lost=num_lost,
        comfy_words=words,
        metadata=dict(header.metadata),
    )


def read_modules(header: Header) -> dict[str, Module]:
    """Return the layers of a LoRA by name.

    Raises:
        WeightsError: The file is no LoRA, or a half of one of its layers is missing.
    """
    found: dict[str, Module] = {}
    for key, tensor in header.tensors.items():
        name, part = split_key(key)
        if not part:
            continue
        known = found.get(name, Module(name=name, rank=0, width=0))
        if part in _DOWN and len(tensor.shape) >= 2:
            known = Module(name=name, rank=tensor.shape[0], width=tensor.shape[1])
        found[name] = known
    if not found:
        raise WeightsError(
            f"{shortened(header.path)} is no LoRA: none of its {len(header.tensors)} tensors is part of one.",
            hint="Large files with such a name are often whole models.",
        )
    _require_halves(header, found)
    return found


def _require_halves(header: Header, modules: Iterable[str]) -> None:
    """Refuse a layer of which one matrix is not there, or has another rank: what was saved is not what is used."""
    for name in modules:
        for down, up in zip(_DOWN, _UP, strict=True):
            halves = [header.tensors.get(f"{name}.{part}") for part in (down, up)]
            shapes = [half.shape for half in halves if half is not None]
            if len(shapes) == 1:
                raise WeightsError(f"{shortened(header.path)} is no whole LoRA: {name} has only one matrix of two.")
            if all(len(shape) >= 2 for shape in shapes) and shapes and shapes[0][0] != shapes[1][1]:
                raise WeightsError(f"{shortened(header.path)} is damaged: the two matrices of {name} have other ranks.")


def families_of(modules: Iterable[Module], metadata: Mapping[str, str]) -> tuple[Family, ...]:
    """Return the models that have all these layers in these widths, those with the fewest others first."""
    by_name = {bare_name(module.name): module for module in modules}
    fitting = [family for family in FAMILIES.values() if _fits(family, by_name)]
    architecture = metadata.get("ss_base_model_version", "")
    named = [family for family in fitting if architecture.startswith(family.trainer.architecture)]
    return tuple(sorted(named or fitting, key=lambda family: len(family.lora_modules())))


def comfy_verdict(
    modules: Mapping[str, Module], *, family: Family | None
) -> tuple[Literal["loads", "loses layers", "does not load", "not known"], int, str]:
    """Return whether ComfyUI loads all layers, how many it passes over, and what to do."""
    if family is None or family.comfy.loads == "unknown":
        return "not known", 0, family.comfy.words if family else "The model that it is for is not known."
    if _naming(modules) == "unknown":
        return "not known", 0, "Its layers are named in a way that is not known here."
    if family.comfy.loads == "as written":
        return "loads", 0, family.comfy.words
    is_dotted = _naming(modules) == "dotted" and family.comfy.loads == "renamed"
    own = _comfy_names(family) if family.comfy.names else frozenset[str]()
    ends = tuple(leaf.replace(".", "_") for leaf in family.comfy.leaves_lost)
    num_lost = sum(bare_name(name).endswith(ends) and bare_name(name) not in own for name in modules) * (not is_dotted)
    if not num_lost:
        return "loads", 0, ""
    return ("does not load" if num_lost == len(modules) else "loses layers"), num_lost, family.comfy.words


def bare_name(name: str) -> str:
    """Return the name of a layer with underscores and without what stands before it, whatever wrote the file."""
    for prefix in (ENGINE_PREFIX, *_DOTTED_PREFIXES):
        name = name.removeprefix(prefix)
    return name.replace(".", "_")


def _expected(family: Family, bare: set[str]) -> frozenset[str]:
    """Return the layers that a LoRA has by default, under the names that the file uses."""
    engines = _flat(family.lora_modules())
    return engines if bare <= engines else _comfy_names(family)


def _naming(modules: Iterable[str]) -> Names:
    names = list(modules)
    if all(name.startswith(ENGINE_PREFIX) for name in names):
        return "engine"
    return "dotted" if all(name.startswith(_DOTTED_PREFIXES) for name in names) else "unknown"


def _flat(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.replace(".", "_") for name in names)


def _comfy_names(family: Family) -> frozenset[str]:
    return _flat(family.comfy_name(module) for module in family.lora_modules())


def _fits(family: Family, modules: Mapping[str, Module]) -> bool:
    if not (set(modules) <= _flat(family.lora_modules()) or set(modules) <= _comfy_names(family)):
        return False
    if any(_is_shorter(blocks, modules) for blocks in family.blocks):
        return False
    blocks = next(blocks for blocks in family.blocks if blocks.lora_leaves)
    end = blocks.lora_leaves[0].replace(".", "_")
    begin = f"{blocks.name}_"
    widths = {m.width for name, m in modules.items() if m.width and name.startswith(begin) and name.endswith(f"_{end}")}
    return widths <= {family.width}


def _is_shorter(blocks: Blocks, names: Iterable[str]) -> bool:
    """Tell whether layers are of a model with fewer blocks: most are there, from the first on, and the last are not."""
    pattern = re.compile(rf"{re.escape(blocks.name)}_(\d+)_")
    indexes = {int(found[1]) for found in map(pattern.match, names) if found}
    return blocks.count > len(indexes) > blocks.count // 2 and max(indexes) == len(indexes) - 1


def split_key(key: str) -> tuple[str, str]:
    """Return the layer that a tensor of a LoRA belongs to, and which part of it; no part if it is none."""
    for part in _LONGEST_FIRST:
        if key.endswith(f".{part}"):
            return key.removesuffix(f".{part}"), part
    return key, ""


def _algorithm(header: Header) -> str:
    kinds = {_PARTS[split_key(key)[1]] for key in header.tensors if split_key(key)[1]} - {""}
    return " and ".join(sorted(kinds)) or "LoRA"


def _base_model(metadata: Mapping[str, str]) -> str:
    for key in ("ss_base_model_version", "base_model", "modelspec.architecture", "model_family"):
        if metadata.get(key):
            return metadata[key]
    return ""


def _step(metadata: Mapping[str, str]) -> int | None:
    for key in ("ss_steps", "step", "steps"):
        if metadata.get(key, "").isdecimal():
            return int(metadata[key])
    return None


def _alphas(header: Header) -> set[float]:
    """Return the different values of alpha; they are single numbers, read without loading anything else."""
    found: set[float] = set()
    with header.path.open("rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        for key, tensor in header.tensors.items():
            if key.endswith(".alpha") and tensor.shape in {(), (1,)}:
                file.seek(start + tensor.offset)
                found |= _number(file.read(8), tensor.dtype)
    return found


def _number(content: bytes, dtype: str) -> set[float]:
    if dtype == "BF16":
        content, dtype = b"\0\0" + content[:2], "F32"
    if dtype not in _FORMATS:
        return set()
    layout, size = _FORMATS[dtype]
    return {round(struct.unpack(layout, content[:size])[0], 6)} if len(content) >= size else set()
