"""Telemetry leaves in order and never holds up who reports it."""

import errno
import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffusionforce.trainer.reporter import Outlet, Reporter, reader_gone_words
from diffusionforce.wire import Done, Message, Preparing, Sample, Step, StreamDecoder, Warn

if sys.platform == "linux":
    import fcntl

PIPE_BYTES = 4096


def step(number: int) -> Step:
    return Step(step=number, num_steps=9, loss=1.0, learning_rate=1.0, seconds=1.0, eta_s=1.0)


SAMPLE = Sample(step=1, prompt_index=0, num_prompts=1, prompt="a", seed=1, path="a.png", seconds=1.0)
DONE = Done(step=9, lora="l", seconds=1.0)


@pytest.fixture
def pipe() -> Iterator[tuple[int, io.FileIO]]:
    """A small pipe: descriptor to read from, file to write to."""
    reader, writer = os.pipe()
    if sys.platform == "linux":
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    yield reader, io.FileIO(writer, "wb")
    os.close(reader)


def read_all(reader: int) -> list[Message]:
    decoder, messages = StreamDecoder(), []
    while chunk := os.read(reader, 65536):
        messages += decoder.feed(chunk)
    assert list(decoder.end()) == [] and decoder.garbage == []
    return messages


def test_everything_arrives_in_order(pipe: tuple[int, io.FileIO], tmp_path: Path):
    reader, writer = pipe
    reporter = Reporter(writer)
    sent = [Warn(sentence="Before the file."), step(1), SAMPLE, step(2), DONE]
    reporter.report(sent[0])
    reporter.open_file(tmp_path / "telemetry.jsonl")
    for message in sent[1:]:
        reporter.report(message)
    reporter.close()
    assert read_all(reader) == sent
    assert list(StreamDecoder().feed((tmp_path / "telemetry.jsonl").read_bytes())) == sent[1:]


def test_nothing_follows_the_end(pipe: tuple[int, io.FileIO]):
    reader, writer = pipe
    reporter = Reporter(writer)
    reporter.report(DONE)
    reporter.report(Warn(sentence="Too late."))
    reporter.close()
    assert read_all(reader) == [DONE]


def test_a_stalled_reader_costs_the_oldest_progress_and_no_time(pipe: tuple[int, io.FileIO]):
    reader, writer = pipe
    outlet = Outlet(writer, name="test", on_error=lambda error: pytest.fail(str(error)), max_waiting=10)
    start_s = time.monotonic()
    outlet.offer(b"hello\n", is_progress=False)
    for number in range(2000):
        outlet.offer(b"step %d %s\n" % (number, b"x" * 100), is_progress=True)
        if number % 500 == 0:
            outlet.offer(b"sample %d\n" % number, is_progress=False)
    outlet.offer(b"done\n", is_progress=False)
    assert time.monotonic() - start_s < 5
    closer = threading.Thread(target=outlet.close)
    closer.start()
    lines: list[bytes] = []
    while chunk := os.read(reader, 65536):
        lines += chunk.splitlines()
    closer.join()
    kept = [line.split()[0] for line in lines if not line.startswith((b"step", b"x"))]
    assert kept == [b"hello", b"sample", b"sample", b"sample", b"sample", b"done"]
    assert lines[-2].startswith(b"step 1999 ")
    assert sum(line.startswith(b"step") for line in lines) < 100


def test_a_reader_that_never_reads_is_given_up(pipe: tuple[int, io.FileIO]):
    _, writer = pipe
    outlet = Outlet(writer, name="test", on_error=lambda error: None)
    outlet.offer(b"x" * 100_000, is_progress=False)
    start_s = time.monotonic()
    outlet.close(patience_s=0.2)
    assert 0.15 < time.monotonic() - start_s < 3


def test_a_reader_that_is_gone_ends_the_pipe_but_not_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    reader, writer = os.pipe()
    reporter = Reporter(io.FileIO(writer, "wb"))
    reporter.open_file(tmp_path / "telemetry.jsonl")
    os.close(reader)
    for number in range(3):
        reporter.report(step(number))
        time.sleep(0.05)
    reporter.report(DONE)
    reporter.close()
    assert list(StreamDecoder().feed((tmp_path / "telemetry.jsonl").read_bytes())) == [*map(step, range(3)), DONE]
    # Symptom: "Nobody reads the telemetry any more ([Errno 32] Broken pipe)", after a window was closed on purpose.
    words = "The window or terminal that followed this run was closed; the training goes on without it.\n"
    assert capsys.readouterr().err == words


def test_only_a_closed_pipe_is_told_as_closed():
    assert "was closed" in reader_gone_words(OSError(errno.EINVAL, "Invalid argument"))
    full = reader_gone_words(OSError(errno.ENOSPC, "No space left on device"))
    assert full == "Progress cannot be shown live any more (No space left on device); the training goes on."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_warning_in_the_pipe(pipe: tuple[int, io.FileIO]):
    reader, writer = pipe
    reporter = Reporter(writer)
    reporter.open_file(Path("/dev/full"))
    reporter.report(Preparing(stage="text", done=1, total=2))
    deadline_s = time.monotonic() + 5
    while reporter._outlets[1]._thread.is_alive() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    reporter.report(DONE)
    reporter.close()
    first, warning, last = read_all(reader)
    assert isinstance(first, Preparing) and last == DONE
    assert isinstance(warning, Warn)
    assert warning.sentence == "The disk with /dev/full is full. The telemetry is no longer kept."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_fills_up_with_the_end_adds_nothing_after_it(pipe: tuple[int, io.FileIO]):
    # Symptom: a warning after `done`, which readers take for the last record.
    reader, writer = pipe
    reporter = Reporter(writer)
    reporter.open_file(Path("/dev/full"))
    reporter.report(DONE)
    reporter.close()
    assert read_all(reader) == [DONE]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_error_is_told_once():
    errors: list[OSError] = []
    outlet = Outlet(io.FileIO("/dev/full", "wb"), name="test", on_error=errors.append)
    for _ in range(3):
        outlet.offer(b"x\n", is_progress=False)
        time.sleep(0.02)
    outlet.close()
    assert [error.errno for error in errors] == [errno.ENOSPC]


def test_a_file_that_cannot_even_be_closed_is_told_too(tmp_path: Path):
    # Symptom: the error of `close` took the place of the one to tell, in a thread that nobody watches.
    errors: list[OSError] = []
    file = io.FileIO(tmp_path / "file", "wb")
    os.close(file.fileno())
    outlet = Outlet(file, name="test", on_error=errors.append)
    outlet.offer(b"x\n", is_progress=False)
    outlet.close()
    deadline_s = time.monotonic() + 5
    while not errors and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert [error.errno for error in errors] == [errno.EBADF]
