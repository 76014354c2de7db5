"""What a model takes of a dataset: pictures only or clips as well, and what it does with control pictures.

The engines know; the check and the reader are told, so that both leave out the same files.
"""

from dataclasses import dataclass
from typing import Literal

Controls = Literal["ignored", "used", "needed"]
"""Whether control pictures (what a picture is made from) are passed over, used where there are any, or needed."""
MIN_CLIP_FRAMES = 5
FRAME_STRIDE = 4
"""A video model takes a multiple of so many frames, and one more."""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """What one model takes.

    Attributes:
        frames_per_second: Speed that its clips are trained at; 0 for a model of pictures, which takes no clips.
        num_frames: Frames of a clip that are trained on, where its folder does not say otherwise.
        controls: What it does with control pictures.
        max_controls: The most of them that it takes for one picture; 0 for any number.
        fewest_to_split: Of fewer pictures none is held out, so that no held-out loss is measured; 0 where this is not
            known.
    """

    frames_per_second: float = 0.0
    num_frames: int = 0
    controls: Controls = "used"
    max_controls: int = 0
    fewest_to_split: int = 0

    @property
    def takes_clips(self) -> bool:
        """Whether clips are trained on."""
        return self.frames_per_second > 0

    def frames_of(self, folder_frames: int) -> int:
        """Return how many frames of a clip are trained on.

        Args:
            folder_frames: What its folder says; 0 takes the usual number.
        """
        wanted = max(MIN_CLIP_FRAMES, folder_frames or self.num_frames)
        return (wanted - 1) // FRAME_STRIDE * FRAME_STRIDE + 1


PICTURES = Intake()
"""A model of pictures that makes use of control pictures where there are any."""


def frames_at(num_frames: int, *, fps: float, target_fps: float) -> int:
    """Return how many frames are left of a clip that is brought to another speed: frames are left out, never added."""
    if fps <= target_fps or target_fps <= 0 or not num_frames:
        return num_frames
    return int((num_frames - 1) * target_fps / fps) + 1
