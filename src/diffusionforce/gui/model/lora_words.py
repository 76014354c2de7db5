"""LoRA files in words: what their metadata say, whether ComfyUI loads them, and where a copy for it goes."""

import re
from itertools import count
from pathlib import Path

from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import noted
from diffusionforce.wire.weights import LoraInfo

MAX_METADATA = 24
POCKET = "pocket"
NOT_FOR_COMFY = "ComfyUI does not know the pocket model, which is there for trying things out."


def about(info: LoraInfo) -> list[tuple[str, str]]:
    """Return what a file is, as names and values."""
    of_all = f" of {info.num_expected}" if info.num_expected else ""
    facts = [
        (noted("For"), ", ".join(info.titles) or _base(info)),
        (noted("Kind"), f"{info.algorithm}, {info.precision}"),
        ("Rank", ", ".join(f"{rank:g}" for rank in info.ranks) or "not known"),
        (noted("Alpha"), ", ".join(f"{alpha:g}" for alpha in info.alphas)),
        (noted("Layers"), f"{info.num_modules}{of_all}"),
        ("Size", words.exact_size(info.size_bytes)),
    ]
    return [(name, value) for name, value in facts if value]


def metadata_lines(info: LoraInfo) -> str:
    """Return the metadata of a file, a line each."""
    return "\n".join(f"{name}: {value}" for name, value in list(info.metadata.items())[:MAX_METADATA])


def keys_verdict(info: LoraInfo) -> tuple[str, str]:
    """Return tone and sentence about the layers of a file."""
    model = info.titles[0] if info.titles else ""
    if info.unknown_modules:
        return "err", f"{model} does not have: {', '.join(info.unknown_modules)}"
    if model and info.num_expected and info.num_modules >= info.num_expected:
        return "ok", f"All keys match {model}"
    if model and info.num_expected:
        return "info", f"{info.num_modules} of {info.num_expected} layers of {model}"
    return "info", f"{words.count(info.num_modules, 'layer')} · {_base(info)}"


def comfy_verdict(info: LoraInfo) -> tuple[str, str]:
    """Return tone and sentence about ComfyUI."""
    if info.base_model == POCKET:
        return "info", NOT_FOR_COMFY
    match info.comfy:
        case "loads":
            return "ok", "ComfyUI loads all of its layers."
        case "not known":
            return "info", f"Whether ComfyUI loads it is not known. {info.comfy_words}".strip()
        case _:
            return "warn", "ComfyUI knows its layers under other names; the copy gets those."


def _base(info: LoraInfo) -> str:
    if info.base_model == POCKET:
        return "the pocket model"
    return info.base_model or "a model that is not known here"


def needs_other_names(info: LoraInfo) -> bool:
    """Tell whether a copy for ComfyUI has to be written under other names."""
    return info.comfy in {"loses layers", "does not load"}


def lora_dir(chosen: Path) -> Path:
    """Return the folder for LoRA files where somebody chose a ComfyUI folder, its models folder, or that itself."""
    for inner in (chosen / "models" / "loras", chosen / "loras"):
        if inner.is_dir():
            return inner
    return chosen


def copy_target(folder: Path, *, title: str, step: int) -> Path:
    """Return a free name for a copy: the run's title and the step.

    Args:
        folder: Where it goes.
        title: Title of the run; what file names cannot hold is left out.
        step: Step of the file.
    """
    stem = re.sub(r"[^\w-]+", "-", title.lower()).strip("-")[:60] or "lora"
    names = (f"{stem}-step{step}{'' if number == 1 else f'-{number}'}.safetensors" for number in count(1))
    return next(folder / name for name in names if not (folder / name).exists())
