"""Line icons on a grid of 24, stroke 1.8, drawn as SVG text and tinted when used."""

import functools
import tempfile
from pathlib import Path

from PySide6.QtCore import QByteArray, QDir, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

SEARCH_PREFIX = "icons"
SHAPES = {
    "play": '<path d="M7.5 4.8v14.4L19 12z"/>',
    "pause": '<path d="M8 5v14M16 5v14"/>',
    "stop": '<rect x="6" y="6" width="12" height="12" rx="1.5"/>',
    "images": (
        '<rect x="3" y="7" width="14" height="13" rx="2"/>'
        '<path d="M7.5 3.5H19a2 2 0 0 1 2 2V16M3 17l4-4 3.2 3.2L13 13.5l4 4"/>'
    ),
    "sliders": (
        '<path d="M4 7h8M18 7h2M4 17h2M12 17h8"/><circle cx="15" cy="7" r="2.6"/><circle cx="9" cy="17" r="2.6"/>'
    ),
    "grid": (
        '<rect x="4" y="4" width="6.6" height="6.6" rx="1.4"/>'
        '<rect x="13.4" y="4" width="6.6" height="6.6" rx="1.4"/>'
        '<rect x="4" y="13.4" width="6.6" height="6.6" rx="1.4"/>'
        '<rect x="13.4" y="13.4" width="6.6" height="6.6" rx="1.4"/>'
    ),
    "rig": (
        '<rect x="2.5" y="5.5" width="19" height="11" rx="2"/>'
        '<circle cx="8.3" cy="11" r="2.5"/>'
        '<circle cx="15.7" cy="11" r="2.5"/>'
        '<path d="M5.5 16.5V20M9.5 16.5V20M13.5 16.5V20"/>'
    ),
    "queue": '<path d="M4 6h16M4 12h7M4 18h6"/><circle cx="17" cy="16" r="4.6"/><path d="M17 13.8V16l1.6 1.1"/>',
    "gear": (
        '<circle cx="12" cy="12" r="3.1"/>'
        '<path d="M12 3.2v2.4M12 18.4v2.4M3.2 12h2.4M18.4 12h2.4M5.8 5.8l1.7 1.7M16.5 16.5l1.7 1.7M18.2'
        ' 5.8l-1.7 1.7M7.5 16.5l-1.7 1.7"/>'
        '<circle cx="12" cy="12" r="6.6"/>'
    ),
    "check": '<path d="M5 12.5l4.6 4.6L19 7.5"/>',
    "x": '<path d="M6 6l12 12M18 6L6 18"/>',
    "warn": '<path d="M12 4L2.8 19.5h18.4zM12 10v4.4M12 17v.2"/>',
    "err": '<path d="M8.2 3h7.6L21 8.2v7.6L15.8 21H8.2L3 15.8V8.2zM12 7.8v5M12 16v.2"/>',
    "info": '<circle cx="12" cy="12" r="9"/><path d="M12 11v5.4M12 7.7v.2"/>',
    "ok": '<circle cx="12" cy="12" r="9"/><path d="M8 12.4l2.8 2.8L16 9.6"/>',
    "more": '<circle cx="5.5" cy="12" r="0.9"/><circle cx="12" cy="12" r="0.9"/><circle cx="18.5" cy="12" r="0.9"/>',
    "upload": '<path d="M12 15V4M7.5 8.500L12 4l4.500 4.500M4.5 19.500h15"/>',
    "trash": '<path d="M4.5 7h15M9 7V4.500h6V7M6.5 7l1 13h9l1-13M10.2 11v5M13.8 11v5"/>',
    "pencil": '<path d="M5 19l.8-4L16 4.800l3.200 3.200L9 18.200zM13.8 7l3.200 3.200"/>',
    "camera": (
        '<path d="M4 8h3.4L9 5.5h6L16.6 8H20a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1z"/>'
        '<circle cx="12" cy="13" r="3.4"/>'
    ),
    "folder": '<path d="M3 7a2 2 0 0 1 2-2h4l2.2 2.5H19a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z"/>',
    "chev-right": '<path d="M9.5 6l6 6-6 6"/>',
    "chev-down": '<path d="M6 9.5l6 6 6-6"/>',
    "chev-up": '<path d="M6 14.5l6-6 6 6"/>',
    "chev-left": '<path d="M14.5 6l-6 6 6 6"/>',
    "search": '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.2 5.2"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "copy": (
        '<rect x="8.5" y="8.5" width="11.5" height="11.5" rx="2"/>'
        '<path d="M15.5 8.5V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v7.500a2 2 0 0 0 2 2h2.5"/>'
    ),
    "download": '<path d="M12 4v11M7.5 11l4.5 4.5 4.5-4.500M4.5 19.500h15"/>',
    "refresh": '<path d="M19.5 12a7.5 7.5 0 1 1-2.2-5.300L19.5 9M19.5 4.500V9H15"/>',
    "bolt": '<path d="M13 3L5 13.500h6L10.5 21 19 10h-6.500z"/>',
    "eye": (
        '<path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z"/>'
        '<circle cx="12" cy="12" r="2.8"/>'
    ),
    "sun": (
        '<circle cx="12" cy="12" r="4"/>'
        '<path d="M12 3v1.800M12 19.200V21M3 12h1.800M19.2 12H21M5.6 5.600l1.3 1.300M17.1 17.100l1.3 1.300'
        'M18.4 5.600l-1.3 1.300M6.9 17.100l-1.3 1.3"/>'
    ),
    "arrow": '<path d="M4.5 12h15M13.5 6l6 6-6 6"/>',
    "tag": '<path d="M3.5 4.500v7l8.8 8.8 7.7-7.7-8.8-8.800z"/><circle cx="8" cy="8.3" r="1.3"/>',
    "monitor": '<rect x="3" y="4.5" width="18" height="12" rx="2"/><path d="M8.5 20h7M12 16.500V20"/>',
    "clock": '<circle cx="12" cy="12" r="8.8"/><path d="M12 7v5l3.3 2"/>',
    "film": (
        '<rect x="3" y="5" width="18" height="14" rx="2"/>'
        '<path d="M7.5 5v14M16.5 5v14M3 9.700h4.500M3 14.300h4.500M16.5 9.700H21M16.5 14.300H21"/>'
    ),
    "star": (
        '<path d="M12 3.600l2.600 5.300 5.800.8-4.200 4.100 1 5.800-5.200-2.700'
        '-5.200 2.700 1-5.800-4.200-4.100 5.800-.8z"/>'
    ),
    "expand": '<path d="M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5"/>',
    "compare": '<rect x="3" y="5" width="18" height="14" rx="2"/><path d="M12 3v18"/>',
    "lock": '<rect x="5" y="10.5" width="14" height="9.5" rx="2"/><path d="M8 10.500V8a4 4 0 0 1 8 0v2.5"/>',
    "log": '<path d="M5 6h14M5 10.500h14M5 15h9M5 19.500h6"/>',
    "undo": '<path d="M8.5 5L4.5 9l4 4M4.5 9H14a5.2 5.2 0 0 1 0 10.500H8"/>',
    "image": (
        '<rect x="3" y="4.5" width="18" height="15" rx="2"/>'
        '<circle cx="8.5" cy="9.5" r="1.6"/>'
        '<path d="M3.5 17l5-4.5 3.5 3 3.5-3.5 5 4.5"/>'
    ),
    "external": (
        '<path d="M13.5 4.5h6v6M19.5 4.5L11 13M17 13.5V18a1.5 1.5 0 0 1-1.5 1.500H6A1.5 1.5 0 0 1 4.5'
        ' 18V8.500A1.5 1.5 0 0 1 6 7h4.5"/>'
    ),
    "chip": (
        '<rect x="6.5" y="6.5" width="11" height="11" rx="2"/>'
        '<path d="M9.5 3v3.500M14.5 3v3.500M9.5 17.500V21M14.5 17.500V21M3 9.500h3.500M3 14.500h3.500M17.5'
        ' 9.500H21M17.5 14.500H21"/>'
    ),
}


