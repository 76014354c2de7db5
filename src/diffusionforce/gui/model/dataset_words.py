"""How many pictures and clips there are, said in the same words everywhere."""

from diffusionforce.gui.model import words
from diffusionforce.gui.model.caption_book import Change


def media_words(num: int, *, num_clips: int) -> str:
    """Return `37 pictures`, `2 clips`, or `39 pictures and clips`.

    Args:
        num: Pictures and clips together.
        num_clips: How many of them are clips.
    """
    if not num_clips:
        return words.count(num, "picture")
    return words.count(num, "clip") if num_clips == num else f"{num:,} pictures and clips"


def used_words(num_used: int, num: int, *, num_clips: int) -> str:
    """Return `34 of 37 pictures trained on`, and `37 pictures` where that is all of them.

    Args:
        num_used: How many are trained on.
        num: Pictures and clips together.
        num_clips: How many of them are clips.
    """
    whole = media_words(num, num_clips=num_clips)
    return whole if num_used == num else f"{num_used:,} of {whole} trained on"


def captions_words(change: Change) -> str:
    """Return `3 captions changed.`, `5 new captions.`, or both."""
    num_new = sum(not text.strip() for text in change.before.values())
    num_changed = len(change.after) - num_new
    said = f"{words.count(num_changed, 'caption')} changed." if num_changed else ""
    return f"{said} {words.count(num_new, 'new caption')}.".strip() if num_new else said
