"""What a log says of a process that could not say it itself."""

import faulthandler
import time
from pathlib import Path

from diffusionforce.runs.log import size_of, was_held_up


def test_stacks_that_the_interpreter_wrote_by_itself_are_found_where_they_are_new(tmp_path: Path):
    log = tmp_path / "log.txt"
    log.write_text("step 1\nTimeout (1:00) is a setting\n", encoding="utf-8")
    before = size_of(log)
    assert not was_held_up(log, at=0)
    with log.open("ab") as file:
        faulthandler.dump_traceback_later(0.05, file=file)
        time.sleep(0.5)
        faulthandler.cancel_dump_traceback_later()
    assert size_of(log) > before and was_held_up(log, at=before)
    assert not was_held_up(log, at=size_of(log)), "they are of another time"


def test_a_log_that_was_put_aside_or_is_not_there_is_no_problem(tmp_path: Path):
    log = tmp_path / "log.txt"
    assert size_of(log) == 0 and not was_held_up(log, at=0)
    log.write_bytes(b"Timeout (0:01:00)!\nThread 0x1 (most recent call first):\n")
    assert was_held_up(log, at=10_000_000), "a new log was begun meanwhile"
