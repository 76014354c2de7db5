"""Requests wait until they are taken, and are taken once."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from diffusionforce.trainer import requests as requests_module
from diffusionforce.trainer.requests import MAX_LINE_BYTES, Requests, listen, listen_to_file
from diffusionforce.wire import Command, Warn


def heard(content: bytes) -> tuple[Requests, list[str]]:
    """What is kept of an input, and the warnings about the rest."""
    requests, warnings = Requests(), list[Warn]()
    reader, writer = os.pipe()
    thread = listen(reader, requests=requests, warn=warnings.append)
    with os.fdopen(writer, "wb") as file:
        file.write(content)
    thread.join(timeout=10)
    assert not thread.is_alive()
    os.close(reader)
    return requests, [warning.sentence for warning in warnings]


def test_each_request_is_taken_once():
    requests, warnings = heard(b'{"command": "save"}\n\n{"command":"save"}\r\n')
    assert (requests.take_save_request(), requests.take_save_request()) == (True, False)
    assert (requests.take_sample_request(), requests.stop_requested, warnings) == (False, False, [])


def test_a_stop_stays():
    requests, _ = heard(b'{"command": "stop"}\n{"command": "sample"}\n')
    assert requests.stop_requested and requests.stop_requested and requests.take_sample_request()


def test_the_end_of_the_input_asks_for_nothing():
    requests, warnings = heard(b"")
    assert not (requests.stop_requested or requests.take_save_request() or requests.take_sample_request() or warnings)


@pytest.mark.parametrize(
    "line", [b"stop", b"{", b"[]", b"null", b'{"command": "STOP"}', b'{"command": ["stop"]}', b"\xff\x00", b"1" * 5000]
)
def test_other_lines_are_named_and_the_next_one_counts(line: bytes):
    requests, warnings = heard(line + b'\n{"command": "stop"}\n')
    assert requests.stop_requested
    assert len(warnings) == 1 and len(warnings[0]) < 500


def test_a_torn_last_line_asks_for_nothing():
    requests, warnings = heard(b'{"command": "stop"}')
    assert not requests.stop_requested and warnings == []


def test_a_line_without_end_does_not_fill_the_memory():
    requests, warnings = heard(b"x" * (3 * MAX_LINE_BYTES) + b'\n{"command": "stop"}\n')
    assert requests.stop_requested
    assert 1 <= len(warnings) <= 4


def test_a_paused_run_waits_where_it_looks_until_it_may_go_on():
    requests, told = Requests(), list[bool]()
    requests.on_pause = told.append
    requests.add(Command(command="pause"))
    looked = threading.Thread(target=lambda: requests.stop_requested)
    looked.start()
    looked.join(0.4)
    assert looked.is_alive() and told == [True]
    requests.add(Command(command="resume"))
    looked.join(10)
    assert not looked.is_alive() and told == [True, False]
    assert not requests.stop_requested and told == [True, False]


def test_a_paused_run_can_be_stopped_by_command_and_by_signal():
    for stop in (lambda r: r.add(Command(command="stop")), lambda r: r.interrupt(signal.SIGINT, None)):
        requests = Requests()
        requests.add(Command(command="pause"))
        threading.Timer(0.2, stop, [requests]).start()
        assert requests.stop_requested


def test_prompts_are_taken_once_and_the_newest_count():
    requests = Requests()
    requests.add(Command(command="prompts", prompts=("a", "b")))
    requests.add(Command(command="prompts", prompts=("c",)))
    assert (requests.take_prompts(), requests.take_prompts()) == (("c",), None)


def test_a_file_is_read_as_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(requests_module, "FILE_LOOK_S", 0.02)
    requests, warnings, path = Requests(), list[Warn](), tmp_path / "commands.jsonl"
    thread = listen_to_file(path, requests=requests, warn=warnings.append)
    path.write_bytes(b'{"command": "save"}\nnonsense\n{"command": ')
    wait_until(lambda: bool(warnings))
    assert requests.take_save_request() and not requests.stop_requested
    with path.open("ab") as file:
        file.write(b'"stop"}\n')
    wait_until(lambda: requests.stop_requested)
    requests.close()
    thread.join(10)
    assert not thread.is_alive()


def wait_until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def test_a_second_signal_interrupts_and_none_does_so_after_the_end():
    requests = Requests()
    requests.interrupt(signal.SIGINT, None)
    assert requests.stop_requested
    with pytest.raises(KeyboardInterrupt):
        requests.interrupt(signal.SIGINT, None)
    requests.close()
    requests.interrupt(signal.SIGINT, None)


def test_a_signal_after_a_stop_command_interrupts():
    requests = Requests()
    requests.add(Command(command="stop"))
    with pytest.raises(KeyboardInterrupt):
        requests.interrupt(signal.SIGTERM, None)
