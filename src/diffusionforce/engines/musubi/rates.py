"""Learning rates that LoRAs of the engine's models learn by and survive."""

from diffusionforce.engines.health import UsualRates
from diffusionforce.engines.musubi.families import Family
from diffusionforce.job import Profile

_HIGH_TIMES, _LOW_SHARE = 20.0, 0.01
"""How many times the usual rate of a model is far too high, and which share of it far too low."""


def usual_rates(profile: Profile, *, family: Family) -> UsualRates | None:
    """The rates for a model with the engine's usual optimiser.

    None with another one: those that find the rate themselves, for example, want a very different number.
    """
    if "optimizer_type" in profile.advanced:
        return None
    usual = float(str(family.defaults.get("learning_rate", 1e-4)))
    return UsualRates(model=family.title, usual=usual, lowest=_LOW_SHARE * usual, highest=_HIGH_TIMES * usual)
