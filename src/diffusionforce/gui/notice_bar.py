"""Messages and questions of the whole window, in line above the page; nothing here waits for an answer."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.announce import announce
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.layout import clear
from diffusionforce.gui.widgets.notices import Banner

if TYPE_CHECKING:
    from diffusionforce.runs.report import RunReport

MARGIN_X, MARGIN_TOP = 24, 14


class NoticeBar(QWidget):
    """Shows one message at a time, and takes no room without one."""

    stop_asked = Signal()
    leave_asked = Signal()
    report_agreed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("page")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(MARGIN_X, MARGIN_TOP, MARGIN_X, 0)
        self.hide()

    def say(self, tone: str, title: str, text: str, *, shows: Callable[[], object] | None = None) -> None:
        """Show a message until it is dismissed or another one comes.

        Args:
            tone: Of the banner.
            title: Its headline.
            text: What it says below.
            shows: Shows what the message is about; None offers nothing.
        """
        actions: list[Button] = []
        if shows is not None:
            show = Button("Show")
            show.clicked.connect(self.forget)
            show.clicked.connect(lambda: shows())
            actions.append(show)
        dismiss = Button("", "x", kind="ghost", tip="Dismiss")
        dismiss.clicked.connect(self.forget)
        self._show(Banner(tone, title, text, actions=(*actions, dismiss)))

    def ask_about_run(self) -> None:
        """Ask what becomes of the run when the window closes; the safe answer has the focus."""
        stop = Button("Stop and save", "stop", kind="danger")
        leave = Button("Go on in background")
        cancel = Button("Cancel")
        stop.clicked.connect(self.stop_asked)
        leave.clicked.connect(self.leave_asked)
        cancel.clicked.connect(self.forget)
        text = "Training can go on without the window; the next window opens on it again."
        self._show(Banner("warn", "A run is going on", text, actions=(stop, leave, cancel)))
        cancel.setFocus()

    def ask_about_other(
        self,
        title: str,
        *,
        waits: Callable[[], object] | None,
        starts: Callable[[], object],
        shows: Callable[[], object],
    ) -> None:
        """Ask whether a run is to start beside one that trains outside of this window; the safe answer has the focus.

        Args:
            title: Name of that run.
            waits: Lets the new one wait for its end; None where it cannot.
            starts: Starts the new one.
            shows: Shows the other one.
        """
        wait, start = Button("Start it afterwards", "queue", kind="primary"), Button("Start anyway", "play")
        show, cancel = Button("Show that run"), Button("", "x", kind="ghost", tip="Dismiss")
        answers = ((wait, waits), (start, starts), (show, shows), (cancel, None))
        for button, act in answers:
            button.clicked.connect(self.forget)
            if act is not None:
                button.clicked.connect(lambda _checked=False, act=act: act())
        headline = tr("{name} is training already, outside of this window").format(name=title)
        text = "Two trainings at once share cards and memory: both get slower, and may run out of memory."
        offered = tuple(button for button, act in answers if act is not None or button is cancel)
        self._show(Banner("warn", headline, text, actions=offered))
        (wait if waits is not None else show).setFocus()

    def ask_about_report(self, report: "RunReport") -> None:
        """Show what a report holds, and ask whether it is to be written."""
        save = Button("Save the report", "check", kind="primary")
        cancel = Button("Cancel")
        save.clicked.connect(self.forget)
        save.clicked.connect(self.report_agreed)
        cancel.clicked.connect(self.forget)
        files = ", ".join(f"{file.name} ({words.size(len(file.content))})" for file in report.files)
        replaced = tr("Paths, names, prompts and tokens are replaced; pictures, captions and weights are not in it.")
        self._show(Banner("info", tr("What the report holds"), f"{files}. {replaced}", actions=(save, cancel)))
        save.setFocus()

    def forget(self) -> None:
        """Take the message away."""
        clear(self._layout)
        self.hide()

    def _show(self, banner: Banner) -> None:
        clear(self._layout)
        self._layout.addWidget(banner)
        self.show()
        announce(banner, banner.accessibleName())
