"""Names of files that are written from right to left, within sentences that are not.

A text takes the direction of its first letter. A sentence that begins with the Arabic name of a file would run from
right to left as a whole: its words in the wrong order, its full stop at the front. And signs that nobody sees can turn
the letters of a name around, so that `evil⟵gnp.exe` looks like a picture.
"""

import re

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LEFT_TO_RIGHT_MARK = "\N{LEFT-TO-RIGHT MARK}"


def in_line(text: str) -> str:
    """Return a text for showing: as the window runs, from left to right, whatever letters it begins with.

    Letters of other scripts still run their own way, within the text.
    """
    if text.isascii():
        return text
    text = _TURNING.sub("", text)
    return f"{_LEFT_TO_RIGHT_MARK}{text}" if _RIGHT_TO_LEFT.search(text) else text
