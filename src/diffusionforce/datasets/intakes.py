"""What the model of a profile takes of a dataset.

It stands here and not with the engines' records because the window, which must not know the engines, asks for it with
every look at a dataset. A test holds the two together.
"""

from diffusionforce.datasets.intake import Controls, Intake
from diffusionforce.job import Profile

USUAL_CLIP_FRAMES = 17
"""Where previews are pictures and so do not tell."""
SMALLEST_SET_TO_SPLIT = 8
"""The pocket model holds no picture of a smaller set out: each counts there."""
_POCKET = Intake(controls="ignored", fewest_to_split=SMALLEST_SET_TO_SPLIT)
_CLIP_FPS = {"wan": 16.0, "hunyuan-video": 24.0, "kandinsky5": 24.0}
"""Frames a second that video models are trained at, by the beginning of the family's name."""
_CONTROLS: dict[str, Controls] = {"flux1-kontext": "needed", "qwen-image-edit": "needed", "flux2": "used"}
"""What families do with control pictures, by the beginning of their names; all others ignore them."""
_ONE_CONTROL = ("flux1-kontext",)


def intake_of(profile: Profile) -> Intake:
    """Return what the model of a profile takes."""
    if profile.model.engine == "pocket":
        return _POCKET
    family = profile.model.family
    fps = next((fps for start, fps in _CLIP_FPS.items() if family.startswith(start)), 0.0)
    num_frames = profile.samples.num_frames if profile.samples.num_frames > 1 else USUAL_CLIP_FRAMES
    return Intake(
        frames_per_second=fps,
        num_frames=num_frames if fps else 0,
        controls=_controls_of(family),
        max_controls=1 if family.startswith(_ONE_CONTROL) else 0,
    )


def _controls_of(family: str) -> Controls:
    for start, use in _CONTROLS.items():
        if family.startswith(start):
            return use
    return "ignored"
