"""Lines in, messages out: a decoder for a stream that arrives in pieces.

A pipe hands over whatever it holds, so a record may come torn in two, several at once, or cut off for ever when
the child is killed. A line that is no message is not an error of the reader's: it is kept apart for whoever shows
what the process printed, because it usually is a library's last words.
"""

from collections.abc import Iterator

from pydantic import BaseModel

from diffusionforce.wire.messages import KINDS, Message, decode

MAX_LINE_BYTES = 4 * 1024 * 1024


class _Kind(BaseModel):
    """What a record of any version has."""

    kind: str


class LineSplitter:
    """Cuts chunks of bytes into lines, however they arrive; a line that is far too long comes in pieces."""

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that are complete with this chunk, without their ends."""
        *lines, self._tail = (self._tail + chunk).split(b"\n")
        if len(self._tail) > MAX_LINE_BYTES:
            lines.append(self._tail)
            self._tail = b""
        return lines

    def end(self) -> bytes:
        """Return the last line, which nothing ended; empty if there is none. Call once, when the stream ends."""
        line, self._tail = self._tail, b""
        return line


class StreamDecoder:
    """Turns chunks of bytes into messages.

    Attributes:
        garbage: Lines that were no message, decoded with replacement characters. The caller may clear it.
    """

    def __init__(self) -> None:
        self._splitter = LineSplitter()
        self.garbage: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Message]:
        """Yield the messages that are complete with this chunk, in order."""
        for line in self._splitter.feed(chunk):
            message = self._message(line)
            if message is not None:
                yield message

    def end(self) -> Iterator[Message]:
        """Yield the message that the last, unfinished line holds, if it is one. Call once, when the stream ends."""
        message = self._message(self._splitter.end())
        if message is not None:
            yield message

    def _message(self, line: bytes) -> Message | None:
        if not line.strip():
            return None
        try:
            return decode(line)
        except ValueError:
            if not _is_newer_kind(line):
                self.garbage.append(line.decode(errors="replace"))
            return None


def _is_newer_kind(line: bytes) -> bool:
    """Tell whether the line is a record of a kind that this version does not know."""
    try:
        kind = _Kind.model_validate_json(line).kind
    except ValueError:
        return False
    return kind not in KINDS
