"""Thumbnails for grids of thousands: what is in sight is made first, what was scrolled past is not made at all."""

from collections import OrderedDict
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage, QPixmap

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.runs import data_dir

MAX_KEPT = 600
MAX_WAITING = 160
NUM_AT_ONCE = 2
EDGE_PX, LARGE_PX = 320, 960


class Thumbnails(QObject):
    """Gives small pictures out; one that is not there yet is made on a thread, and `arrived` tells when."""

    arrived = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[tuple[str, int], QPixmap] = OrderedDict()
        self._waiting: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._making: set[tuple[str, int]] = set()

    def get(self, path: Path, *, edge_px: int = EDGE_PX) -> QPixmap | None:
        """Return a thumbnail, or None where it is being made or cannot be."""
        key = (str(path), edge_px)
        picture = self._kept.get(key)
        if picture is not None:
            self._kept.move_to_end(key)
            return None if picture.isNull() else picture
        if key not in self._making:
            # The last one asked for comes first: it is what somebody looks at now.
            self._waiting[key] = None
            self._waiting.move_to_end(key)
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)
            self._go_on()
        return None

    def forget(self, path: Path) -> None:
        """Make the thumbnails of a file anew when they are next asked for: it has changed."""
        for key in [key for key in self._kept if key[0] == str(path)]:
            del self._kept[key]

    def forget_waiting(self) -> None:
        """Make nothing that has not been begun: another dataset is looked at."""
        self._waiting.clear()

    def _go_on(self) -> None:
        while self._waiting and len(self._making) < NUM_AT_ONCE:
            key, _ = self._waiting.popitem()
            self._making.add(key)
            background.run(
                self,
                lambda key=key: _make(Path(key[0]), key[1]),
                done=lambda image, key=key: self._on_made(key, image),
                failed=lambda _error, key=key: self._on_made(key, QImage()),
            )

    def _on_made(self, key: tuple[str, int], image: QImage) -> None:
        self._making.discard(key)
        self._kept[key] = QPixmap.fromImage(image)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        self.arrived.emit(key[0])
        self._go_on()


def _make(path: Path, edge_px: int) -> QImage:
    # Not above: Pillow and NumPy take a third of the window's start.
    from diffusionforce.datasets.thumbnails import thumbnail  # noqa: PLC0415

    try:
        picture = thumbnail(path, edge_px=edge_px, cache=data_dir() / "thumbnails")
    except UserError:
        return QImage()
    data = picture.tobytes()
    # The copy belongs to Qt, so that the bytes may go.
    return QImage(data, picture.width, picture.height, 3 * picture.width, QImage.Format.Format_RGB888).copy()
