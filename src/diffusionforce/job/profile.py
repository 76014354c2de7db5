"""What a user may write in a profile: the settings of one kind of training, in one TOML file.

A profile says *how* to train (model, LoRA, steps, samples); a job (`diffusionforce.job.job`) says *what* on: a
profile, a dataset, a place for the results. Unknown keys are refused rather than ignored, because a misspelt
setting that silently does nothing costs a night of training.
"""

import re
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = 1

Engine = Literal["pocket", "musubi"]
Precision = Literal["auto", "fp32", "bf16"]
Size = Annotated[int, Field(ge=64, le=8192, multiple_of=16)]
Sizes = Annotated[tuple[Annotated[float, Field(ge=0, le=1024, strict=True)], ...], Field(strict=False)]
Texts = Annotated[tuple[str, ...], Field(strict=False)]  # TOML has arrays, no tuples.

TimestepSampling = Literal[
    "logit_normal",
    "uniform",
    "shift",
    "flux_shift",
    "flux2_shift",
    "qwen_shift",
    "krea2_shift",
    "ideogram4_shift",
    "logsnr",
]

_CARD = re.compile(r"cuda:(0|[1-9][0-9]?)")
_MAX_CARD_INDEX = 63


class Section(BaseModel):
    """Base of every table in a profile: unknown keys are errors, values do not change once read.

    A value of another type is an error too: `steps = "5"` or `steps = true` is a slip that a guess would hide.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)


class ModelSettings(Section):
    """The base model that the LoRA is trained on."""

    family: str = Field(min_length=1, description="Name of the model family, for example pocket or flux2-klein-9b.")
    engine: Engine = Field(description="Which engine trains it.")
    weights: str = Field(
        default="", description="File or folder with the base weights; empty takes the ones that the engine knows."
    )
    files: dict[str, str] = Field(
        default={},
        description="Files of the model by what they are, like vae or text_encoder; the others are looked for.",
    )
    precision: Precision = Field(
        default="auto", description="Number format of the model while training; auto picks what the device does best."
    )


class LoraSettings(Section):
    """Size and strength of the LoRA."""

    rank: int = Field(default=16, ge=1, le=1024, description="Rank of the LoRA matrices.")
    alpha: float = Field(
        default=16.0, gt=0, le=4096, description="Scale of the LoRA; it acts as alpha divided by rank."
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="Share of the LoRA's inputs dropped while training.")


class TrainingSettings(Section):
    """Steps, optimiser and noise."""

    steps: int = Field(ge=1, le=1_000_000, description="Optimiser steps.")
    batch_size: int = Field(default=1, ge=1, le=1024, description="Pictures in one forward pass.")
    gradient_accumulation: int = Field(default=1, ge=1, le=1024, description="Batches summed up before one step.")
    learning_rate: float = Field(default=1e-4, gt=0, le=1e6, description="Learning rate after the warm-up.")
    optimizer: Literal["adamw"] = Field(default="adamw", description="Optimiser.")
    weight_decay: float = Field(default=0.01, ge=0, le=10, description="Weight decay of the optimiser.")
    warmup_steps: int = Field(default=0, ge=0, description="Steps over which the learning rate rises from zero.")
    schedule: Literal["constant", "cosine"] = Field(
        default="constant", description="How the learning rate falls after the warm-up."
    )
    max_grad_norm: float = Field(default=1.0, ge=0, description="Clip gradients to this norm; 0 switches clipping off.")
    timestep_sampling: TimestepSampling = Field(
        default="logit_normal", description="How noise levels are drawn; those named for a model go with its pictures."
    )
    logit_mean: float = Field(default=0.0, ge=-10, le=10, description="Mean of the logit-normal noise levels.")
    logit_std: float = Field(default=1.0, gt=0, le=10, description="Spread of the logit-normal noise levels.")
    flow_shift: float = Field(default=1.0, gt=0, le=100, description="Shift of the noise levels towards noise.")
    gradient_checkpointing: bool = Field(
        default=False, description="Recompute activations in the backward pass: less memory, about a third more time."
    )
    cuda_graphs: bool = Field(
        default=False,
        description="Experimental: replay the blocks on the cards from captured CUDA graphs. Faster where the cards "
        "wait for the processor, at the price of memory. Needs gradient_checkpointing.",
    )
    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of everything random in the run.")

    @model_validator(mode="after")
    def _warmup_ends_before_the_run(self) -> "TrainingSettings":
        if self.warmup_steps > self.steps:
            raise ValueError(f"warmup_steps ({self.warmup_steps}) is larger than steps ({self.steps})")
        return self

    @model_validator(mode="after")
    def _graphs_recompute(self) -> "TrainingSettings":
        if self.cuda_graphs and not self.gradient_checkpointing:
            raise ValueError("cuda_graphs needs gradient_checkpointing: what is replayed is recomputed")
        return self


class DatasetSettings(Section):
    """Which pictures are trained on when the job names none, and how they are prepared."""

    folder: str = Field(
        default="",
        description="Folder of pictures with a caption file (.txt) beside each; demo:NAME is a built-in one.",
    )
    held_out_folder: str = Field(
        default="", description="Pictures kept out of training, to measure the held-out loss; empty splits some off."
    )
    width: Size = Field(default=1024, description="Width of the training pictures in pixels.")
    height: Size = Field(default=1024, description="Height of the training pictures in pixels.")
    trigger: str = Field(
        default="",
        description="Word that calls the trained subject: previews ask for it, and the LoRA file is named after it.",
    )
    regularisation_share: float = Field(
        default=0.0, ge=0, lt=1, description="Share of generic pictures mixed in, which keeps the subject from leaking."
    )


class SampleSettings(Section):
    """Samples (previews) made before, during and after training."""

    prompts: Texts = Field(
        default=(),
        max_length=64,
        description="Prompts, one sample each; {trigger} in one stands for the word that calls the subject.",
    )
    every_steps: int = Field(default=0, ge=0, description="Steps between sample passes; 0 makes them at the end only.")
    before_training: bool = Field(default=True, description="Also make samples at step 0, to compare with.")
    num_steps: int = Field(default=25, ge=1, le=1000, description="Denoising steps of one sample.")
    guidance: float = Field(default=2.5, ge=1, le=100, description="Classifier-free guidance; 1 switches it off.")
    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of the samples; the same in every pass.")
    width: Size = Field(default=1024, description="Width of a sample in pixels.")
    height: Size = Field(default=1024, description="Height of a sample in pixels.")
    num_frames: int = Field(default=1, ge=1, le=1000, description="Frames of a video sample; 1 is a picture.")


class CheckpointSettings(Section):
    """LoRA files saved while training, each with the state from which a run can go on."""

    every_steps: int = Field(default=0, ge=0, description="Steps between saves; 0 saves at the end only.")
    keep: int = Field(default=5, ge=1, le=1000, description="How many of the newest saves are kept.")
    keep_best: int = Field(
        default=1, ge=0, le=1000, description="How many saves with the lowest held-out loss are kept besides."
    )
    keep_every_steps: int = Field(
        default=0, ge=0, description="Saves at multiples of this many steps are all kept besides; 0 keeps none for it."
    )


class DeviceSettings(Section):
    """Where the blocks of the model go."""

    use: Texts = Field(
        default=("auto",), min_length=1, max_length=16, description="auto, or devices in order, like cuda:0, cuda:1."
    )

    @model_validator(mode="after")
    def _devices_are_named(self) -> "DeviceSettings":
        for device in self.use:
            card = _CARD.fullmatch(device)
            if device not in {"auto", "cpu"} and (card is None or int(card[1]) > _MAX_CARD_INDEX):
                allowed = f"auto, cpu, or cuda: and a number from 0 to {_MAX_CARD_INDEX}"
                raise ValueError(f"{device!r} is no device; write {allowed}")
        if "auto" in self.use and len(self.use) > 1:
            raise ValueError("auto stands alone; leave it out to name devices")
        if len({device.partition(":")[0] for device in self.use}) > 1:
            raise ValueError("cpu and cuda devices cannot share one model")
        cards = [device for device in self.use if device != "cpu"]
        if len(set(cards)) < len(cards):
            raise ValueError("a card is named twice")
        return self


class MemorySettings(Section):
    """How much of each card's memory the training may hold; sizes in units of 2^30 bytes.

    By default that is what is free when it starts, less a reserve that grows with the card and is larger where a
    screen is attached. Several numbers are for the devices in their order, one number is for all of them.
    """

    reserve_gb: Sizes = Field(
        default=(), max_length=16, description="Free memory that is left alone on each card; empty lets us choose."
    )
    budget_gb: Sizes = Field(
        default=(), max_length=16, description="The most that the training may hold on each card; empty sets no limit."
    )


def _plain_settings(table: dict[str, Any]) -> dict[str, Any]:
    """Refuse what cannot be an option of an engine: tables, dates, lists of lists."""
    for name, value in table.items():
        items = cast(list[object], value) if isinstance(value, list) else [value]
        if not all(isinstance(item, bool | int | float | str) for item in items):
            raise ValueError(f"{name} has to be true or false, a number, a text, or a list of these")
    return table


Advanced = Annotated[dict[str, Any], AfterValidator(_plain_settings)]


class Profile(Section):
    """One profile, as it stands in `profiles/NAME.toml`."""

    schema_version: Literal[1] = Field(description="Version of this file format.")
    title: str = Field(min_length=1, max_length=80, description="Name that people read.")
    description: str = Field(default="", description="What the profile is for, in a sentence or two.")
    based_on: str = Field(
        default="", max_length=200, description="Name of the built-in profile that this one is a copy of."
    )
    model: ModelSettings
    lora: LoraSettings = LoraSettings()
    training: TrainingSettings
    dataset: DatasetSettings = DatasetSettings()
    samples: SampleSettings = SampleSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    devices: DeviceSettings = DeviceSettings()
    memory: MemorySettings = MemorySettings()
    advanced: Advanced = Field(default={}, description="Options of the musubi engine, by the names that it has.")

    @property
    def num_samples(self) -> int:
        """Samples of a whole run: every prompt before training, every so many steps, and at the end."""
        every, steps = self.samples.every_steps, self.training.steps
        passes = self.samples.before_training + ((steps - 1) // every if every else 0) + 1
        return passes * len(self.samples.prompts)

    @model_validator(mode="after")
    def _only_musubi_has_options(self) -> "Profile":
        if self.model.engine != "musubi" and (self.advanced or self.model.files):
            where = "advanced" if self.advanced else "model.files"
            raise ValueError(f"{where} is for the engine musubi only; leave it out for the engine {self.model.engine}")
        return self
