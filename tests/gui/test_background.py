"""Work on threads, answered on the window's own."""

import threading

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from diffusionforce.errors import UserError
from diffusionforce.gui import background

WAIT_MS = 10_000


def test_the_answer_comes_on_the_windows_thread(qtbot: QtBot):
    owner = QObject()
    heard: list[tuple[str, threading.Thread]] = []

    def work() -> threading.Thread:
        return threading.current_thread()

    def done(worker: threading.Thread) -> None:
        heard.append((worker.name, threading.current_thread()))

    background.run(owner, work, done=done, failed=lambda error: None)
    qtbot.waitUntil(lambda: bool(heard), timeout=WAIT_MS)
    assert heard[0][0].startswith("background")
    assert heard[0][1] is threading.main_thread()


def test_a_user_error_arrives_as_it_is_and_a_bug_in_words(qtbot: QtBot):
    owner = QObject()
    errors: list[UserError] = []

    def refuse() -> None:
        raise UserError("No.", hint="Try yes.")

    def break_() -> None:
        raise ZeroDivisionError("one by zero")

    background.run(owner, refuse, done=lambda _: None, failed=errors.append)
    qtbot.waitUntil(lambda: len(errors) == 1, timeout=WAIT_MS)
    assert errors[0].hint == "Try yes."
    background.run(owner, break_, done=lambda _: None, failed=errors.append)
    qtbot.waitUntil(lambda: len(errors) == 2, timeout=WAIT_MS)
    assert "ZeroDivisionError" in errors[1].detail
    assert isinstance(errors[1].__cause__, ZeroDivisionError)


def test_nobody_is_answered_who_is_gone(qtbot: QtBot):
    owner, heard = QObject(), []
    go = threading.Event()
    background.run(owner, go.wait, done=heard.append, failed=heard.append)
    owner.deleteLater()
    qtbot.wait(20)
    go.set()
    assert background.finish(10)
    qtbot.wait(50)
    assert heard == []


def test_a_great_many_answers_all_arrive(qtbot: QtBot):
    owner = QObject()
    heard: list[int] = []
    for number in range(500):
        background.run(owner, lambda n=number: n, done=heard.append, failed=lambda error: None)
    qtbot.waitUntil(lambda: len(heard) == 500, timeout=WAIT_MS)
    assert sorted(heard) == list(range(500))
