"""What there is to know about a model family, as data: scripts, blocks, files, settings, traps.

The engine has one script per architecture and says what each needs in prose. Everything that the rest of the product
asks about a model is answered from these records, so that adding a family is one file beside this one and one test.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

OptionValue: TypeAlias = bool | int | float | str | tuple[str, ...] | tuple[float, ...]
Use: TypeAlias = Literal["training", "pictures", "captions", "samples"]
"""What a file is read for: training itself, preparing pictures or captions before it, or making samples."""
Validated: TypeAlias = Literal["trained tiny on two devices", "trained in full size on two cards"]
NO_PREFIX = ("",)
ALL_IN_ONE_PREFIX = "model.diffusion_model."
"""Begins the names of the model's tensors in a file that holds other models, too."""


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """The engine's programs for one architecture, named as modules of `musubi_tuner`."""

    train: str
    cache_pictures: str
    cache_captions: str
    trainer_class: str
    network_module: str
    """Module of the LoRA, as `--network_module` takes it."""
    captions_in_turns: bool = False
    """Whether the captions' program adds to its files in turns, one text encoder after the other."""
    architecture: str
    """Full name of the architecture in the metadata of what it writes."""


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """One list of equal blocks of a model, in the order in which a forward runs through it."""

    name: str
    """Attribute of the model."""
    count: int
    million_parameters: float
    lora_leaves: tuple[str, ...]
    """The layers of a block that get a LoRA by default, named relative to the block."""

    def lora_modules(self) -> Iterator[str]:
        """Yield the dotted name of every layer that gets a LoRA."""
        for index in range(self.count):
            yield from (f"{self.name}.{index}.{leaf}" for leaf in self.lora_leaves)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """How a file of weights is recognised: tensors of these names and shapes are in it, and none of others.

    Names are taken to be the ends of those in the file, because publishers put different prefixes before them.
    """

    title: str
    """What such a file is, for people."""
    tensors: Mapping[str, tuple[int, ...]]
    absent: tuple[str, ...] = ()
    prefixes: tuple[str, ...] | None = None
    """What may stand before the names for the engine to load it; None does not look at that."""


@dataclass(frozen=True, kw_only=True)
class WeightFile:
    """One file of weights, or one set of split files, or one folder.

    Attributes:
        role: The engine's option that takes it, for example `dit` or `text_encoder`.
        title: What it is, for people.
        repository: Repository on Hugging Face that has it.
        path: Its path there; of split files the pattern that all of them match; of a folder `*`.
        gib: Rough size in units of 2^30 bytes.
        uses: What it is read for.
        signature: How it is recognised, of a folder by all its files together; None takes any file.
        other_names: File names under which others publish the same weights.
        licence: Its terms, as their publisher calls them.
        gated: Whether the terms have to be accepted on the repository's page before it can be downloaded.
        optional: Whether a run can do without it.
        is_folder: Whether the engine wants the folder rather than a file.
    """

    role: str
    title: str
    repository: str
    path: str
    gib: float
    uses: frozenset[Use]
    signature: Signature | None
    other_names: tuple[str, ...] = ()
    licence: str = "see its page"
    gated: bool = False
    optional: bool = False
    is_folder: bool = False

    @property
    def name(self) -> str:
        """The file's name at its publisher, or what stands for it."""
        return self.path.rpartition("/")[2] if not self.is_folder else self.repository.rpartition("/")[2]

    @property
    def is_split(self) -> bool:
        """Whether it comes in several numbered files, of which the engine is given the first."""
        return "*" in self.path and not self.is_folder

    @property
    def page(self) -> str:
        """The web page with the file and its terms."""
        return f"https://huggingface.co/{self.repository}"

    def __str__(self) -> str:
        return f"{self.title}: {self.path} from {self.repository} (about {self.gib:g} GB)"


