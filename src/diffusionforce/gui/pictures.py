"""Pictures from disk, decoded on threads and kept small, so that painting never waits for a file."""

from collections import OrderedDict
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader, QPixmap

from diffusionforce.gui import background

MAX_KEPT = 400


class PictureStore(QObject):
    """Gives pictures out; one that is not there yet is loaded, and `arrived` tells when to paint again."""

    arrived = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[tuple[str, int], QPixmap] = OrderedDict()
        self._asked: set[tuple[str, int]] = set()

    def get(self, path: Path, *, edge_px: int) -> QPixmap | None:
        """Return a picture whose longer edge has about `edge_px` pixels, or None while it is being loaded."""
        key = (str(path), edge_px)
        picture = self._kept.get(key)
        if picture is not None:
            self._kept.move_to_end(key)
            return None if picture.isNull() else picture
        if key not in self._asked:
            self._asked.add(key)
            background.run(
                self,
                lambda: read_image(path, edge_px=edge_px),
                done=lambda image: self._on_loaded(key, image),
                failed=lambda _error: self._on_loaded(key, QImage()),
            )
        return None

    def _on_loaded(self, key: tuple[str, int], image: QImage) -> None:
        self._asked.discard(key)
        self._kept[key] = QPixmap.fromImage(image)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        self.arrived.emit(key[0])


def read_image(path: Path, *, edge_px: int) -> QImage:
    """Read a picture, upright and no larger than `edge_px` on its longer edge; a null image when it cannot be read."""
    reader = QImageReader(str(path))
    reader.setAutoTransform(True)
    image = reader.read()
    if image.isNull():
        return image
    size = QSize(edge_px, edge_px)
    if max(image.width(), image.height()) > edge_px:
        image = image.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
    return image
