"""Thumbnails for grids of thousands: what is in sight is made first, what was scrolled past is not made at all.

They come cut and rounded to the size of a cell, so that painting one is a copy. One worker at a time takes the wish
that came last: handing every single one to a thread would cost the window more than painting it.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QImage, QPainter, QPixmap

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.runs import data_dir

MAX_KEPT = 800
MAX_WAITING = 120
EDGE_PX, LARGE_PX = 320, 960
RADIUS_PX = 6
REST_S = 0.004


@dataclass(frozen=True)
class _Wish:
    """A thumbnail: of which file, how large, and for which cell; a cell of 0 x 0 takes the picture as it is."""

    path: str
    edge_px: int
    width: int = 0
    height: int = 0
    scale: float = 1.0


class Thumbnails(QObject):
    """Gives small pictures out; one that is not there yet is made on a thread, and `arrived` tells when."""

    arrived = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[_Wish, QPixmap] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting: OrderedDict[_Wish, None] = OrderedDict()
        self._making: set[_Wish] = set()
        self._is_working = False

    def get(self, path: Path, *, edge_px: int = EDGE_PX) -> QPixmap | None:
        """Return a whole picture, small; None where it is being made or cannot be."""
        return self._get(_Wish(str(path), edge_px))

    def cell(self, path: Path, width: float, height: float, *, scale: float) -> QPixmap | None:
        """Return a picture cut and rounded to a cell.

        Args:
            path: The file.
            width: Width of the cell in logical pixels.
            height: Its height.
            scale: Pixels of the screen to a logical one.
        """
        edge_px = EDGE_PX if max(width, height) * scale <= EDGE_PX else 2 * EDGE_PX
        return self._get(_Wish(str(path), edge_px, round(width), round(height), scale))

    def forget(self) -> None:
        """Make nothing that has not been begun: another dataset is looked at, or files have changed."""
        with self._lock:
            self._waiting.clear()
        # What could not be read may be there now; what has changed has another date, which its copy on disk knows.
        self._kept.clear()

    def _get(self, wish: _Wish) -> QPixmap | None:
        picture = self._kept.get(wish)
        if picture is not None:
            self._kept.move_to_end(wish)
            return None if picture.isNull() else picture
        with self._lock:
            if wish not in self._making:
                # The last one asked for comes first: it is what somebody looks at now.
                self._waiting[wish] = None
                self._waiting.move_to_end(wish)
                while len(self._waiting) > MAX_WAITING:
                    self._waiting.popitem(last=False)
            starts = bool(self._waiting) and not self._is_working
            self._is_working = self._is_working or starts
        if starts:
            background.run(self, self._work, done=lambda _: None, failed=lambda _: None)
        return None

    def _work(self) -> None:
        """Make thumbnails until none is waited for. On a thread."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_working = False
                    return
                wish, _ = self._waiting.popitem()
                self._making.add(wish)
            background.tell(self, self._on_made, (wish, _make(wish)))
            # The window paints meanwhile: a thread that never rests makes it wait for the interpreter.
            time.sleep(REST_S)

    def _on_made(self, made: tuple[_Wish, QImage]) -> None:
        wish, image = made
        with self._lock:
            self._making.discard(wish)
        self._kept[wish] = QPixmap.fromImage(image)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        self.arrived.emit(wish.path)


def _make(wish: _Wish) -> QImage:
    # Not above: Pillow and NumPy take a third of the window's start.
    from diffusionforce.datasets.thumbnails import thumbnail  # noqa: PLC0415

    try:
        picture = thumbnail(Path(wish.path), edge_px=wish.edge_px, cache=data_dir() / "thumbnails")
    except UserError:
        return QImage()
    data = picture.tobytes()
    # The copy belongs to Qt, so that the bytes may go.
    image = QImage(data, picture.width, picture.height, 3 * picture.width, QImage.Format.Format_RGB888).copy()
    return _cut(image, wish) if wish.width and wish.height else image


def _cut(image: QImage, wish: _Wish) -> QImage:
    """Return a picture that fills a cell, cut evenly where the shapes differ, with round corners."""
    width, height = round(wish.width * wish.scale), round(wish.height * wish.scale)
    filled = image.scaled(
        width, height, Qt.AspectRatioMode.KeepAspectRatioByExpanding, Qt.TransformationMode.SmoothTransformation
    )
    left, top = (filled.width() - width) // 2, (filled.height() - height) // 2
    result = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
    result.fill(0)
    painter = QPainter(result)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(filled.copy(left, top, width, height)))
    radius = RADIUS_PX * wish.scale
    painter.drawRoundedRect(QRectF(0, 0, width, height), radius, radius)
    painter.end()
    result.setDevicePixelRatio(wish.scale)
    return result
