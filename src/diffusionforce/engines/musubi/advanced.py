"""The advanced options of a profile: each known, of the right type, free to be set, and of a value that works.

The engine looks at most of them when the model has been loaded, after all pictures and captions have been prepared. A
misspelt optimiser or a list item without its equals sign would cost that much time, and end in a library's words.
"""

import ast
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from diffusionforce.engines.musubi.families import Family, OptionValue
from diffusionforce.engines.musubi.headers import read_lora_header
from diffusionforce.engines.musubi.lora_files import ENGINE_PREFIX, describe_lora, read_modules
from diffusionforce.engines.musubi.options import require_option
from diffusionforce.engines.musubi.reserved import require_free
from diffusionforce.errors import EngineError, ProfileError, WeightsError
from diffusionforce.job import Profile

ADVANCED = "advanced"
ATTENTIONS = ("sdpa", "flash_attn", "xformers", "flash3")
_LIBRARIES = {"flash_attn": "flash_attn", "xformers": "xformers", "flash3": "flash_attn_interface"}
_LOGGERS = {"tensorboard": ("tensorboard",), "wandb": ("wandb",), "all": ("tensorboard", "wandb")}
_OPTIMIZERS = ("adamw", "adamw8bit", "adafactor")
"""Those that the engine knows by these names, whatever the case."""
_SCHEDULES = (
    "constant",
    "constant_with_warmup",
    "cosine",
    "cosine_with_min_lr",
    "cosine_with_restarts",
    "inverse_sqrt",
    "linear",
    "piecewise_constant",
    "polynomial",
    "rex",
    "warmup_stable_decay",
)
_FORMATS = ("bf16", "bfloat16", "fp16", "float16", "fp32", "float32")
_LAST_TIMESTEP = 1000
_ENGINE_NAMES = f"It loads LoRAs whose names begin with {ENGINE_PREFIX}, like those that a training writes."


def checked_advanced(profile: Profile, *, family: Family) -> dict[str, OptionValue]:
    """Return the advanced options of a profile.

    Raises:
        ProfileError: One is unknown, has a wrong value, is decided elsewhere, or contradicts another setting.
    """
    values: dict[str, OptionValue] = {}
    for name, value in profile.advanced.items():
        require_free(name, family=family)
        require_option(family.trainer.train, name, value, origin=ADVANCED)
        values[name] = tuple(value) if isinstance(value, list) else value
    for problem in _problems(values, profile):
        raise problem
    return values


def require_libraries(profile: Profile) -> None:
    """Refuse advanced options that need a library which is not installed.

    Raises:
        EngineError: The sentence names the option and the library.
    """
    for name, library in _libraries(profile.advanced):
        if importlib.util.find_spec(library) is None:
            raise EngineError(
                f"{ADVANCED}.{name} needs the library {library}, which is not installed.",
                hint="Install it beside the engine's libraries, or leave the option out.",
            )


def require_loras(profile: Profile, *, family: Family) -> None:
    """Refuse LoRAs to begin with, or to merge, that are not there, are none, or are another model's.

    Raises:
        UserError: The sentence names the file.
    """
    start = profile.advanced.get("network_weights")
    for path in (*([start] if start else []), *profile.advanced.get("base_weights", ())):
        lora = describe_lora(Path(path))
        if family.name not in lora.families:
            raise WeightsError(
                f"{path} is no LoRA for {family.title}: it is for {', '.join(lora.titles) or 'a model not known here'}."
            )
        if not all(name.startswith(ENGINE_PREFIX) for name in read_modules(read_lora_header(Path(path)))):
            raise WeightsError(f"The layers of {path} have names that the engine passes over.", hint=_ENGINE_NAMES)
        if path == start and lora.ranks != (profile.lora.rank,):
            ranks = ", ".join(map(str, lora.ranks)) or "not known"
            raise ProfileError(
                f"The rank of {path} is {ranks}, and lora.rank is {profile.lora.rank}.",
                hint="advanced.network_weights takes a LoRA of the rank that is trained.",
            )


