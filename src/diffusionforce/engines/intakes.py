"""What the model of a profile takes of a dataset, whichever engine trains it. Needs no torch."""

from diffusionforce.datasets.intake import Controls, Intake
from diffusionforce.engines.musubi.controls import ONE_ONLY, needs_controls
from diffusionforce.engines.musubi.families import Family, find_family
from diffusionforce.job import Profile

USUAL_CLIP_FRAMES = 17
"""Where previews are pictures and so do not tell."""
_POCKET = Intake(controls="ignored")


def intake_of(profile: Profile) -> Intake:
    """Return what the model of a profile takes.

    Raises:
        ProfileError: The profile names a model that is not known.
    """
    if profile.model.engine == "pocket":
        return _POCKET
    family = find_family(profile.model.family)
    num_frames = profile.samples.num_frames if profile.samples.num_frames > 1 else USUAL_CLIP_FRAMES
    return Intake(
        frames_per_second=family.clip_fps,
        num_frames=num_frames if family.clip_fps else 0,
        controls=_controls(family),
        max_controls=1 if family.trainer.architecture in ONE_ONLY else 0,
    )


def _controls(family: Family) -> Controls:
    if needs_controls(family):
        return "needed"
    return "used" if family.references else "ignored"
