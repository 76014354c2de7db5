"""Datasets as the profile chosen last sees them: what its model takes, and the size that it trains at."""

from diffusionforce.datasets.intake import PICTURES, Intake
from diffusionforce.gui.model import training_size


class ProfileView:
    """What one profile makes of datasets.

    Attributes:
        profile: Its name or path; empty before one is chosen.
        intake: What its model takes.
        size: Width and height that it trains at, in pixels.
    """

    def __init__(self) -> None:
        self.profile = ""
        self.intake: Intake = PICTURES
        self.size = training_size.USUAL

    def look_through(self, profile: str) -> bool:
        """Take another profile, or the same one after it was edited; tells whether datasets have to be checked anew."""
        before = self.intake
        self.profile, self.size = profile, training_size.size_of(profile)
        self.intake = training_size.intake_of_profile(profile)
        return self.intake != before
