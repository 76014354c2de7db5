"""The runs that wait for their turn, in one file of the data folder, so that they survive a restart.

The file is read anew before each change, because two windows may share it. An entry that this version cannot read (a
newer one may have written it) is passed over and kept; a file that makes no sense is kept under another name. While the
file itself cannot be read, because its disk fails or another program holds it, no run waits and nothing is changed:
what is in it would be lost.
"""

import json
import secrets
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from diffusionforce.errors import RunFolderError, UserError
from diffusionforce.job import Job, KeptFile, data_dir
from diffusionforce.job.kept_files import listed
from diffusionforce.runs.state import utc_now
from diffusionforce.runs.storage import shortened, storage_error

FILE_NAME = "queue.json"


class QueuedRun(BaseModel):
    """One run that waits.

    Attributes:
        key: Tells it from others of the same job.
        added_at: When it was added, ISO 8601 in UTC.
        job: What it will train.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    key: str
    added_at: str
    job: Job


class RunQueue:
    """The waiting runs, the next one first.

    Args:
        path: The file. None: in the data folder.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or data_dir() / FILE_NAME
        self._file = KeptFile[list[dict[str, Any]]](self._path, lambda content: listed(content, "runs", dict), empty=[])

    @property
    def runs(self) -> tuple[QueuedRun, ...]:
        """The runs that wait."""
        try:
            read = [_entry(raw) for raw in self._raw()]
        except UserError:
            return ()
        return tuple(run for run in read if run is not None)

    def add(self, job: Job) -> QueuedRun:
        """Append a run.

        Raises:
            RunFolderError: The file cannot be read, or the data folder may not be written to.
            DiskError: The disk is full.
        """
        run = QueuedRun(key=secrets.token_hex(6), added_at=utc_now(), job=job)
        self._write([*self._raw(), run.model_dump(mode="json")])
        return run

    def put_back(self, run: QueuedRun) -> None:
        """Put a run that could not start at the head again; raises what `add` does."""
        self._write([run.model_dump(mode="json"), *(raw for raw in self._raw() if raw.get("key") != run.key)])

    def restore(self, run: QueuedRun, *, before: str) -> None:
        """Put a run that was removed where it was: before another, by its key; raises what `add` does.

        Where that one is not there any more, or no key is given, it comes last.
        """
        raw = [entry for entry in self._raw() if entry.get("key") != run.key]
        at = next((index for index, entry in enumerate(raw) if before and entry.get("key") == before), len(raw))
        self._write([*raw[:at], run.model_dump(mode="json"), *raw[at:]])

    def remove(self, key: str) -> QueuedRun | None:
        """Take a run out and return it; None if it is not there any more. Raises what `add` does."""
        raw = self._raw()
        found = next((entry for entry in raw if entry.get("key") == key), None)
        if found is None:
            return None
        self._write([entry for entry in raw if entry is not found])
        return _entry(found)

    def move(self, key: str, by: int) -> None:
        """Move a run towards the head (`by` below zero) or the end, as far as there is room; raises what `add` does."""
        raw = self._raw()
        at = next((index for index, entry in enumerate(raw) if entry.get("key") == key), None)
        if at is None:
            return
        entry = raw.pop(at)
        raw.insert(max(0, min(len(raw), at + by)), entry)
        self._write(raw)

    def take_next(self) -> QueuedRun | None:
        """Take the next run out and return it; None if none waits. Raises what `add` does."""
        runs = self.runs
        return self.remove(runs[0].key) if runs else None

    def _raw(self) -> list[dict[str, Any]]:
        try:
            return list(self._file.read())
        except OSError as error:
            raise RunFolderError(
                f"The waiting runs in {shortened(self._path)} cannot be read: {error.strerror or error}.",
                hint="Nothing was changed. Try again; if it stays so, check the disk.",
            ) from error

    def _write(self, entries: list[dict[str, Any]]) -> None:
        content = json.dumps({"format": 1, "runs": entries}, ensure_ascii=False, indent=1)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file.write(content.encode())
        except OSError as error:
            raise storage_error(error, self._path) from error


def _entry(raw: dict[str, Any]) -> QueuedRun | None:
    try:
        return QueuedRun.model_validate_json(json.dumps(raw))
    except ValidationError:
        return None
