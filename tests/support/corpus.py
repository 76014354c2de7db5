"""Files of unknown origin for tests: cases that once broke something, and what a fuzzer makes of good ones.

A reader keeps its promise when it returns, or raises the errors that it names, within two seconds. Cases that were
found lie in `tests/corpus/READER/`; add those that you find.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "corpus"
LIMIT_S = 2.0
Read = Callable[[bytes], object]


def cases(reader: str) -> list[Path]:
    """Return the kept cases for a reader."""
    return sorted((FOLDER / reader).glob("*.*"))


def keeps_promise(read: Read, content: bytes, *, raises: type[Exception] | tuple[type[Exception], ...]) -> str:
    """Read something; return the sentence of the refusal, empty where there was none.

    Args:
        read: The reader.
        content: What to read.
        raises: Errors that the reader names.
    """
    begin_s = time.process_time()
    try:
        read(content)
        sentence = ""
    except raises as error:
        sentence = getattr(error, "sentence", str(error))
        assert sentence.strip() and "Traceback" not in sentence
    assert time.process_time() - begin_s < LIMIT_S
    return sentence


def mutations(good: Sequence[bytes], *, seed: int, number: int) -> Iterator[bytes]:
    """Yield damaged copies: bits turned, pieces cut, doubled, moved, replaced by what is likely to hurt."""
    chance = random.Random(seed)
    for _ in range(number):
        content = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 6)):
            _damage(content, chance)
        yield bytes(content)


_NASTY = (
    b"\x00",
    b"\xff" * 8,
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"-1",
    b"1e999",
    b"9" * 40,
    b"NaN",
    b'"',
    b"[",
    b"{",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"null",
    b"\n",
)


def _damage(content: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(content) + 1)
    end = min(len(content), at + chance.choice((1, 2, 4, 16, 200)))
    match chance.randrange(6):
        case 0 if at < len(content):
            content[at] ^= 1 << chance.randrange(8)
        case 1:
            del content[at:]
        case 2:
            del content[at:end]
        case 3:
            content[at:at] = content[at:end] * chance.choice((1, 3, 50))
        case 4:
            content[at:end] = chance.choice(_NASTY)
        case _:
            content[at:at] = chance.choice(_NASTY)
