"""The telemetry that a run left in its folder, record by record."""

from collections.abc import Iterator
from pathlib import Path

from diffusionforce.wire import Message, StreamDecoder

CHUNK_BYTES = 1 << 20


def telemetry_records(path: Path) -> Iterator[Message]:
    """Yield the records of a telemetry file, oldest first.

    Lines that are no record, such as a last line that was cut off when the process was killed, are left out. A
    file that is not there holds no records.
    """
    decoder = StreamDecoder()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield from decoder.feed(chunk)
    except OSError:
        return
    yield from decoder.end()
