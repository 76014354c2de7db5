"""The word that calls a dataset's subject, and a profile whose prompts are put to work on another subject.

A profile is written for one subject: its prompts name it, and so does the file that comes out. Trained on other
pictures, such a profile would draw previews of somebody whom the LoRA never saw. So its prompts are templates here:
the word that is in every caption of the new pictures takes the place of the profile's own. A profile that is written
for no subject says `{trigger}` where the word goes.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from diffusionforce.datasets.folder import Dataset
from diffusionforce.errors import ProfileError
from diffusionforce.job import Profile, dataset_folder, shipped_dir

PLACEHOLDER = "{trigger}"
"""In a prompt: the word that calls the subject, whatever it is."""
MAX_CAPTIONS_AS_PROMPTS = 3
LIKELY_SHARE = 0.6
_WORD = re.compile(r"\w+(?:-\w+)*")
# What captions say of anything: joining words, and the ways in which they begin.
_COMMON_WORDS = """
    a an the this that these those there here and or but not no of in on at to for from by with without as into onto
    over under near behind before after beside between above below up down out is are was were be been being has have
    had having it its he she they them his her hers their who which while very some one two three four
    photo photos photograph picture pictures image images drawing painting illustration portrait sketch render shot
    close close-up closeup view full body half side front back left right top wearing holding standing sitting looking
    showing shows seen smiling background foreground white black style quality high detailed
    man woman boy girl person people
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def find_trigger(captions: Sequence[str]) -> str:
    """Return the word that calls the subject, empty when no word can be told to be it.

    That is a word in every caption which captions do not have anyway. A name (not all in lower case) comes before
    other words, and what comes first in the first caption before what follows.

    Args:
        captions: The captions of a dataset.
    """
    if not captions:
        return ""
    first, *others = captions
    in_others = [{word.casefold() for word in _words(caption)} for caption in others]
    candidates = [
        word for word in _words(first) if _is_own(word) and all(word.casefold() in words for words in in_others)
    ]
    names = [word for word in candidates if word != word.lower()]
    return next(iter(names or candidates), "")


def likely_trigger(captions: Sequence[str]) -> str:
    """Return the word that seems to call the subject though some captions lack it; empty where none does.

    Args:
        captions: The captions of a dataset.
    """
    counts: Counter[str] = Counter()
    places: dict[str, list[int]] = {}
    spelling: dict[str, str] = {}
    for caption in captions:
        words = list(dict.fromkeys(word for word in _words(caption) if _is_own(word)))
        for place, word in enumerate(words):
            key = word.casefold()
            counts[key] += 1
            places.setdefault(key, []).append(place)
            spelling.setdefault(key, word)
    often = [key for key, count in counts.items() if count >= max(2, LIKELY_SHARE * len(captions))]
    if not often:
        return ""
    # What most captions begin with comes before what merely is in most of them.
    return spelling[min(often, key=lambda key: (sum(places[key]) / len(places[key]), -counts[key]))]


def num_captions_without(trigger: str, captions: Sequence[str]) -> int:
    """Return how many captions do not contain the trigger; small letters stand for capitals. 0 without a trigger."""
    return sum(trigger.casefold() not in caption.casefold() for caption in captions)


def adapted(profile: Profile, dataset: Dataset, *, trigger: str = "", profile_dir: Path | None = None) -> Profile:
    """Return the profile for a dataset: its trigger, its prompts and its folders.

    For the profile's own dataset that is the profile as it stands, unless a trigger is given.

    Args:
        profile: The profile.
        dataset: What to train on.
        trigger: Word that calls the subject; empty looks for it in the captions.
        profile_dir: Where the relative folders of the profile begin.
    """
    captions = [item.caption for item in dataset.items]
    is_own = is_own_dataset(profile, dataset.root, profile_dir=profile_dir)
    new = trigger.strip() or (profile.dataset.trigger if is_own else find_trigger(captions))
    settings = {"trigger": new}
    if not is_own:
        settings |= _folders(dataset.root)
    prompts = _prompts(profile, captions, trigger=new or find_trigger(captions))
    return profile.model_copy(
        update={
            "dataset": profile.dataset.model_copy(update=settings),
            "samples": profile.samples.model_copy(update={"prompts": prompts}),
        }
    )


def is_own_dataset(profile: Profile, root: Path, *, profile_dir: Path | None = None) -> bool:
    """Tell whether a folder is the one that the profile was written for."""
    own = profile.dataset.folder
    try:
        return bool(own) and dataset_folder(own, base=profile_dir).resolve() == root.resolve()
    except ProfileError:
        return False  # The profile names a folder that cannot be.


def _words(caption: str) -> list[str]:
    return [match.group() for match in _WORD.finditer(caption)]


def _is_own(word: str) -> bool:
    return len(word) > 1 and word.casefold() not in _COMMON and not word.isdecimal()


def _folders(root: Path) -> dict[str, str]:
    """Return the folder settings of a dataset; the demo sets have pictures of their own to measure with."""
    demos = shipped_dir("demo_datasets").resolve()
    if root.resolve().parent != demos:
        return {"folder": str(root), "held_out_folder": ""}
    held_out = f"{root.name}-held-out"
    has_held_out = (demos / held_out).is_dir()
    return {"folder": f"demo:{root.name}", "held_out_folder": f"demo:{held_out}" if has_held_out else ""}


def _prompts(profile: Profile, captions: Sequence[str], *, trigger: str) -> tuple[str, ...]:
    old, prompts = profile.dataset.trigger, profile.samples.prompts
    named = rf"|(?<!\w){re.escape(old)}(?!\w)" if old else ""
    pattern = re.compile(re.escape(PLACEHOLDER) + named)
    if trigger:
        return tuple(pattern.sub(lambda _: trigger, prompt) for prompt in prompts)
    others = tuple(prompt for prompt in prompts if not pattern.search(prompt))
    num_needed = min(MAX_CAPTIONS_AS_PROMPTS, len(prompts) - len(others))
    return (*tuple(dict.fromkeys(captions))[:num_needed], *others)
