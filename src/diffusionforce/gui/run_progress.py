"""Progress on the icon of the program: in the taskbar of Windows, in the docks of Linux that show it.

It is that of the run; while none goes on, that of the training environment which is being built.
"""

import sys
from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from diffusionforce.desktop.taskbar import State, Taskbar
from diffusionforce.gui.model.environment_view import EnvironmentView, share_built
from diffusionforce.gui.model.run_model import RunModel

_DESKTOP_FILE = "application://diffusionforce.desktop"


class Shows(Protocol):
    """Where progress is shown."""

    def show(self, state: State, share: float = 0.0) -> None:
        """Show a state, and the share that is done, 0 to 1."""
        ...


class RunProgress(QObject):
    """Shows the progress of what the window does.

    Args:
        window: The window.
        make: Makes what shows it, once the window is there; None takes the system's.
    """

    def __init__(self, window: QWidget, *, make: Callable[[QWidget], Shows | None] | None = None) -> None:
        super().__init__(window)
        self._window, self._make = window, make or of_system
        self._shown: Shows | None = None
        self._is_made = False
        self._of_run: tuple[State, float] = ("none", 0.0)
        self._of_environment: tuple[State, float] = ("none", 0.0)

    def show(self, model: RunModel) -> None:
        """Show how far a run is."""
        self._of_run = (state_of(model), model.share)
        self._tell()

    def show_environment(self, view: EnvironmentView) -> None:
        """Show how far the environment is that is being built."""
        share = share_built(view)
        self._of_environment = ("none", 0.0) if share is None else ("normal", share)
        self._tell()

    def _tell(self) -> None:
        if not self._is_made and self._window.isVisible():
            self._is_made, self._shown = True, self._make(self._window)
        if self._shown is not None:
            is_over = self._of_run[0] in {"none", "error"}
            builds = is_over and self._of_environment[0] != "none"
            self._shown.show(*(self._of_environment if builds else self._of_run))


def state_of(model: RunModel) -> State:
    """Return what the icon says of a run; of one that ended well, nothing."""
    if model.outcome is not None:
        return "none" if model.outcome.kind in {"done", "stopped"} else "error"
    if model.is_paused or model.trouble is not None:
        return "paused"
    return "normal" if model.step else "busy"


def of_system(window: QWidget) -> Shows | None:
    """Return what shows progress on this system; None where nothing does."""
    if QGuiApplication.platformName() in {"offscreen", "minimal"}:
        return None
    if sys.platform == "win32":
        return Taskbar(int(window.winId()))
    return _dock() if sys.platform == "linux" else None


class Dock:
    """Docks of Linux desktops that know the signal of Unity's launcher, as those of GNOME and KDE do.

    Args:
        send: Sends the signal with its properties.
    """

    def __init__(self, send: Callable[[dict[str, Any]], object]) -> None:
        self._send = send
        self._said: dict[str, Any] = {}

    def show(self, state: State, share: float = 0.0) -> None:
        """Show a state, and the share that is done, 0 to 1."""
        said: dict[str, Any] = {
            "progress": round(share, 3),
            "progress-visible": state in {"normal", "paused"},
            "urgent": state == "error",
        }
        if said != self._said:
            self._said = said
            self._send(said)


def _dock() -> Dock | None:
    try:
        from PySide6.QtDBus import QDBusConnection, QDBusMessage  # noqa: PLC0415 - not everywhere, and only for this
    except ImportError:
        return None
    bus = QDBusConnection.sessionBus()
    if not bus.isConnected():
        return None

    def send(properties: dict[str, Any]) -> None:
        message = QDBusMessage.createSignal("/", "com.canonical.Unity.LauncherEntry", "Update")
        message.setArguments([_DESKTOP_FILE, properties])
        bus.send(message)

    return Dock(send)
