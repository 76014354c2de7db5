"""Datasets as the profile chosen last sees them: what its model takes, and the size that it trains at."""

from collections.abc import Iterable
from pathlib import Path

from diffusionforce.datasets.intake import PICTURES, Intake
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.gui.model import training_size
from diffusionforce.gui.model.dataset_row import Row


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
        self._folders: dict[Path, SetFolder] = {}

    def look_through(self, profile: str) -> bool:
        """Take another profile, or the same one after it was edited; tells whether datasets have to be checked anew."""
        before = self.intake, self.size
        self.profile, self.size = profile, training_size.size_of(profile)
        self.intake = training_size.intake_of_profile(profile)
        return (self.intake, self.size) != before

    def take_folders(self, folders: Iterable[SetFolder]) -> None:
        """Look at the folders of another dataset."""
        self._folders = {Path(folder.path): folder for folder in folders}

    def folder_of(self, row: Row) -> SetFolder:
        """Return the folder that a file belongs to, with what the dataset says of it."""
        known = self._folders.get(row.folder)
        return known if known is not None else SetFolder(path=str(row.folder))

    def size_of(self, row: Row, usual: tuple[int, int] | None = None) -> tuple[int, int]:
        """Return the width and height that a file is trained at; `usual` stands for the size of the profile."""
        return self.folder_of(row).size(usual or self.size)
