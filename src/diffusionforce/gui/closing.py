"""What becomes of the run of the window when that closes: it is asked first, and done then."""

from PySide6.QtCore import QObject, Signal

from diffusionforce.gui.notice_bar import NoticeBar
from diffusionforce.gui.run_desk import RunDesk


class Closing(QObject):
    """Lets the window close at once, after its run was saved and stopped, or without its run.

    Attributes:
        leaves_run: Whether a trainer of ours is to live on after the window; the process must then end by `os._exit`.
        awaits_stop: Whether the window closes as soon as its run has stopped.
    """

    close_asked = Signal()
    """Nothing keeps the window open any more."""

    def __init__(self, runs: RunDesk, notices: NoticeBar, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs, self._notices = runs, notices
        self.leaves_run = self.awaits_stop = False
        notices.stop_asked.connect(self._stop)
        notices.leave_asked.connect(self._leave)

    def may_close(self) -> bool:
        """Tell whether the window may close now; where a trainer of ours is at work, it is asked what becomes of it."""
        if not self._runs.is_training or self.leaves_run:
            return True
        if not self.awaits_stop:
            self._notices.ask_about_run()
        return False

    def let_go(self) -> None:
        """Stop listening to the run, unless it goes on without the window."""
        if not self.leaves_run:
            self._runs.close()

    def _stop(self) -> None:
        self._notices.forget()
        if not self._runs.is_training:
            self.close_asked.emit()
            return
        self.awaits_stop = True
        self._notices.say("info", "Saving and stopping", "The window closes when the trainer has saved its state.")
        self._runs.stop()

    def _leave(self) -> None:
        if self._runs.session is not None:
            self._runs.session.release()
        self.leaves_run = True
        self.close_asked.emit()