def _libraries(advanced: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((name, library) for name, library in _LIBRARIES.items() if advanced.get(name))
    yield from (("log_with", library) for library in _LOGGERS.get(str(advanced.get("log_with", "")), ()))
    for name in ("optimizer_type", "lr_scheduler_type"):
        package, dot, _ = str(advanced.get(name, "")).partition(".")
        if package.lower().endswith("8bit"):
            yield name, "bitsandbytes"
        elif dot:
            yield name, package


def _problems(values: Mapping[str, Any], profile: Profile) -> Iterator[ProfileError]:
    chosen = [name for name in ATTENTIONS if values.get(name)]
    if len(chosen) > 1:
        yield ProfileError(f"advanced.{chosen[0]} and advanced.{chosen[1]} exclude each other.", hint="Keep one.")
    if values.get("xformers") and not values.get("split_attn"):
        yield ProfileError("advanced.xformers needs advanced.split_attn = true.")
    for name, problem_of in _VALUES.items():
        problem = problem_of(values[name]) if name in values else ""
        if problem:
            yield ProfileError(f"advanced.{name} {problem}.")
    if values.get("min_timestep", 0) >= values.get("max_timestep", _LAST_TIMESTEP):
        yield ProfileError("advanced.min_timestep has to be less than advanced.max_timestep.")
    without_warmup = _without_warmup(values)
    if profile.training.warmup_steps and without_warmup:
        yield ProfileError(
            f"advanced.{without_warmup} is {values[without_warmup]!r}, which the engine does not start with a warm-up.",
            hint="Set training.warmup_steps to 0.",
        )


def _without_warmup(values: Mapping[str, Any]) -> str:
    """Return the option for which the engine takes no warm-up; empty if there is none."""
    chooses_rate = "relative_step=False" not in values.get("optimizer_args", ())
    if str(values.get("optimizer_type", "")).lower() == "adafactor" and chooses_rate:
        return "optimizer_type"
    return "lr_scheduler" if values.get("lr_scheduler") == "constant" and "lr_scheduler_type" not in values else ""


def _pair_problem(items: Iterable[str], *, is_python: bool) -> str:
    for item in items:
        name, equals, value = item.partition("=")
        if not name or not equals or "=" in value:
            return f"has the item {item!r}: write it as name=value"
        if is_python:
            try:
                ast.literal_eval(value)
            except (ValueError, SyntaxError):
                return f"has the item {item!r}: its value has to be one of Python's, like 0.1, True or 'text'"
    return ""


def _class_problem(name: str, *, module: str, known: tuple[str, ...] = ()) -> str:
    """Say what is wrong with the name of a class; one of another library is looked for when the run starts."""
    if "." in name or name.lower() in known or hasattr(importlib.import_module(module), name):
        return ""
    return f"is {name!r}: it has to be a class of {module}, or a whole name like library.Class"


def _choice_problem(name: str, *, among: tuple[str, ...]) -> str:
    return "" if name in among else f"is {name!r}: it has to be one of {', '.join(among)}"


def _size_problem(value: float) -> str:
    return "" if value > 0 else f"is {value}: it has to be more than 0"


def _timestep_problem(value: int) -> str:
    return "" if 0 <= value <= _LAST_TIMESTEP else f"is {value}: it has to be from 0 to {_LAST_TIMESTEP}"


_VALUES: Mapping[str, Callable[[Any], str]] = {
    "optimizer_type": lambda name: _class_problem(name, module="torch.optim", known=_OPTIMIZERS),
    "lr_scheduler_type": lambda name: _class_problem(name, module="torch.optim.lr_scheduler"),
    "lr_scheduler": lambda name: _choice_problem(name, among=_SCHEDULES),
    **dict.fromkeys(("vae_dtype", "dit_dtype"), lambda name: _choice_problem(name, among=_FORMATS)),
    "optimizer_args": lambda items: _pair_problem(items, is_python=True),
    "lr_scheduler_args": lambda items: _pair_problem(items, is_python=True),
    "network_args": lambda items: _pair_problem(items, is_python=False),
    **dict.fromkeys(("min_timestep", "max_timestep", "timestep_boundary"), _timestep_problem),
    **dict.fromkeys(("discrete_flow_shift", "sigmoid_scale", "logit_std"), _size_problem),
}
"""What is wrong with a value that has the right type, as the end of a sentence; empty if nothing is."""
