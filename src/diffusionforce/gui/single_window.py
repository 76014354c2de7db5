"""One window for one data folder: a second start brings the first window to the front, with the run that it was given.

Two windows would each believe that the queue, the profiles and the sizes of things are theirs. The first one listens on
a local socket; the second one hands over what it was started with, and ends.
"""

import contextlib
import hashlib
import json
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QWidget

from diffusionforce.desktop.instance import Claim, let_others_come_to_front

WAIT_MS = 3000
_MOST_BYTES = 64 * 1024


class SingleWindow(QObject):
    """Our claim to be the only window, and the ear for others that were started.

    Args:
        folder: The data folder.
    """

    asked = Signal(str)
    """Somebody started the program again, on a run folder or, where the text is empty, on none."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._name = socket_name(folder)
        self._claim = Claim(folder)
        self._server: QLocalServer | None = None

    def begin(self) -> bool:
        """Become the only one, and listen; tells whether we are."""
        if not self._claim.take():
            return False
        QLocalServer.removeServer(self._name)  # A window that was killed leaves its socket behind.
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connected)
        self._server.listen(self._name)
        return True

    def end(self) -> None:
        """Let another one be the only one."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._claim.give_up()

    def hand_over(self, run: Path | None) -> bool:
        """Ask the window that is there to come to the front; tells whether it heard.

        Args:
            run: A run folder that it is to show.
        """
        let_others_come_to_front()
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(WAIT_MS):
            return False
        said = json.dumps({"run": str(run.absolute()) if run is not None else ""})
        socket.write(f"{said}\n".encode())
        heard = socket.waitForBytesWritten(WAIT_MS) and socket.waitForReadyRead(WAIT_MS)
        socket.disconnectFromServer()
        return heard

    def _on_connected(self) -> None:
        assert self._server is not None
        socket = self._server.nextPendingConnection()
        socket.disconnected.connect(socket.deleteLater)
        socket.readyRead.connect(lambda: self._on_said(socket))
        self._on_said(socket)

    def _on_said(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > _MOST_BYTES:
                socket.abort()
            return
        line = bytes(socket.readLine(_MOST_BYTES).data())
        socket.write(b"ok\n")
        socket.flush()
        with contextlib.suppress(ValueError, AttributeError):
            self.asked.emit(str(json.loads(line).get("run", "")))


def come_to_front(window: QWidget) -> None:
    """Show a window above the others."""
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()


def socket_name(folder: Path) -> str:
    """Return the name of the socket for a data folder, short as such names have to be."""
    return f"diffusionforce-{hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:16]}"
