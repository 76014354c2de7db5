"""Starts the window's child processes, all of them in the environment that our children need."""

from collections.abc import Sequence

from PySide6.QtCore import QProcess, QProcessEnvironment

from diffusionforce.wire import child_environment


def start(process: QProcess, command: Sequence[str]) -> None:
    """Start a process that is not running yet.

    Args:
        process: What is to run; whoever waits for its signals has connected them.
        command: The program and its arguments.
    """
    environment = QProcessEnvironment()
    for name, value in child_environment().items():
        environment.insert(name, value)
    process.setProcessEnvironment(environment)
    program, *arguments = command
    process.start(program, arguments)
