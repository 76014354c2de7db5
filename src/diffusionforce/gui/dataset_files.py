"""What the page of a dataset does on threads: list its files, take in what a check found, write captions."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.datasets.captions import caption_path, keep_original, write_caption
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.errors import DatasetError
from diffusionforce.gui.dataset_check import CheckedFolder
from diffusionforce.gui.model.caption_book import CaptionBook
from diffusionforce.gui.model.dataset_library import DatasetLibrary
from diffusionforce.gui.model.dataset_table import DatasetTable


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What a dataset holds, before it is checked, with what was repaired."""

    folders: tuple[SetFolder, ...]
    table: DatasetTable
    repairs: list[tuple[Path, str]]


@dataclass(frozen=True, kw_only=True)
class TakenIn:
    """What a check found, as the page shows it."""

    table: DatasetTable
    captions: dict[Path, str]
    trigger: str
    missing: list[Path]


def list_files(library: DatasetLibrary, choice: str) -> Opened:
    """Return folders, names and repairs of a dataset; on a thread, because a folder may be far away."""
    from diffusionforce.datasets.listing import folder_files  # noqa: PLC0415
    from diffusionforce.datasets.media_types import OTHER_MEDIA_SUFFIXES, PICTURE_SUFFIXES  # noqa: PLC0415
    from diffusionforce.datasets.repairs import Workshop  # noqa: PLC0415

    folders = library.folders(choice)
    paths: list[Path] = []
    repairs: list[tuple[Path, str]] = []
    for folder in folders:
        root = Path(folder.path)
        shown = PICTURE_SUFFIXES | OTHER_MEDIA_SUFFIXES
        paths += [path for path in folder_files(root)[0] if path.suffix.lower() in shown]
        repairs += [(root, done.action) for done in Workshop(root).done()]
    return Opened(folders=folders, table=DatasetTable.listed(paths).prepare(), repairs=repairs)


def take_in(results: Sequence[CheckedFolder], own_trigger: str) -> TakenIn:
    """Return what the results of a check mean; on a thread, because there may be many."""
    from diffusionforce.datasets.subject import likely_trigger  # noqa: PLC0415

    table = DatasetTable.checked((each.path, each.files, each.findings) for each in results).prepare()
    captions = table.captions()
    trigger = own_trigger or likely_trigger([caption for caption in captions.values() if caption])
    book = CaptionBook(captions)
    return TakenIn(
        table=table,
        captions=captions,
        trigger=trigger,
        missing=book.without(trigger, book.written(table.captioned)),
    )


class Outbox:
    """Captions on their way to the disk: one writer at a time, so that the last text of a picture is the one kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[Path, str] = {}

    def put(self, texts: Mapping[Path, str]) -> None:
        """Take captions to be written. Call on the window's thread."""
        self._texts = {**self._texts, **texts}

    def write(self) -> None:
        """Write what waits. Call on a thread.

        Raises:
            DatasetError: The disk refuses.
        """
        with self._lock:
            texts, self._texts = self._texts, {}
            for picture, text in texts.items():
                path = caption_path(picture)
                try:
                    keep_original(picture)
                    write_caption(path, text)
                except OSError as error:
                    raise DatasetError(
                        f"{path.name} cannot be written: {error.strerror or error}.", hint="The caption is not saved."
                    ) from error
