"""From a profile to the engine's options, each checked, and none left to a default that does not work.

The engine's own defaults do not train: no optimiser, a learning rate of 2e-6, a noise schedule that none of the models
was made with. So every option that decides something is written out: the family's recommendations first, then what the
profile says, then its `advanced` options, of which those are refused that the profile or the run decides elsewhere.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from diffusionforce.engines.musubi.advanced import ATTENTIONS, checked_advanced
from diffusionforce.engines.musubi.families import Family, OptionValue
from diffusionforce.engines.musubi.headers import FilePrecision
from diffusionforce.engines.musubi.options import Option, options_of, require_option
from diffusionforce.engines.musubi.reserved import require_free
from diffusionforce.errors import ProfileError
from diffusionforce.job import Profile

_ON_BY_DEFAULT = {"nabla_add_sta": "no_nabla_add_sta"}
"""Flags that are on unless another one is given."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where a training reads and writes."""

    dataset_config: Path
    output_dir: Path
    output_name: str
    sample_prompts: Path | None = None
    """None makes no samples."""
    resume: Path | None = None
    """Folder of a saved state to go on from."""


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """How the weights are held, as the plan says."""

    eight_bit: bool = False
    is_whole: bool = True
    """Whether all of the model is on one card all the time."""


@dataclass(frozen=True, kw_only=True)
class EngineArguments:
    """The options of one program of the engine."""

    script: str
    values: Mapping[str, OptionValue]

    def argv(self) -> list[str]:
        """Return them as a command line, without the program."""
        words: list[str] = []
        for name, value in self.values.items():
            if isinstance(value, bool):
                words += [f"--{name}"] if value else [f"--{_ON_BY_DEFAULT[name]}"] if name in _ON_BY_DEFAULT else []
            elif isinstance(value, tuple):
                words += [f"--{name}", *(str(item) for item in value)]
            else:
                words.append(f"--{name}={value}")
        return words

    def toml(self) -> bytes:
        """Return them as the file that `--config_file` takes."""
        table = {name: list(value) if isinstance(value, tuple) else value for name, value in self.values.items()}
        return tomli_w.dumps(table).encode()


def training_arguments(
    profile: Profile,
    *,
    family: Family,
    files: Mapping[str, Path],
    places: Places,
    memory: MemoryUse | None = None,
    file_precision: FilePrecision = "unknown",
) -> EngineArguments:
    """Return the options of a training.

    Args:
        profile: What the user wants.
        family: Its model.
        files: The model's files by role; those that only samples need may be missing if there are none.
        places: Where to read and write.
        memory: How the weights are held; all in 16 bits and none swapped when None.
        file_precision: Number format of the transformer's file, as its header says.

    Raises:
        ProfileError: Settings contradict each other or the file, or an advanced option is refused.
    """
    memory = memory or MemoryUse()
    # Another transformer for samples takes the place of the one that is trained, on one card and as a whole.
    usable = {role: path for role, path in files.items() if memory.is_whole or not _is_for_samples_alone(family, role)}
    values = {
        **family.defaults,
        **dict(_versions(family)),
        **_files(family, usable, with_samples=places.sample_prompts is not None),
        **_places(places),
        **_lora(profile, family),
        **_training(profile, family),
        **_memory(family, memory, file_precision=file_precision),
        "mixed_precision": mixed_precision(profile, family=family, file_precision=file_precision),
        **_saves(profile),
        **(_samples(profile) if places.sample_prompts is not None else {}),
        **checked_advanced(profile, family=family),
    }
    values |= _attention(values)
    for name, value in values.items():
        require_option(family.trainer.train, name, value, origin="the engine's options")
    return EngineArguments(script=family.trainer.train, values=values)


