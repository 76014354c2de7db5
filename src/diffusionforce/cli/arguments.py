"""Arguments that several commands have, put to work."""

from pathlib import Path

from diffusionforce.errors import ProfileError
from diffusionforce.job import Profile, changed, expanded


def user_path(text: str, *, option: str) -> Path:
    """Return the absolute path that the user means.

    Raises:
        UserError: It is empty, there is no such user, or the current folder is gone.
    """
    if not text.strip():
        raise ProfileError(f"{option} is empty.", hint="Name a folder.")
    path = expanded(text)
    return path if path.is_absolute() else _current_folder() / path


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise ProfileError(
            "The current folder is not there any more.", hint="Change to another folder, or give whole paths."
        ) from None


def with_devices(profile: Profile, devices: str | None) -> Profile:
    """Return the profile with other devices, as `--devices` has them; None leaves them.

    Raises:
        ProfileError: They are no devices.
    """
    if devices is None:
        return profile
    return changed(profile, {"devices.use": [one.strip() for one in devices.split(",")]}, origin="--devices")


def with_steps(profile: Profile, steps: str | None) -> Profile:
    """Return the profile with another number of steps, and a warm-up that shrinks along; None leaves them.

    Raises:
        ProfileError: It is no number of steps.
    """
    if steps is None:
        return profile
    before = profile.training
    without_warmup = changed(profile, {"training.steps": steps, "training.warmup_steps": 0}, origin="--steps")
    num_steps = without_warmup.training.steps
    warmup_steps = min(before.warmup_steps, before.warmup_steps * num_steps // before.steps)
    return changed(without_warmup, {"training.warmup_steps": warmup_steps}, origin="--steps")
