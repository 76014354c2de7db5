"""What people call the settings of a profile: label, unit, a note of a few words, and other words to find it by.

What a setting is, which values it takes and its default come from the typed model of profiles; here is only what a
type cannot say. A test holds both together: every setting has its words, and no words are left over.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SettingWords:
    """The words of one setting.

    Attributes:
        label: Its name.
        unit: What a number of it counts, as it stands behind the number.
        note: One line about what it does, shown under it while there is nothing better to say.
        finds: Further words that people look for it by.
        essential: Whether it is in sight from the start; the others are under Advanced.
    """

    label: str
    unit: str = ""
    note: str = ""
    finds: str = ""
    essential: bool = True


def _words(label: str, unit: str = "", note: str = "", finds: str = "", *, essential: bool = True) -> SettingWords:
    return SettingWords(label=label, unit=unit, note=note, finds=finds, essential=essential)


def _more(label: str, unit: str = "", note: str = "", finds: str = "") -> SettingWords:
    return _words(label, unit, note, finds, essential=False)


SECTIONS = {
    "model": "Model",
    "lora": "LoRA",
    "training": "Training",
    "dataset": "Pictures",
    "samples": "Previews",
    "checkpoints": "LoRA files",
    "devices": "Devices",
    "memory": "Memory",
    "": "About this profile",
    "advanced": "Options of the engine",
}
"""Titles of the tables of a profile, in the order of the page."""

WORDS: dict[str, SettingWords] = {
    "title": _words("Name", note="what lists and runs call it"),
    "model.family": _words("Base model", note="what the LoRA will be for", finds="dit checkpoint family architecture"),
    "model.precision": _words("Precision", note="auto takes what your cards do best", finds="bf16 fp32 fp16 dtype"),
    "model.weights": _more("Weights file", note="empty: the app looks for it", finds="dit safetensors path"),
    "model.files": _more("Other files of the model", note="vae = /path/to/file, one a line", finds="vae text encoder"),
    "lora.rank": _words("Rank", note="higher learns more detail, larger files", finds="dim dimension network_dim size"),
    "lora.alpha": _words("Strength (alpha)", note="equal to rank keeps it neutral", finds="network_alpha scale"),
    "lora.dropout": _more("Dropout", note="0 is off; 0.1 can help few pictures", finds="network_dropout regularise"),
    "training.steps": _words(
        "Steps", "steps", note="how long it learns", finds="max_train_steps length duration epochs iterations"
    ),
    "training.learning_rate": _words("Learning rate", note="how far each step goes", finds="lr speed"),
    "training.batch_size": _words("Pictures at a time", note="more needs more memory", finds="batch size vram"),
    "training.gradient_accumulation": _words(
        "Added up before a step", "batches", note="two or more keep both cards busy", finds="micro-batch accumulate"
    ),
    "training.warmup_steps": _words("Warm-up", "steps", note="a gentle start", finds="lr_warmup"),
    "training.schedule": _words("Learning rate falls", note="after the warm-up", finds="lr scheduler cosine constant"),
    "training.optimizer": _more("Optimiser", finds="optimizer adam adamw"),
    "training.weight_decay": _more("Weight decay", finds="decay regularise"),
    "training.max_grad_norm": _more("Clip gradients at", note="0 is off", finds="max_grad_norm clipping"),
    "training.timestep_sampling": _more("Noise levels", note="those named for a model suit it", finds="timestep sigma"),
    "training.logit_mean": _more("Noise, mean", finds="logit-normal timestep"),
    "training.logit_std": _more("Noise, spread", finds="logit-normal timestep std"),
    "training.flow_shift": _more("Noise, shift", note="more trains on stronger noise", finds="discrete_flow_shift"),
    "training.gradient_checkpointing": _more(
        "Recompute activations", note="less memory, a third more time", finds="gradient checkpointing vram memory"
    ),
    "training.cuda_graphs": _more(
        "Replay blocks from CUDA graphs",
        note="experimental; for cards that wait for the processor",
        finds="cuda graphs",
    ),
    "training.seed": _more("Seed", note="the same seed repeats a run", finds="random reproducible"),
    "dataset.folder": _words("Folder", note="a run may choose another one", finds="dataset images pictures path demo"),
    "dataset.width": _words("Width", "px", finds="resolution size image bucket"),
    "dataset.height": _words("Height", "px", finds="resolution size image bucket"),
    "dataset.trigger": _words("Trigger word", note="calls the subject in prompts", finds="token keyword subject"),
    "dataset.held_out_folder": _more("Held-out folder", note="empty: some pictures are split off", finds="validation"),
    "dataset.regularisation_share": _more(
        "Generic pictures mixed in",
        note="0.25: one in four; keeps the rest from being forgotten",
        finds="regularization prior",
    ),
    "samples.prompts": _words("Preview prompts", note="one a line", finds="sample sampling prompt"),
    "samples.every_steps": _words("Preview every", "steps", finds="sample_every_n_steps sampling"),
    "samples.before_training": _words("Preview before training", note="shows what changed", finds="sample_at_first"),
    "samples.num_steps": _more("Denoising steps", "steps", note="more is slower and cleaner", finds="sampling steps"),
    "samples.guidance": _more("Guidance", note="1 is off", finds="cfg scale sampling"),
    "samples.seed": _more("Seed of previews", note="the same in every pass", finds="sampling random"),
    "samples.width": _more("Preview width", "px", finds="sampling size resolution"),
    "samples.height": _more("Preview height", "px", finds="sampling size resolution"),
    "samples.num_frames": _more("Frames", "frames", note="1 is a picture", finds="video length sampling"),
    "checkpoints.every_steps": _words("Save every", "steps", finds="save_every_n_steps checkpoint"),
    "checkpoints.keep": _words(
        "Keep the newest", "files", note="older ones are deleted", finds="save_last_n_steps checkpoint"
    ),
    "checkpoints.keep_best": _more("Keep the best", "files", note="by held-out loss", finds="best checkpoint"),
    "checkpoints.keep_every_steps": _more("Keep one every", "steps", note="0 keeps none for it", finds="checkpoint"),
    "devices.use": _more("Devices", note="auto, cpu, or cuda:0, cuda:1", finds="gpu cards cuda"),
    "memory.reserve_gb": _more("Left free on each card", "GB", note="empty: chosen for you", finds="vram reserve"),
    "memory.budget_gb": _more("Most of each card", "GB", note="empty: no limit", finds="vram budget limit"),
    "description": _words("What it is for", note="a sentence or two, for you"),
    "advanced": _more(
        "Passed on as they are", note="option = value, one a line", finds="musubi pass-through extra options"
    ),
}
"""Words of every setting, by dotted name, in the order of the page."""

UNTOLD = frozenset({"schema_version", "based_on", "model.engine"})
"""Settings that nobody edits: they follow from others."""

CHOICES: dict[str, dict[str, str]] = {
    "model.precision": {"auto": "auto, the best here", "fp32": "fp32, exact", "bf16": "bf16, half the memory"},
    "training.optimizer": {"adamw": "AdamW"},
    "training.schedule": {"constant": "not at all", "cosine": "as a cosine"},
    "training.timestep_sampling": {
        "logit_normal": "logit-normal",
        "uniform": "uniform",
        "shift": "shifted",
        "flux_shift": "as FLUX.1",
        "flux2_shift": "as FLUX.2",
        "qwen_shift": "as Qwen-Image",
        "krea2_shift": "as Krea 2",
        "ideogram4_shift": "as Ideogram 4",
        "logsnr": "log SNR",
    },
}
"""What people call the values of a choice."""