def picture_arguments(
    family: Family, *, files: Mapping[str, Path], dataset_config: Path, device: str
) -> EngineArguments:
    """Return the options of the program that prepares pictures.

    Args:
        family: The model.
        files: Its files by role.
        dataset_config: The engine's description of the dataset.
        device: Where to work, for example `cuda:1`.
    """
    return EngineArguments(
        script=family.trainer.cache_pictures,
        values={
            **_caching(dataset_config, device),
            **{name: str(files[name]) for name in _roles(family, "pictures")},
            **family.picture_options,
        },
    )


def caption_arguments(
    family: Family, *, files: Mapping[str, Path], dataset_config: Path, device: str, eight_bit: bool = False
) -> EngineArguments:
    """Return the options of the program that prepares captions; `eight_bit` holds the text encoder in 8 bits."""
    values: dict[str, OptionValue] = {
        **_caching(dataset_config, device),
        **{name: str(files[name]) for name in _roles(family, "captions")},
        **family.caption_options,
    }
    if eight_bit and family.eight_bit_captions:
        values[family.eight_bit_captions] = True
    return EngineArguments(script=family.trainer.cache_captions, values=values)


def require_checkpointing(profile: Profile, *, family: Family) -> None:
    """Refuse to train without recomputing activations what the engine cannot train so.

    Raises:
        ProfileError: `training.gradient_checkpointing` is off, and the model needs it.
    """
    if family.needs_checkpointing and not profile.training.gradient_checkpointing:
        raise ProfileError(
            f"{family.title} cannot be trained with training.gradient_checkpointing off: the engine overwrites what "
            "the gradients are made from.",
            hint="Set training.gradient_checkpointing to true.",
        )


def mixed_precision(profile: Profile, *, family: Family, file_precision: FilePrecision) -> str:
    """Return the number format to compute in, as the engine calls it.

    Raises:
        ProfileError: The model trains in the format of its file only, and the profile asks for another one.
    """
    wanted = profile.model.precision
    if wanted == "fp32":
        return "no"
    if family.keeps_precision and file_precision == "fp16":
        if wanted == "bf16":
            raise ProfileError(
                f"The file of {family.title} is in fp16, and model.precision is bf16.",
                hint='Write precision = "auto", which trains in the format of the file, or use the bf16 file.',
            )
        return "fp16"
    return "bf16"


def _versions(family: Family) -> Iterator[tuple[str, OptionValue]]:
    if family.version is not None:
        yield family.version
    yield "network_module", family.trainer.network_module


def _roles(family: Family, use: str) -> list[str]:
    return [file.role for file in family.files if use in file.uses]


def _files(family: Family, files: Mapping[str, Path], *, with_samples: bool) -> dict[str, OptionValue]:
    values: dict[str, OptionValue] = {}
    for file in family.files:
        is_needed = "training" in file.uses or (with_samples and not file.optional)
        if file.role in files and ("training" in file.uses or with_samples):
            values[file.role] = str(files[file.role])
        elif is_needed:
            raise ProfileError(f"{family.title} needs its {file.title}, and none is known.")
    return values


def _is_for_samples_alone(family: Family, role: str) -> bool:
    file = family.file(role)
    return file is not None and file.optional and file.uses == {"samples"}


def _places(places: Places) -> dict[str, OptionValue]:
    values: dict[str, OptionValue] = {
        "dataset_config": str(places.dataset_config),
        "output_dir": str(places.output_dir),
        "output_name": places.output_name,
    }
    optional = {"sample_prompts": places.sample_prompts, "resume": places.resume}
    return values | {name: str(path) for name, path in optional.items() if path is not None}


def _lora(profile: Profile, family: Family) -> dict[str, OptionValue]:
    lora = profile.lora
    values: dict[str, OptionValue] = {"network_dim": lora.rank, "network_alpha": lora.alpha}
    return values | ({"network_dropout": lora.dropout} if lora.dropout else {})


