"""Has forecasts made in the background, one at a time: for the present choice, and none for a former one.

A process loads the model's own code on fake tensors, which the window must not do; it takes seconds. Choices come in
bursts, so a moment is waited before a forecast is begun, and the one for a former choice is given up.
"""

import tempfile
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model import forecast_answer
from diffusionforce.gui.model.forecast_desk import ForecastDesk, ForecastStatus, key_of
from diffusionforce.gui.standby import Standby
from diffusionforce.job import Job, write_job
from diffusionforce.wire import forecast_command
from diffusionforce.wire.forecast import Forecast

DEBOUNCE_MS = 300
LIMIT_S = 300.0


class ForecastChild(QObject):
    """One forecast, by the process that stays ready or, where there is none, by one of its own. Use once.

    Args:
        standby: The process that stays ready.
    """

    answered = Signal(object)

    def __init__(self, standby: Standby, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._standby, self._child = standby, AnswerChild(self, what="the forecast")
        self._child.answered.connect(self._on_answered)
        self._links = [standby.answered.connect(self._on_line), standby.lost.connect(self._start_own)]
        self._limit = QTimer(self)
        self._limit.setSingleShot(True)
        self._limit.setInterval(int(LIMIT_S * 1000))
        self._limit.timeout.connect(self._on_too_slow)

    @property
    def _job_file(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "job.toml"

    def start(self, job: Job) -> None:
        """Start on a job.

        Raises:
            ProfileError: A path in the job cannot be written to a file.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="diffusionforce-forecast-", ignore_cleanup_errors=True)
        write_job(self._job_file, job)
        self._limit.start()
        if not self._standby.ask(self._job_file):
            self._start_own()

    def cancel(self) -> None:
        """Give up the forecast. A process of its own is ended and waited for: the end comes at once."""
        self._limit.stop()
        for link in self._links:
            QObject.disconnect(link)
        self._links.clear()
        self._standby.give_up()
        self._child.cancel()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _start_own(self) -> None:
        self._child.run(forecast_command(self._job_file))

    def _on_line(self, line: bytes) -> None:
        self.cancel()
        self.answered.emit(forecast_answer.read_answer(line, "", exit_code=0))

    def _on_answered(self, answer: bytes | UserError) -> None:
        child = self._child
        self.cancel()
        if child.exit_code is None:
            self.answered.emit(answer)
        else:
            output = answer if isinstance(answer, bytes) else b""
            self.answered.emit(forecast_answer.read_answer(output, child.log, exit_code=child.exit_code))

    def _on_too_slow(self) -> None:
        self.cancel()
        self.answered.emit(forecast_answer.too_slow(LIMIT_S))


class Forecaster(QObject):
    """Keeps the forecast of the present choice up to date."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = ForecastDesk()
        self._job: Job | None = None
        self._child: ForecastChild | None = None
        self._standby = Standby(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MS)
        self._timer.timeout.connect(self._start)

    @property
    def status(self) -> ForecastStatus:
        """What is known for the present choice."""
        return self._desk.status

    def want(self, job: Job | None, *, machine: str = "", num_pictures: int = 0) -> None:
        """Take another choice; None where nothing is chosen that a forecast could be made for."""
        key = "" if job is None else key_of(job, machine=machine, num_pictures=num_pictures)
        if key == self._desk.wanted and (key or not self.status.is_checking):
            return
        self._end_child()
        self._job = job
        if self._desk.want(key):
            self._timer.start()
        else:
            self._timer.stop()
            if key:
                self._standby.prepare()
        self.changed.emit()

    def wait(self) -> None:
        """Wait for a choice that is being made, and give up the forecast of the former one."""
        self._timer.stop()
        self._end_child()
        self._job = None
        self._desk.wait()

    def again(self) -> None:
        """Try once more after a failure."""
        if self._job is not None:
            self._desk.again()
            self._timer.start()
            self.changed.emit()

    def close(self) -> None:
        """End what is under way, and what stays ready. It starts again with the next choice."""
        self._timer.stop()
        self._end_child()
        self._standby.close()
        self._desk.want("")

    def _start(self) -> None:
        if self._job is None:
            return
        key = self._desk.wanted
        self._end_child()
        child = ForecastChild(self._standby, self)
        child.answered.connect(lambda answer: self._on_answer(key, answer))
        self._child = child
        try:
            child.start(self._job)
        except UserError as problem:
            self._on_answer(key, problem)

    def _on_answer(self, key: str, answer: Forecast | UserError) -> None:
        self._desk.answer(key, answer)
        self._end_child()
        self.changed.emit()

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.cancel()
            self._child.deleteLater()
            self._child = None
