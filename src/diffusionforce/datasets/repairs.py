"""One-click repairs that can be undone: no original is ever changed or deleted.

Whatever a repair takes away or replaces is moved into a folder `originals` beside the pictures, which training does
not read. Each repair is written down there before its files are moved, so that it can be undone later, and also after
the program has ended in the middle.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from diffusionforce.datasets.captions import ORIGINALS
from diffusionforce.datasets.deeds import REPAIRS
from diffusionforce.datasets.records import FileFinding
from diffusionforce.datasets.repair_log import LOG_NAME, Repaired, by_repair, read_entries, to_line
from diffusionforce.datasets.repair_steps import RepairJob, free_path
from diffusionforce.errors import DatasetError, UserError
from diffusionforce.job import write_whole

__all__ = ["LOG_NAME", "REPAIRS", "Repaired", "Workshop"]


class Workshop:
    """Repairs the files of one folder and undoes what it did."""

    def __init__(self, root: Path) -> None:
        """Work on a folder; `originals` is made in it by the first repair."""
        self.root = root

    def repair(
        self,
        key: str,
        findings: Sequence[FileFinding],
        *,
        action: str,
        caption: str = "",
        progress: Callable[[int, int], None] = lambda _done, _total: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Repaired:
        """Repair files, all as one step that can be undone.

        Args:
            key: Which repair, one of `REPAIRS`.
            findings: What was found about them.
            action: Words for it, shown where it can be undone.
            caption: Caption to write, for the repair that writes one.
            progress: Called with the number of files done and their total.
            should_stop: Asked between files.

        Raises:
            DatasetError: The folder cannot be written to.
        """
        deed = REPAIRS[key]
        job = RepairJob(self.root, caption, Repaired(action=action), self._log)
        for number, finding in enumerate(findings, start=1):
            if should_stop():
                break
            try:
                deed(job, finding)
            except UserError as error:
                job.done.problems.append(error.sentence)
            except OSError as error:
                job.done.problems.append(f"{finding.name}: {error.strerror or error}.")
            progress(number, len(findings))
        if job.done.problems and not job.done.num_files:
            raise DatasetError(
                job.done.problems[0], hint="Nothing was changed.", detail="\n".join(job.done.problems[1:])
            )
        return job.done

    def done(self) -> list[Repaired]:
        """Return the repairs that can be undone, the last one last."""
        return list(by_repair(read_entries(self._log)).values())

    def undo(self) -> Repaired | None:
        """Take the last repair back; None when there is none. What the repair made goes into `originals` too.

        Raises:
            DatasetError: The disk refuses.
        """
        entries = read_entries(self._log)
        found = by_repair(entries)
        if not found:
            return None
        key, last = list(found.items())[-1]
        try:
            for name in last.made:
                path = self.root / name
                if path.exists():
                    path.rename(free_path(self.root / ORIGINALS / f"undone-{path.name}"))
            for before, now in reversed(last.moved):
                if (self.root / now).exists() and not (self.root / before).exists():
                    (self.root / now).rename(self.root / before)
            lines = (to_line(entry) for entry in entries if entry.repair != key)
            write_whole(self._log, b"".join(lines))
        except OSError as error:
            raise DatasetError(f"The repair cannot be undone: {error.strerror or error}.") from error
        return last

    @property
    def _log(self) -> Path:
        return self.root / ORIGINALS / LOG_NAME
