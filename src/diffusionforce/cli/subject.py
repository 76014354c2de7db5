"""Whom a run of the command line is about: the profile fitted to the pictures, and a line that says so."""

from pathlib import Path

from diffusionforce.datasets.intakes import intake_of
from diffusionforce.errors import DatasetError
from diffusionforce.job import Profile


def fitted(profile: Profile, dataset_dir: Path, *, profile_dir: Path, trigger: str = "") -> tuple[Profile, str]:
    """Return the profile for a dataset, and what to tell about its subject; nothing for the profile's own.

    Args:
        profile: The profile.
        dataset_dir: What to train on.
        profile_dir: Where the relative paths of the profile begin.
        trigger: Word that calls the subject, as the user gave it; empty looks for it.
    """
    # Not above: commands that train nothing start without Pillow and NumPy.
    from diffusionforce.datasets import adapted, is_own_dataset, read_folder  # noqa: PLC0415

    trigger = trigger.strip()
    is_own = not trigger and is_own_dataset(profile, dataset_dir, profile_dir=profile_dir)
    try:
        dataset = read_folder(dataset_dir, decode=False, intake=intake_of(profile))
    except DatasetError:
        return profile, ""  # The trainer refuses it too, and names everything else that is wrong.
    profile = adapted(profile, dataset, trigger=trigger, profile_dir=profile_dir)
    return profile, "" if is_own else _line(profile.dataset.trigger, is_given=bool(trigger))


def _line(trigger: str, *, is_given: bool) -> str:
    if is_given:
        return f'Subject: "{trigger}"'
    if trigger:
        return f'Subject: "{trigger}", the word in every caption (change it with --trigger)'
    return "Subject: no word is in every caption, so some captions are the prompts (name a word with --trigger)"
