"""Learning rates that no LoRA of a large model survives or learns by, and what makes a number infinite.

Only where the engine's usual optimiser is used: others, such as those that find the rate themselves, want another one.
"""

from diffusionforce.engines.musubi.families import Family
from diffusionforce.job import Profile
from diffusionforce.wire import Warn

_HIGH_TIMES, _LOW_SHARE = 20.0, 0.01
"""How many times the usual rate of a model is far too high, and which share of it far too low."""
_EARLY_STEPS = 20


def usual_rate(family: Family) -> float:
    """The learning rate that suits most LoRAs of a model."""
    return float(str(family.defaults.get("learning_rate", 1e-4)))


def about_learning_rate(profile: Profile, *, family: Family) -> Warn | None:
    """A warning if the learning rate is far from what works."""
    rate, usual = profile.training.learning_rate, usual_rate(family)
    if "optimizer_type" in profile.advanced or _LOW_SHARE * usual <= rate <= _HIGH_TIMES * usual:
        return None
    ends_in = "breaks a LoRA within a few steps" if rate > usual else "changes next to nothing"
    return Warn(
        sentence=f"training.learning_rate is {rate:g}, which {ends_in}.",
        hint=f"Most LoRAs of {family.title} are trained with about {usual:g}.",
    )


def likely_causes(profile: Profile, *, family: Family, step: int) -> list[str]:
    """What may have made a number infinite, the likeliest first.

    Args:
        profile: The settings.
        family: The model.
        step: The step that it happened in.
    """
    training, usual = profile.training, usual_rate(family)
    causes: list[str] = []
    if "optimizer_type" not in profile.advanced and training.learning_rate > _HIGH_TIMES * usual:
        causes.append(f"training.learning_rate is {training.learning_rate:g}: try {usual:g}")
    if training.max_grad_norm == 0:
        causes.append("gradients are not clipped: set training.max_grad_norm to 1")
    if step <= _EARLY_STEPS and not training.warmup_steps:
        causes.append("there is no warm-up: set training.warmup_steps to 10 or more")
    return causes or ["a picture or caption is damaged, or the learning rate is a little too high"]
