"""Folders that are dragged onto the datasets page."""

from pathlib import Path

from PySide6.QtCore import QMimeData


def dropped_folders(data: QMimeData) -> list[str]:
    """Return the folders among what is dragged; a file stands for the folder that it lies in."""
    found: dict[str, None] = {}
    for url in data.urls():
        path = Path(url.toLocalFile()) if url.isLocalFile() else None
        if path is not None and path.is_dir():
            found[str(path)] = None
        elif path is not None and path.is_file():
            found[str(path.parent)] = None
    return list(found)
