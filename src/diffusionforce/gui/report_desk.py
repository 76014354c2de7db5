"""Makes the zip of a run for a bug report: collected on a thread, shown, and written when the user agrees."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.rig import examine, text_report
from diffusionforce.runs import RunFolder, data_dir

if TYPE_CHECKING:
    from diffusionforce.runs.report import RunReport

# The rest is loaded when a report is made: the window opens without it.


class ReportDesk(QObject):
    """One report at a time; a new one takes the place of one that nobody agreed to."""

    collected = Signal(object)
    """A `RunReport`, which is not written yet."""
    written = Signal(Path)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._report: RunReport | None = None

    def collect(self, root: Path) -> None:
        """Collect what a run left."""
        background.run(self, lambda: _collected(root), done=self._on_collected, failed=self.failed.emit)

    def write(self) -> None:
        """Write what was collected."""
        report, self._report = self._report, None
        if report is not None:
            background.run(self, lambda: _written(report), done=self.written.emit, failed=self.failed.emit)

    def _on_collected(self, report: "RunReport") -> None:
        self._report = report
        self.collected.emit(report)


def _collected(root: Path) -> "RunReport":
    from diffusionforce.runs.report import collect_report  # noqa: PLC0415

    machine = text_report(examine(ask_torch=False, disk_path=data_dir()))
    return collect_report(RunFolder.open(root), machine=machine)


def _written(report: "RunReport") -> Path:
    from diffusionforce.runs.report import report_name, write_report  # noqa: PLC0415

    folder = data_dir() / "reports"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made: {error.strerror}.", hint="Check the data folder.") from error
    path = folder / report_name()
    write_report(report, path)
    return path
