"""Repairs of a dataset and their undoing, done on a thread and answered on the window's own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from PySide6.QtCore import QObject, Signal

from diffusionforce.datasets.captions import CAPTION_SUFFIX
from diffusionforce.datasets.kinds import Kind
from diffusionforce.datasets.records import FileFinding
from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model.dataset_row import Row
from diffusionforce.gui.model.language import tr

CHOSEN = Kind(
    key="chosen",
    group="note",
    title=("1 file chosen", "{n} files chosen"),
    meaning="Chosen by hand.",
    repair="set_aside",
    action="Set aside",
)
"""What files that the user takes out by hand are found to be."""
MOST_NAMED = 2


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """What a repair came to.

    Attributes:
        folders: Folders in which something was changed.
        problems: Sentences about files that could not be repaired.
        renamed: Names of files that the repair wrote under another name: before, and now.
        has_originals: Whether it took anything away or replaced it; a first caption replaces nothing.
    """

    folders: tuple[Path, ...]
    problems: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    has_originals: bool = True


def named_words(names: Sequence[str]) -> str:
    """Return files by name, in any language: `e.jpg`, `e.jpg, f.jpg, …`."""
    return ", ".join(names if len(names) <= MOST_NAMED else (*names[:MOST_NAMED], "…"))


def label_words(label: str) -> str:
    """Return the label of a step as the window says it; as it is written down, it is English."""
    action, mark, names = label.partition(": ")
    return f"{tr(action)}{mark}{names}"


def kept_words(repairs: Repairs) -> str:
    """Return what has become of the files, and where the originals are."""
    if not repairs.has_originals:
        return ""
    kept = "The originals are kept in the folder originals."
    if not repairs.renamed:
        return kept
    (before, now), more = repairs.renamed[0], len(repairs.renamed) - 1
    others = f", likewise {more:,} more" if more else ""
    return f"{before} is now {now}{others}. {kept}"


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


def _renamed(moved: Sequence[str], made: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pictures that were written anew as files of another type, by their names before and now."""
    by_stem = {PurePath(name).stem: name for name in made}
    for before in moved:
        now = by_stem.get(PurePath(before).stem, before)
        if now != before and CAPTION_SUFFIX not in {PurePath(before).suffix, PurePath(now).suffix}:
            yield before, now


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
            renamed: list[tuple[str, str]] = []
            has_originals = False
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
                renamed += _renamed([before for before, _ in repaired.moved], repaired.made)
                has_originals |= bool(repaired.moved)
                if repaired.num_files:
                    touched.append(folder)
            return Repairs(
                folders=tuple(touched),
                problems=tuple(problems),
                renamed=tuple(renamed),
                has_originals=has_originals,
            )

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
