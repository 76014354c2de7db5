"""Makes the zip of a run for a bug report: collected on a thread, shown, and written when the user agrees."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.notice_bar import NoticeBar
from diffusionforce.rig import examine, text_report
from diffusionforce.runs import RunFolder, data_dir

if TYPE_CHECKING:
    from diffusionforce.runs.report import RunReport

# The rest is loaded when a report is made: the window opens without it.


class ReportDesk(QObject):
    """One report at a time; a new one takes the place of one that nobody agreed to."""

    def __init__(self, notices: NoticeBar, parent: QObject | None = None) -> None:
        """Begin without a report.

        Args:
            notices: Where it is asked, and told.
            parent: Owner of the desk.
        """
        super().__init__(parent)
        self._notices = notices
        self._report: RunReport | None = None
        notices.report_agreed.connect(self.write)

    def collect(self, root: Path) -> None:
        """Collect what a run left, and ask before it is written."""
        background.run(self, lambda: _collected(root), done=self._on_collected, failed=self._on_failed)

    def write(self) -> None:
        """Write what was collected."""
        report, self._report = self._report, None
        if report is not None:
            background.run(self, lambda: _written(report), done=self._on_written, failed=self._on_failed)

    def _on_collected(self, report: "RunReport") -> None:
        self._report = report
        self._notices.ask_about_report(report)

    def _on_written(self, path: Path) -> None:
        text = tr("{path} - look into it before you send it.").format(path=path)
        self._notices.say("ok", tr("The report is saved"), text)

    def _on_failed(self, error: UserError) -> None:
        self._notices.say("err", error.sentence, error.hint)

    def tell_crash(self, note: Path) -> None:
        """Say that an earlier window crashed, and where it wrote down what it was doing."""
        text = tr("A run goes on without the window. Where it was is written in {path}, for a bug report.")
        self._notices.say("warn", tr("The window crashed the last time"), text.format(path=note))


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
