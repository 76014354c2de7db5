"""Files of the user's that make no sense any more: the window says so, and that nothing is lost."""

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from diffusionforce.gui.file_notices import FileNotices
from diffusionforce.gui.shell import Window
from diffusionforce.job import KeptFile, kept_files
from diffusionforce.runs import data_dir


def test_a_damaged_queue_is_told_of_at_the_start(make_window: Callable[..., Window]) -> None:
    # Symptom: it counted as empty without a word, and the next run that was queued wrote over those that waited.
    data_dir().mkdir(parents=True, exist_ok=True)
    (data_dir() / "queue.json").write_text('{"runs": [{"key": "one", ', encoding="utf-8")
    window = make_window()
    said = [label.text() for label in window.notices.findChildren(QLabel)]
    assert any("queue.json is damaged, and counts as empty." in text for text in said), said
    assert any("Nothing of it is lost: it is called queue.json.damaged-" in text for text in said), said
    assert window.queue.runs == ()


def test_a_thread_that_finds_a_damaged_file_is_heard_until_the_window_goes(qtbot: QtBot, tmp_path: Path) -> None:
    parent = QObject()
    before = list(kept_files.log.handlers)
    notices = FileNotices(parent)
    (tmp_path / "marks.json").write_bytes(b"{")

    def read() -> None:
        KeptFile(tmp_path / "marks.json", _refuse, empty=0).read()

    with qtbot.waitSignal(notices.said) as heard:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert heard.args is not None and heard.args[0] == f"{tmp_path / 'marks.json'} is damaged, and counts as empty."
    with qtbot.waitSignal(notices.destroyed):
        parent.deleteLater()
    assert kept_files.log.handlers == before


def _refuse(content: bytes) -> int:
    raise ValueError("nothing makes sense")
