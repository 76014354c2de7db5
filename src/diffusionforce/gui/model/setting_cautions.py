"""Values that are allowed and yet unlikely to be meant: said in amber beside the field, never in the way of saving."""

from diffusionforce.gui.model import engine_options, words
from diffusionforce.gui.model.language import figures, tr
from diffusionforce.gui.model.setting_fields import plain_number
from diffusionforce.job import Profile

MANY_TIMES = 8
"""A learning rate this many times the usual one, or that part of it, is worth a word."""


def of(profile: Profile, *, usual: Profile) -> dict[str, str]:
    """Return what is unusual about a profile: a sentence for each name of a setting.

    Args:
        profile: The profile.
        usual: What it is compared with: the built-in one that it is a copy of, or itself as it was saved.
    """
    found = {
        "training.learning_rate": _rate(profile.training.learning_rate, usual.training.learning_rate),
        "lora.alpha": _alpha(profile),
        "samples.every_steps": _too_late(profile.samples.every_steps, profile),
        "checkpoints.every_steps": _too_late(profile.checkpoints.every_steps, profile),
        "training.warmup_steps": _warmup(profile),
        "samples.prompts": _prompts(profile),
        "advanced": engine_options.caution(profile.advanced),
    }
    return {name: sentence for name, sentence in found.items() if sentence}


def _rate(rate: float, usual: float) -> str:
    ratio = rate / usual
    if ratio >= MANY_TIMES:
        said = tr("{ratio} × the usual {usual}, may break")
        return said.format(ratio=figures(f"{ratio:,.0f}"), usual=figures(plain_number(usual)))
    if ratio <= 1 / MANY_TIMES:
        said = tr("1/{ratio} of the usual {usual}, learns slowly")
        return said.format(ratio=figures(f"{1 / ratio:,.0f}"), usual=figures(plain_number(usual)))
    return ""


def _alpha(profile: Profile) -> str:
    strength = profile.lora.alpha / profile.lora.rank
    return tr("Acts at {strength} ×: a strong LoRA").format(strength=figures(f"{strength:g}")) if strength > 4 else ""


def _too_late(every: int, profile: Profile) -> str:
    return tr("Later than the last step: at the end only") if every > profile.training.steps else ""


def _warmup(profile: Profile) -> str:
    share = profile.training.warmup_steps / profile.training.steps
    return tr("{share} of the run is warm-up").format(share=words.percent(share)) if share > 0.5 else ""


def _prompts(profile: Profile) -> str:
    if profile.samples.every_steps and not profile.samples.prompts and profile.dataset.folder:
        return tr("No prompts, so there are no previews")
    return ""