def svg(name: str, colour: str, *, filled: bool = False) -> bytes:
    """Return an icon as an SVG document in one colour (`#rrggbb`)."""
    fill = colour if filled else "none"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="{fill}" stroke="{colour}" '
        f'stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">{SHAPES[name]}</svg>'
    ).encode()


@functools.lru_cache(maxsize=256)
def _renderer(name: str, colour: str, filled: bool) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(svg(name, colour, filled=filled)))


def paint(painter: QPainter, name: str, rect: QRectF, colour: str, *, filled: bool = False) -> None:
    """Paint an icon into `rect` in one colour (`#rrggbb`)."""
    _renderer(name, colour, filled).render(painter, rect)


def pixmap(name: str, colour: str, size: int) -> QPixmap:
    """Return an icon as a picture of `size` logical pixels, sharp up to a scale of 3."""
    scale = 3
    result = QPixmap(size * scale, size * scale)
    result.setDevicePixelRatio(scale)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    paint(painter, name, QRectF(0, 0, size, size), colour)
    painter.end()
    return result


@functools.lru_cache(maxsize=512)
def icon(name: str, colour: str, disabled_colour: str) -> QIcon:
    """Return an icon for a button, with its look while disabled. Forms show the same one on every line."""
    result = QIcon()
    result.addPixmap(pixmap(name, colour, 16))
    result.addPixmap(pixmap(name, disabled_colour, 16), QIcon.Mode.Disabled)
    return result


@functools.lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="diffusionforce-icons-", ignore_cleanup_errors=True)
    QDir.addSearchPath(SEARCH_PREFIX, folder.name)
    return folder


def file(name: str, colour: str) -> str:
    """Return the address of an icon as a file, which is the only way a style sheet takes one.

    Qt gives up a style sheet at the first letter of a path that it does not take, such as one beyond Latin in the name
    of a user. So the address begins with a word that stands for the folder.
    """
    path = Path(_folder().name) / f"{name}-{colour.strip('#')}.svg"
    if not path.is_file():
        path.write_bytes(svg(name, colour))
    return f"{SEARCH_PREFIX}:{path.name}"


def app_icon() -> QIcon:
    """Return the icon of the window: the two beams of the logo, which meet."""
    result = QIcon()
    for size in (16, 32, 48, 64, 128, 256):
        picture = QPixmap(size, size)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        QSvgRenderer(QByteArray(LOGO.encode())).render(painter, QRectF(0, 0, size, size))
        painter.end()
        result.addPixmap(picture)
    return result


LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<path fill="#3cc3d9" d="M3 6C15 6 16 15.500 30 15.500V16.500C17 16.500 15 15 3 15Z"/>'
    '<path fill="#f2994a" d="M3 26C15 26 16 16.500 30 16.500V15.500C17 15.500 15 17 3 17Z"/></svg>'
)
