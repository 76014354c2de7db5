"""Options of the engine that a profile cannot set as advanced ones, each with the reason and the way to do it.

Two places for one value would leave it open which counts, and some options undo what the product does around the
engine: they move whole models, start other processes, or end the program.
"""

from collections.abc import Mapping

from diffusionforce.engines.musubi.families import Family
from diffusionforce.errors import ProfileError

PROFILE_SETTINGS: Mapping[str, str] = {
    "network_dim": "lora.rank",
    "network_alpha": "lora.alpha",
    "network_dropout": "lora.dropout",
    "max_train_steps": "training.steps",
    "gradient_accumulation_steps": "training.gradient_accumulation",
    "learning_rate": "training.learning_rate",
    "lr_warmup_steps": "training.warmup_steps",
    "max_grad_norm": "training.max_grad_norm",
    "gradient_checkpointing": "training.gradient_checkpointing",
    "seed": "training.seed",
    "mixed_precision": "model.precision",
    "save_every_n_steps": "checkpoints.every_steps",
    "save_last_n_steps": "checkpoints.keep",
    "sample_every_n_steps": "samples.every_steps",
    "sample_at_first": "samples.before_training",
}
"""Options that a setting of the profile stands for."""

_RUN = "the run sets it"
_STEPS = "lengths are counted in steps here"
_PLAN = "the plan sets it, from the memory of your cards"
_MOVES = "it moves whole models and would undo their placement on the cards"
_ONE_PROCESS = "the cards share one process here"
_SECRET = "a profile is no place for a secret; it would be copied into every run"
_REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("config_file", "dataset_config", "output_dir", "output_name", "resume", "network_module"),
        _RUN,
    ),
    **dict.fromkeys(("save_state", "save_state_on_train_end", "save_last_n_steps_state"), _RUN),
    **dict.fromkeys(
        (
            "max_train_epochs",
            "save_every_n_epochs",
            "save_last_n_epochs",
            "save_last_n_epochs_state",
            "sample_every_n_epochs",
        ),
        _STEPS,
    ),
    **dict.fromkeys(("fp8_base", "fp8_scaled", "blocks_to_swap", "block_swap_h2d_only", "block_swap_ring_size"), _PLAN),
    "use_pinned_memory_for_block_swap": _PLAN,
    **dict.fromkeys(
        (
            "offload_inactive_dit",
            "offload_dit_during_sampling",
            "img_in_txt_in_offloading",
            "turbo_dit_cache",
        ),
        _MOVES,
    ),
    **dict.fromkeys(("ddp_timeout", "ddp_gradient_as_bucket_view", "ddp_static_graph"), _ONE_PROCESS),
    **dict.fromkeys(("huggingface_token", "wandb_api_key"), _SECRET),
    **dict.fromkeys(("compile", "dynamo_backend"), "compiled blocks cannot be divided between cards"),
    "sample_prompts": "write the prompts under samples.prompts, where each is checked before the run",
    "dim_from_weights": "the engine takes it for the name of a file, and ends",
    "sage_attn": "the engine cannot train with it",
    "show_timesteps": "it shows the noise levels and ends without training",
    "resume_from_huggingface": _RUN,
}


def require_free(name: str, *, family: Family) -> None:
    """Refuse an option that is decided elsewhere.

    Raises:
        ProfileError: It is; the sentence says where, or why it cannot be set.
    """
    if name in PROFILE_SETTINGS:
        raise ProfileError(f"advanced.{name} is decided by {PROFILE_SETTINGS[name]}.", hint="Set that one.")
    if family.file(name) is not None:
        raise ProfileError(f"advanced.{name} is decided by model.files.{name}.", hint="Set that one.")
    if family.version is not None and name == family.version[0]:
        raise ProfileError(f"advanced.{name} is decided by model.family.", hint="Choose another family.")
    if name in _REASONS:
        raise ProfileError(f"advanced.{name} cannot be set: {_REASONS[name]}.")
