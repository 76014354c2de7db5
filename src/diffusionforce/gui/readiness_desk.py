"""Has a child look whether the present choice could start, and other children bring what it lacks."""

import tempfile
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model import readiness
from diffusionforce.gui.model.readiness import ReadinessView
from diffusionforce.job import Job, write_job
from diffusionforce.wire import Failed
from diffusionforce.wire.engine import EngineProgress, read_engine_record
from diffusionforce.wire.readiness import Readiness, read_readiness
from diffusionforce.wire.weights import DownloadProgress, read_weights_record

MODULE = "diffusionforce.engines.musubi.readiness_command"
DEBOUNCE_MS = 200


class ReadinessDesk(QObject):
    """Keeps what is known of the present choice up to date."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view = ReadinessView()
        self._key = ""
        self._job: Job | None = None
        self._child: AnswerChild | None = None
        self._remedy: AnswerChild | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MS)
        self._timer.timeout.connect(self._look)

    def want(self, job: Job | None) -> None:
        """Take another choice; None where nothing needs to be looked at."""
        key = "" if job is None else _key_of(job)
        if key == self._key:
            return
        self._key, self._job = key, job
        self._give_up()
        if job is None:
            self._show(ReadinessView())
        else:
            self.again()

    def again(self) -> None:
        """Look once more, because something may have been brought meanwhile."""
        if self._job is not None and self._remedy is None:
            self._show(readiness.CHECKING)
            self._timer.start()

    def bring(self) -> None:
        """Bring what is lacking, where a button does that; look again when it is here."""
        if not self.view.button or self._remedy is not None:
            return
        module, arguments = self.view.remedy()
        child = self._remedy = AnswerChild(self)
        child.said.connect(self._on_progress)
        child.answered.connect(self._on_brought)
        self._show(readiness.doing(self.view))
        child.start(module, arguments)

    def close(self) -> None:
        """End what is under way. What was downloaded so far is kept."""
        self._give_up()
        self._key, self._job = "", None

    def _look(self) -> None:
        if self._job is None:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="diffusionforce-ready-", ignore_cleanup_errors=True)
        job_file = Path(self._folder.name) / "job.toml"
        child = self._child = AnswerChild(self)
        child.answered.connect(self._on_answer)
        try:
            write_job(job_file, self._job)
        except UserError as problem:
            self._on_answer(problem)
        else:
            child.start(MODULE, [str(job_file)])

    def _on_answer(self, answer: bytes | UserError) -> None:
        self._end_child()
        self._show(readiness.of_answer(_read(answer)))

    def _on_progress(self, line: bytes) -> None:
        record = _brought(line)
        if isinstance(record, EngineProgress | DownloadProgress):
            self._show(readiness.doing(self.view, record))

    def _on_brought(self, answer: bytes | UserError) -> None:
        if self._remedy is not None:
            self._remedy.deleteLater()
            self._remedy = None
        record = answer if isinstance(answer, UserError) else _brought(answer)
        if isinstance(record, Failed):
            record = UserError(record.sentence, hint=record.hint, detail=record.detail)
        if isinstance(record, UserError):
            self._show(readiness.failed(self.view, record))
        else:
            self.again()

    def _give_up(self) -> None:
        self._timer.stop()
        self._end_child()
        if self._remedy is not None:
            self._remedy.cancel()
            self._remedy.deleteLater()
            self._remedy = None

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.cancel()
            self._child.deleteLater()
            self._child = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _show(self, view: ReadinessView) -> None:
        self.view = view
        self.changed.emit()


def _key_of(job: Job) -> str:
    """Everything that what is looked for depends on."""
    return job.profile.model_dump_json(exclude={"training", "checkpoints", "title"}) + str(
        job.dataset_dir if job.dataset_dir.exists() else ""
    )


def _read(answer: bytes | UserError) -> Readiness | Failed | UserError:
    if isinstance(answer, UserError):
        return answer
    try:
        return read_readiness(answer)
    except ValueError as error:
        return UserError("What was looked for could not be understood.", detail=str(error))


def _brought(line: bytes) -> object:
    """Return a record of a child that brings something; None for what is none."""
    for read in (read_engine_record, read_weights_record):
        try:
            return read(line)
        except ValueError:
            continue
    return None
