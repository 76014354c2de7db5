"""Pictures from disk, decoded on threads and kept small, so that painting never waits for a file.

Whoever scrolls through ten thousand pictures asks for each that flies past. The newest request is answered first, and
those that nobody waits for any more are forgotten.
"""

from collections import OrderedDict
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader, QPixmap

from diffusionforce.gui import background, clips

MAX_KEPT = 400
MAX_WAITING = 96
MAX_LOADING = 2
_Key = tuple[str, int]


class PictureStore(QObject):
    """Gives pictures out; one that is not there yet is loaded, and `arrived` tells when to paint again."""

    arrived = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[_Key, QPixmap] = OrderedDict()
        self._waiting: OrderedDict[_Key, Path] = OrderedDict()
        self._loading: set[_Key] = set()

    def get(self, path: Path, *, edge_px: int) -> QPixmap | None:
        """Return a picture whose longer edge has about `edge_px` pixels, or None while it is being loaded.

        Of a clip it is the first frame.
        """
        key = (str(path), edge_px)
        picture = self._kept.get(key)
        if picture is not None:
            self._kept.move_to_end(key)
            return None if picture.isNull() else picture
        if key not in self._loading:
            self._waiting[key] = path
            self._waiting.move_to_end(key)
            if len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)
            self._load_next()
        return None

    def is_broken(self, path: Path, *, edge_px: int) -> bool:
        """Tell whether a picture was tried in vain: its file is gone, or damaged."""
        picture = self._kept.get((str(path), edge_px))
        return picture is not None and picture.isNull()

    def _load_next(self) -> None:
        while self._waiting and len(self._loading) < MAX_LOADING:
            key, path = self._waiting.popitem()
            self._loading.add(key)
            self._load(key, path)

    def _load(self, key: _Key, path: Path) -> None:
        background.run(
            self,
            lambda: read_image(path, edge_px=key[1]),
            done=lambda image: self._on_loaded(key, image),
            failed=lambda _error: self._on_loaded(key, QImage()),
        )

    def _on_loaded(self, key: _Key, image: QImage) -> None:
        self._loading.discard(key)
        self._kept[key] = QPixmap.fromImage(image)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        self._load_next()
        self.arrived.emit(key[0])


def read_image(path: Path, *, edge_px: int) -> QImage:
    """Read a picture, upright and no larger than `edge_px` on its longer edge; a null image when it cannot be read."""
    if path.suffix.lower() in clips.VIDEOS:
        return clips.read_first_frame(path, edge_px=edge_px)
    reader = QImageReader(str(path))
    reader.setAutoTransform(True)
    image = reader.read()
    if image.isNull():
        return image
    size = QSize(edge_px, edge_px)
    if max(image.width(), image.height()) > edge_px:
        image = image.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
    return image