@dataclass(frozen=True, kw_only=True)
class ComfyLora:
    """Whether ComfyUI loads the LoRA that the engine writes, with its stock loader."""

    loads: Literal["as written", "renamed", "converted", "unknown"]
    """`renamed`: with names in dots, as `diffusion_model.BLOCK.LAYER`; `converted`: tensors have to be joined."""
    leaves_lost: tuple[str, ...] = ()
    """Ends of layer names that it passes over if the file is used as written."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it calls the ends of layer names, where they differ; several of the engine's may be one of its own."""
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A model that the engine can train.

    Attributes:
        name: Value of `model.family` in a profile.
        title: Name that people read.
        trainer: The engine's programs for it.
        version: The option that tells the trainer which model of its architecture it is, if there is one.
        width: Numbers of a token between the blocks: the input of the first layer with a LoRA.
        dit_class: Class of the transformer, with its module.
        blocks: Its lists of blocks, in order.
        files: What has to be there.
        defaults: What the engine's documentation recommends, as options of the trainer.
        picture_options: Further options when pictures are prepared.
        caption_options: Further options when captions are prepared.
        sample_steps: Denoising steps of a sample that the documentation names.
        sample_guidance: Guidance of a sample that the documentation names.
        guidance_key: What the engine calls it in a prompt: given to the model, or classifier-free.
        sample_options: What every prompt has to say where the engine's own values do not suit the model.
        sample_inputs: What a sample is made from beside its prompt.
        makes: What it generates.
        trains_on: What a dataset for it holds.
        eight_bit: How its weights can be held in 8 bits: scaled by the engine, plain files only, already so, or not.
        eight_bit_captions: The option that holds the text encoder in 8 bits; empty if there is none.
        keeps_precision: Whether it trains in the number format of its file and in no other.
        needs_checkpointing: Whether the engine can only train it with activations recomputed.
        tokenizers: Repositories from which the engine fetches tokenizers when captions are prepared.
        licence_folders: Folders of the engine with terms of their own that it runs.
        validated: What has been tried, and how. In full size with random weights: nobody looked at what it learnt.
        traps: What goes wrong easily, one sentence each.
        other_lora_modules: Layers outside the blocks that get a LoRA by default.
        comfy: Whether ComfyUI loads the result.
    """

    name: str
    title: str
    trainer: Trainer
    version: tuple[str, str] | None
    width: int
    dit_class: str
    blocks: tuple[Blocks, ...]
    files: tuple[WeightFile, ...]
    defaults: Mapping[str, OptionValue]
    picture_options: Mapping[str, OptionValue] = field(default_factory=dict[str, OptionValue])
    caption_options: Mapping[str, OptionValue] = field(default_factory=dict[str, OptionValue])
    sample_steps: int = 20
    sample_guidance: float = 1.0
    guidance_key: Literal["guidance_scale", "cfg_scale"] = "cfg_scale"
    sample_options: Mapping[str, float | str | None] = field(default_factory=dict[str, float | str | None])
    sample_inputs: Literal["prompt", "picture", "control picture"] = "prompt"
    makes: Literal["pictures", "videos"] = "pictures"
    trains_on: Literal["pictures", "pictures with control pictures", "videos"] = "pictures"
    eight_bit: Literal["scaled", "plain", "already", "no"] = "scaled"
    eight_bit_captions: str = ""
    keeps_precision: bool = False
    needs_checkpointing: bool = False
    tokenizers: tuple[str, ...] = ()
    licence_folders: tuple[str, ...] = ()
    validated: Validated = "trained tiny on two devices"
    traps: tuple[str, ...] = ()
    other_lora_modules: tuple[str, ...] = ()
    comfy: ComfyLora

    def file(self, role: str) -> WeightFile | None:
        """Return the file of a role, if the family has one."""
        return next((file for file in self.files if file.role == role), None)

    def files_for(self, uses: frozenset[Use]) -> tuple[WeightFile, ...]:
        """Return the files that are read for any of these uses."""
        return tuple(file for file in self.files if file.uses & uses)

    def comfy_name(self, module: str) -> str:
        """Return what ComfyUI calls a layer, given by the engine's dotted name."""
        for leaf, name in self.comfy.names.items():
            if module.endswith(leaf):
                return module.removesuffix(leaf) + name
        return module

    def lora_modules(self) -> frozenset[str]:
        """Return the dotted names of all layers that get a LoRA by default."""
        in_blocks = (name for blocks in self.blocks for name in blocks.lora_modules())
        return frozenset((*in_blocks, *self.other_lora_modules))


@dataclass(frozen=True, kw_only=True)
class Unavailable:
    """A model that people ask for and that cannot be trained here."""

    name: str
    title: str
    reason: str
    instead: str = ""
