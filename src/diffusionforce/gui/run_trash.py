"""Runs, and LoRA files of runs, that were deleted, but can still be brought back with one click.

The system's trash takes folders and files, and on some systems gives no program a way to have them back. So what is
deleted is only left out of sight at first, and goes to the trash a moment later, or when the window closes. If the
window crashes before that, nothing is lost.
"""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import background


class RunTrash(QObject):
    """Knows which runs and files are on their way out, and sends them on."""

    changed = Signal()
    """Others than before are out of sight."""
    failed = Signal(object)
    """A `UserError`: the system did not take something, which is back in sight."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: set[Path] = set()
        self._moving: set[Path] = set()
        self._gone: set[Path] = set()

    def holds(self, path: Path) -> bool:
        """Tell whether a path is that of something that was deleted, or lies in it."""
        roots = self._waiting | self._moving | self._gone
        return any(root == path or root in path.parents for root in roots)

    def put(self, root: Path) -> None:
        """Take a run, or a file of one, out of sight. It stays where it is until `finish`."""
        self._waiting.add(root)
        self.changed.emit()

    def bring_back(self, root: Path) -> None:
        """Show something again that has not gone to the system's trash yet."""
        if root in self._waiting:
            self._waiting.discard(root)
            self.changed.emit()

    def keep(self, path: Path) -> None:
        """Bring back the run that a path lies in, because somebody needs what is there."""
        for root in tuple(self._waiting):
            if root == path or root in path.parents:
                self.bring_back(root)

    def finish(self, root: Path) -> None:
        """Move something to the system's trash on a thread; does nothing for what was brought back."""
        if root not in self._waiting:
            return
        self._waiting.discard(root)
        self._moving.add(root)
        background.run(
            self,
            lambda: _delete(root),
            done=lambda _: self._on_gone(root),
            failed=lambda error: self._on_refused(root, error),
        )

    def finish_all(self) -> None:
        """Move everything to the system's trash: nobody is there any more who could bring it back."""
        for root in tuple(self._waiting):
            self.finish(root)

    def forget_gone(self) -> None:
        """Forget runs that went: somebody may bring one back with the means of the system."""
        self._gone = {root for root in self._gone if root.exists()}

    def _on_gone(self, root: Path) -> None:
        self._moving.discard(root)
        self._gone.add(root)
        self.changed.emit()

    def _on_refused(self, root: Path, error: UserError) -> None:
        self._moving.discard(root)
        self.failed.emit(error)
        self.changed.emit()


def _delete(root: Path) -> None:
    # Not above: the window starts without what moves files to the trash.
    from diffusionforce.runs.deleting import delete_lora, delete_run  # noqa: PLC0415

    if root.is_file():
        delete_lora(root)
    else:
        delete_run(root)
