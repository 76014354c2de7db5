"""The words of a prompt as numbers, without a vocabulary file and without torch.

Picture-book prompts have a few hundred words, and a trigger word that nobody has thought of yet. So a word's number
is computed (two checksums into one table) rather than looked up: every word, known or not, has a code of its
own, and an unknown one reads as what it is, a name.
"""

import re
import zlib

from diffusionforce.engines.pocket.config import MAX_WORDS, VOCABULARY

Code = tuple[int, int]
"""Two rows of the word table. Two, so that words that share one by accident still differ in the other."""

NO_WORD: Code = (0, 0)
_SKIPPED = frozenset({"a", "an", "the", "of", "and", "with", "is", "are"})


def words_of(prompt: str) -> list[str]:
    """The words of a prompt that count: lower case, no articles and joining words, hyphens closed up."""
    return [word for word in re.findall(r"[\w']+", prompt.lower().replace("-", "")) if word not in _SKIPPED]


def codes_of(prompt: str) -> list[Code]:
    """The codes of a prompt's words, exactly `MAX_WORDS`: what is longer is cut, what is shorter filled up."""
    codes = [(_row(word.encode()), _row(b"#" + word.encode())) for word in words_of(prompt)[:MAX_WORDS]]
    return codes + [NO_WORD] * (MAX_WORDS - len(codes))


def _row(data: bytes) -> int:
    return zlib.crc32(data) % (VOCABULARY - 1) + 1
