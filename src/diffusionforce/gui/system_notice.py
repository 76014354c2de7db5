"""A message of the system when a run has ended and the window is not in front. Silent where the system has none."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from diffusionforce.gui import icons
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.preferences import Preferences

SHOWN_MS = 15_000


class SystemNotice(QObject):
    """Tells of ends. Qt shows messages through an icon in the tray, which is there as long as the message may be.

    Attributes:
        clicked: Somebody clicked on the message.
    """

    clicked = Signal()

    def __init__(self, window: QWidget, preferences: Preferences) -> None:
        super().__init__(window)
        self._window, self._preferences = window, preferences
        self._tray: QSystemTrayIcon | None = None
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusWindowChanged.connect(self._on_focus)

    def tell(self, title: str, outcome: Outcome) -> None:
        """Tell how a run ended, unless the window is in front or nobody wants to be told.

        Args:
            title: Name of the run.
            outcome: Its end.
        """
        if self._window.isActiveWindow() or not self._preferences.tells_of_ends or not is_possible():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(icons.app_icon(), self)
            self._tray.setToolTip("DiffusionForce")
            self._tray.messageClicked.connect(self._on_clicked)
            self._tray.activated.connect(self._on_clicked)
        kinds = QSystemTrayIcon.MessageIcon
        is_bad = outcome.kind in {"failed", "crashed", "not_started"}
        self._tray.show()
        self._tray.showMessage(
            f"{title}: {tr(outcome.title)}",
            outcome.sentence,
            kinds.Critical if is_bad else kinds.Information,
            SHOWN_MS,
        )

    def _on_clicked(self) -> None:
        self._window.showNormal() if self._window.isMinimized() else self._window.show()
        self._window.raise_()
        self._window.activateWindow()
        self.clicked.emit()

    def _on_focus(self) -> None:
        if self._tray is not None and self._window.isActiveWindow():
            self._tray.hide()


def is_possible() -> bool:
    """Tell whether the system shows messages."""
    return QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()
