"""Hooks: small patches that lift Musubi Tuner's assumption of one device, each with a name and a reason.

Musubi Tuner is used unmodified. Where its trainer can be subclassed, the engine does that; where it cannot, a hook
replaces one function by a wrapper, for the time of a run. This package holds what all hooks share; nothing is
applied by importing it.
"""

from diffusionforce.hooks.environment import EnvironmentHook
from diffusionforce.hooks.fingerprint import source_fingerprint
from diffusionforce.hooks.hook import Hook, Target
from diffusionforce.hooks.registry import Applicable, AppliedHooks, apply_all
from diffusionforce.hooks.seam import Seam, composed

__all__ = [
    "Applicable",
    "AppliedHooks",
    "EnvironmentHook",
    "Hook",
    "Seam",
    "Target",
    "apply_all",
    "composed",
    "source_fingerprint",
]
