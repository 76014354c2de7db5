"""Repairs of a dataset and their undoing, done on a thread and answered on the window's own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from diffusionforce.datasets.kinds import Kind
from diffusionforce.datasets.records import FileFinding
from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model.dataset_row import Row

CHOSEN = Kind(
    key="chosen",
    group="note",
    title=("1 file chosen", "{n} files chosen"),
    meaning="Chosen by hand.",
    repair="set_aside",
    action="Set aside",
)
"""What files that the user takes out by hand are found to be."""


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """What a repair came to.

    Attributes:
        folders: Folders in which something was changed.
        problems: Sentences about files that could not be repaired.
    """

    folders: tuple[Path, ...]
    problems: tuple[str, ...]


def by_folder(found: Iterable[tuple[Row, FileFinding]]) -> dict[Path, list[FileFinding]]:
    """Return findings by the folder whose files are to be moved.

    That is the folder of the dataset, except for control pictures in a folder of the user's choice: what is set aside
    there is kept there, too.
    """
    folders: dict[Path, list[FileFinding]] = {}
    for row, finding in found:
        moved = Path(finding.related[0] if finding.what == "control_broken" else finding.name)
        folder = row.folder
        if moved.is_absolute():
            folder, finding = moved.parent, finding.model_copy(update={"name": moved.name, "related": (moved.name,)})
        folders.setdefault(folder, []).append(finding)
    return folders


class RepairBench(QObject):
    """Does one repair at a time."""

    progressed = Signal(int, int)

    def __init__(self, before: Callable[[], None], parent: QObject | None = None) -> None:
        """Make a bench.

        Args:
            before: Called on the thread first, to write what waits to be written.
            parent: Owner.
        """
        super().__init__(parent)
        self._before = before
        self._is_stopped = False

    def stop(self) -> None:
        """End a repair after the file that it is at."""
        self._is_stopped = True

    def repair(
        self,
        repair: str,
        findings: Mapping[Path, Sequence[FileFinding]],
        *,
        action: str,
        caption: str,
        done: Callable[[Repairs], None],
        failed: Callable[[UserError], None],
    ) -> None:
        """Repair files.

        Args:
            repair: Which repair.
            findings: What was found, by folder.
            action: Words for it, shown where it can be undone.
            caption: Caption to write, for the repair that writes one.
            done: Told what it came to.
            failed: Told why nothing was done.
        """
        self._is_stopped = False

        def work() -> Repairs:
            # Not above: decoders take a third of the window's start.
            from diffusionforce.datasets.repairs import Workshop  # noqa: PLC0415

            self._before()
            touched: list[Path] = []
            problems: list[str] = []
            for folder, found in findings.items():
                repaired = Workshop(folder).repair(
                    repair,
                    found,
                    action=action,
                    caption=caption,
                    progress=lambda number, total: background.tell(self, self._on_progress, (number, total)),
                    should_stop=lambda: self._is_stopped,
                )
                problems += repaired.problems
                if repaired.num_files:
                    touched.append(folder)
            return Repairs(folders=tuple(touched), problems=tuple(problems))

        background.run(self, work, done=done, failed=failed)

    def undo(self, folder: Path, *, done: Callable[[], None], failed: Callable[[UserError], None]) -> None:
        """Take back the last repair in a folder."""

        def work() -> None:
            from diffusionforce.datasets.repairs import Workshop  # noqa: PLC0415 - as above.

            self._before()
            Workshop(folder).undo()

        background.run(self, work, done=lambda _: done(), failed=failed)

    def _on_progress(self, news: tuple[int, int]) -> None:
        self.progressed.emit(*news)
