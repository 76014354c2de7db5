"""Child processes that answer in lines: torn, huge, unreadable, killed, or never started."""

import os
import signal
import sys

import pytest
from pytestqt.qtbot import QtBot

from diffusionforce.errors import UserError
from diffusionforce.gui.answer_child import LAST_WORDS_BYTES, AnswerChild
from diffusionforce.wire.stream import MAX_LINE_BYTES, LineSplitter


class Asked:
    """One child that runs a piece of Python, and what came of it."""

    def __init__(self, qtbot: QtBot, code: str, *, command: list[str] | None = None) -> None:
        self.child = AnswerChild(what="the test")
        self.said: list[bytes] = []
        self.answers: list[bytes | UserError] = []
        self.child.said.connect(lambda line: self.said.append(bytes(line)))
        self.child.answered.connect(self.answers.append)
        self.child.run(command or [sys.executable, "-c", f"import os, sys, time\n{code}"])
        qtbot.waitUntil(lambda: bool(self.answers), timeout=20_000)


def test_lines_arrive_whole_however_they_were_written(qtbot: QtBot):
    pieces = [b'{"a"', b": 1}\n\n  \nsec", b"ond\nlast"]
    code = f"for piece in {pieces}:\n  sys.stdout.buffer.write(piece); sys.stdout.flush(); time.sleep(0.2)"
    asked = Asked(qtbot, code)
    assert asked.said == [b'{"a": 1}', b"second", b"last"]
    assert asked.answers == [b"last"] and asked.child.exit_code == 0 and not asked.child.is_running


def test_a_line_without_end_does_not_fill_the_memory_and_bytes_may_be_any(qtbot: QtBot):
    asked = Asked(qtbot, f'sys.stdout.buffer.write(b"x" * {2 * MAX_LINE_BYTES + 7} + b"\\n\\xff\\xfe\\n")')
    assert len(asked.said) >= 2 and max(map(len, asked.said)) <= MAX_LINE_BYTES + (1 << 20)
    assert sum(map(len, asked.said)) == 2 * MAX_LINE_BYTES + 7 + 2
    assert asked.answers == [b"\xff\xfe"]


def test_of_a_long_log_the_end_is_kept(qtbot: QtBot):
    asked = Asked(qtbot, 'sys.stderr.write("y" * 400_000 + "\\nit broke"); sys.exit(3)')
    (problem,) = asked.answers
    assert isinstance(problem, UserError) and problem.sentence == "The process ended without an answer: it broke"
    assert asked.child.exit_code == 3 and len(problem.detail) <= LAST_WORDS_BYTES


@pytest.mark.skipif(os.name == "nt", reason="there are no signals")
def test_a_child_that_is_killed_is_an_end_without_an_answer(qtbot: QtBot):
    asked = Asked(qtbot, f"os.kill(os.getpid(), {int(signal.SIGKILL)})")
    (problem,) = asked.answers
    assert isinstance(problem, UserError) and "ended without an answer" in problem.sentence


def test_a_program_that_is_not_there_is_said(qtbot: QtBot):
    (problem,) = Asked(qtbot, "", command=["/nowhere/at/all"]).answers
    assert isinstance(problem, UserError) and problem.sentence.startswith("The system could not start the test:")


def test_after_a_cancel_nothing_is_heard(qtbot: QtBot):
    child = AnswerChild()
    heard: list[object] = []
    child.said.connect(heard.append)
    child.answered.connect(heard.append)
    child.run([sys.executable, "-c", "print('x', flush=True); import time; time.sleep(60)"])
    child.cancel()
    qtbot.wait(100)
    assert heard == []


def test_lines_are_cut_the_same_wherever_the_chunks_end():
    content = b"a\n\nbc\r\n" + "ü\n".encode() + b"end"
    for size in range(1, len(content) + 1):
        splitter = LineSplitter()
        lines = [line for at in range(0, len(content), size) for line in splitter.feed(content[at : at + size])]
        assert [*lines, splitter.end()] == [b"a", b"", b"bc\r", "ü".encode(), b"end"]
        assert splitter.end() == b""
