"""A comparison saved as one picture."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QFileDialog, QWidget

from diffusionforce.gui import background


def save_picture(parent: QWidget, picture: QPixmap, *, name: str, told: Callable[[bool, str], None]) -> None:
    """Ask where to, and save a picture there on a thread.

    Args:
        parent: Owner of the question.
        picture: What to save.
        name: Usual name of the file.
        told: Told whether it was saved, and where; not called if the user thinks better of it.
    """
    chosen, _ = QFileDialog.getSaveFileName(
        parent, "Save the comparison", str(Path.home() / name), "PNG pictures (*.png)"
    )
    if chosen:
        image = picture.toImage()
        background.run(
            parent,
            lambda: image.save(chosen),
            done=lambda saved: told(saved, chosen),
            failed=lambda _: told(False, chosen),
        )
