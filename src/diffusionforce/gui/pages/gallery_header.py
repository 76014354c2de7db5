"""The header of the gallery: which run is looked at, and what can be done with all of its previews."""

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from diffusionforce.gui.pages.gallery_runs import RunPicker
from diffusionforce.gui.pages.page import Header
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button


class GalleryHeader(Header):
    """Title, the choice of a run, and buttons."""

    def __init__(self, trash: RunTrash) -> None:
        super().__init__("Gallery", "Every row keeps its prompt and seed, so only the training changes.")
        self._shown: RunSession | None = None
        self.runs = RunPicker(trash)
        self.save = Button("Save as picture", "download")
        folder = self._folder = Button("Open folder", "folder")
        folder.clicked.connect(self._open_folder)
        self.add_actions(self.runs, self.save, folder)

    def show_run(self, session: RunSession | None, *, compares: bool) -> None:
        """Show what can be done with a run.

        Args:
            session: The run that is looked at.
            compares: Whether a comparison is shown, which can be saved.
        """
        self._shown = session
        self.runs.setVisible(self.runs.count() > 0)
        self._folder.setVisible(session is not None)
        self.save.setVisible(compares)

    def _open_folder(self) -> None:
        if self._shown is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._shown.root / "samples")))