def _training(profile: Profile, family: Family) -> dict[str, OptionValue]:
    require_checkpointing(profile, family=family)
    training = profile.training
    constant = "constant_with_warmup" if training.warmup_steps else "constant"
    values: dict[str, OptionValue] = {
        "max_train_steps": training.steps,
        "gradient_accumulation_steps": training.gradient_accumulation,
        "learning_rate": training.learning_rate,
        "optimizer_type": "AdamW",
        "lr_scheduler": constant if training.schedule == "constant" else training.schedule,
        "lr_warmup_steps": training.warmup_steps,
        "max_grad_norm": training.max_grad_norm,
        "gradient_checkpointing": training.gradient_checkpointing,
        "seed": training.seed,
        # Prepared files are small; workers would each load the engine again on Windows.
        "max_data_loader_n_workers": 0,
        **_noise(profile),
    }
    if "optimizer_type" not in profile.advanced:
        values["optimizer_args"] = (f"weight_decay={training.weight_decay!r}",)
    return values


def _noise(profile: Profile) -> dict[str, OptionValue]:
    """The noise levels; a logit-normal with a mean is a shifted one: sigmoid(z + m) is sigmoid(z) shifted by exp(m)."""
    training = profile.training
    if training.timestep_sampling == "logit_normal":
        shift = training.flow_shift * math.exp(training.logit_mean)
        return {"timestep_sampling": "shift", "discrete_flow_shift": shift, "sigmoid_scale": training.logit_std}
    values: dict[str, OptionValue] = {"timestep_sampling": training.timestep_sampling}
    if training.timestep_sampling == "logsnr":
        values |= {"logit_mean": training.logit_mean, "logit_std": training.logit_std}
    return {**values, "discrete_flow_shift": training.flow_shift}


def _memory(family: Family, memory: MemoryUse, *, file_precision: FilePrecision) -> dict[str, OptionValue]:
    values: dict[str, OptionValue] = {}
    if file_precision == "fp8" and family.eight_bit != "already":
        values["fp8_base"] = True  # The file is in 8 bits without scales; the engine cannot give it some.
    elif memory.eight_bit and family.eight_bit != "already":
        if family.eight_bit == "no":
            raise ProfileError(f"{family.title} cannot be trained with 8-bit weights.")
        values["fp8_base"] = True
        if family.eight_bit == "scaled":
            values["fp8_scaled"] = True
    return values


def _saves(profile: Profile) -> dict[str, OptionValue]:
    """When it saves. Which LoRA files stay is ours to say, as it knows one rule only; of its states two lie there."""
    checkpoints = profile.checkpoints
    if not checkpoints.every_steps:
        return {"save_state_on_train_end": True}
    return {
        "save_every_n_steps": checkpoints.every_steps,
        "save_state": True,
        "save_last_n_steps_state": checkpoints.every_steps,
    }


def _samples(profile: Profile) -> dict[str, OptionValue]:
    values: dict[str, OptionValue] = {"sample_at_first": profile.samples.before_training}
    every = profile.samples.every_steps or profile.training.steps
    return {**values, "sample_every_n_steps": every}


def _attention(values: Mapping[str, Any]) -> dict[str, OptionValue]:
    return {} if any(values.get(name) for name in ATTENTIONS) else {"sdpa": True}


def _caching(dataset_config: Path, device: str) -> dict[str, OptionValue]:
    """Stale files are not the engine's to delete: it takes those of another dataset for stale. One picture or caption
    at a time keeps a card busy; several would take a multiple of its memory."""
    values: dict[str, OptionValue] = {"dataset_config": str(dataset_config), "device": device, "batch_size": 1}
    return {**values, "skip_existing": True, "keep_cache": True}


def known_options(family: Family) -> Mapping[str, Option]:
    """Return the options that `advanced` takes for a family, for people to choose from."""
    options = options_of(family.trainer.train)
    return {name: option for name, option in sorted(options.items()) if not _is_reserved(name, family)}


def _is_reserved(name: str, family: Family) -> bool:
    try:
        require_free(name, family=family)
    except ProfileError:
        return True
    return False
