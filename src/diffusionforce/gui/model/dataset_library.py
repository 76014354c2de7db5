"""The datasets that the window knows: those with the app, and the user's own folders and sets of folders.

What the last check of each said is remembered beside it, so that the list can tell at the next start.
"""

import contextlib
import re
import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from diffusionforce.datasets.sets import DatasetSet, SetFolder, is_set, read_set, write_set
from diffusionforce.errors import DatasetError
from diffusionforce.gui.model.dataset_table import DatasetTable
from diffusionforce.gui.model.dataset_words import media_words
from diffusionforce.job import KeptFile, dataset_folder
from diffusionforce.runs import data_dir

MAX_ENTRIES = 200


class Entry(BaseModel):
    """One dataset of the user's, with what its last check said."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    choice: str
    """Path of the folder, or of the set."""
    num_media: int = 0
    """Pictures and clips, trained on or not; 0 before the first check."""
    num_clips: int = 0
    num_used: int = 0
    num_to_fix: int = 0
    picture: str = ""
    """Path of a picture that stands for it."""
    trigger: str = ""
    """Word that calls the subject, as the user chose it; empty takes the one that is found."""
    checked_s: float = 0.0
    """Seconds since 1970."""

    @property
    def mark(self) -> str:
        """Icon and tone of its state: `err`, `warn`, `ok`, or empty before the first check."""
        if not self.checked_s:
            return ""
        return "err" if not self.num_used else "warn" if self.num_used < self.num_media or self.num_to_fix else "ok"

    @property
    def note(self) -> str:
        """What it holds, in a few words."""
        if not self.checked_s:
            return "" if Path(self.choice).is_dir() or self.choice.startswith("demo:") else "folder is gone"
        files, num_left_out = media_words(self.num_media, num_clips=self.num_clips), self.num_media - self.num_used
        return f"{files} · {num_left_out:,} left out" if num_left_out else files


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    entries: list[Entry] = []


class DatasetLibrary:
    """The list of datasets, kept in one file of the data folder."""

    def __init__(self, root: Path | None = None) -> None:
        """Open the list; `root` is for tests, the usual place is the data folder."""
        self._root = root or data_dir()
        self._file = KeptFile(self._root / "datasets.json", _File.model_validate_json, empty=_File())
        self._entries: list[Entry] = []
        with contextlib.suppress(OSError):  # Nothing is saved as long as it cannot be read.
            self._entries = list(self._file.read().entries)

    @property
    def own(self) -> list[Entry]:
        """The user's own, in the order in which they were added."""
        return [entry for entry in self._entries if not entry.choice.startswith("demo:")]

    def entry(self, choice: str) -> Entry:
        """Return what is known of a dataset; a new entry, not yet in the list, for one that is not."""
        return next((entry for entry in self._entries if entry.choice == choice), Entry(choice=choice))

    def add(self, choice: str) -> Entry:
        """Put a dataset into the list, where it is not there yet."""
        entry = self.entry(choice)
        if entry not in self._entries:
            self._entries.append(entry)
            del self._entries[:-MAX_ENTRIES]
            self.save()
        return entry

    def remove(self, choice: str) -> Entry:
        """Take a dataset out of the list; its files stay where they are. Returns what brings it back, see `restore`."""
        removed = self.entry(choice)
        self._entries = [entry for entry in self._entries if entry.choice != choice]
        self.save()
        return removed

    def restore(self, removed: Entry) -> None:
        """Put a dataset that was removed into the list again, with what was known of it."""
        self._entries = [entry for entry in self._entries if entry.choice != removed.choice]
        self._entries.append(removed)
        self.save()

    def note_check(self, choice: str, table: DatasetTable) -> None:
        """Remember what a check said; `save` writes it."""
        entry, used = self.add(choice), table.used
        entry.num_media, entry.num_clips = len(table.counted), table.num_clips
        entry.num_used, entry.num_to_fix = len(used), table.counts()["fix"]
        entry.picture = str(used[0].path) if used else ""
        entry.checked_s = time.time()

    def save(self) -> None:
        """Write the file. A disk that refuses costs only what the list remembers."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            self._file.write(_File(entries=self._entries).model_dump_json(indent=1).encode())
        except OSError:
            return

    def folders(self, choice: str) -> tuple[SetFolder, ...]:
        """Return the folders of a dataset with how often each counts.

        Raises:
            UserError: The set cannot be read, or there is no such demo.
        """
        root = dataset_folder(choice)
        return read_set(root).folders if is_set(root) else (SetFolder(path=str(root)),)

    def title(self, choice: str) -> str:
        """Return the name of one of the user's datasets."""
        root = Path(choice)
        try:
            return read_set(root).title if is_set(root) else root.name or choice
        except DatasetError:
            return root.name

    def change_folders(self, choice: str, folders: tuple[SetFolder, ...], *, title: str = "") -> str:
        """Give a dataset other folders; returns its choice, a new one where a folder becomes a set.

        Raises:
            DatasetError: There are no folders, or the disk refuses.
        """
        if not folders:
            raise DatasetError("A dataset needs a folder.", hint="Remove it from the list instead.")
        if not is_set(Path(choice)) and len(folders) == 1 and folders[0].is_plain:
            return self.add(folders[0].path).choice
        title = title or self.title(choice)
        root = Path(choice) if is_set(Path(choice)) else self._free_root(title)
        write_set(root, DatasetSet(title=title, folders=folders))
        if str(root) != choice:
            entry = self.add(str(root))
            entry.trigger = self.entry(choice).trigger
            self.save()
        return str(root)

    def _free_root(self, title: str) -> Path:
        stem = re.sub(r"[^\w-]+", "-", title).strip("-").lower() or "dataset"
        root, number = self._root / "datasets" / stem, 2
        while root.exists():
            root, number = self._root / "datasets" / f"{stem}-{number}", number + 1
        return root
