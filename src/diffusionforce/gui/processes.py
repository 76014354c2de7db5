"""Starts the window's child processes, all of them in the environment that our children need."""

from collections.abc import Sequence

from PySide6.QtCore import QProcess, QProcessEnvironment

from diffusionforce.desktop.lifetime import adopt, ending_with_us
from diffusionforce.wire import child_environment


def start(process: QProcess, command: Sequence[str], *, outlives_us: bool = False) -> None:
    """Start a process that is not running yet; Qt opens no console for it where we have none.

    Args:
        process: What is to run; whoever waits for its signals has connected them.
        command: The program and its arguments.
        outlives_us: Whether it decides by itself what it does when the window is gone; others end with it.
    """
    environment = QProcessEnvironment()
    for name, value in child_environment().items():
        environment.insert(name, value)
    process.setProcessEnvironment(environment)
    if not outlives_us:
        process.started.connect(lambda: adopt(int(process.processId())))
    program, *arguments = command if outlives_us else ending_with_us(command)
    process.start(program, arguments)
