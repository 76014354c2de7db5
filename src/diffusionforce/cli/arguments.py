"""Arguments that several commands have, put to work."""

import argparse
import difflib
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import Profile, changed, expanded, parsed_toml
from diffusionforce.job.files import is_there
from diffusionforce.runs import RunFolder, list_runs, runs_root, shortened


def user_path(text: str, *, option: str) -> Path:
    """Return the absolute path that the user means.

    Raises:
        UserError: It is empty, there is no such user, or the current folder is gone.
    """
    if not text.strip():
        raise ProfileError(f"{option} is empty.", hint="Name a folder.")
    path = expanded(text)
    return path if path.is_absolute() else _current_folder() / path


def named_run(text: str, *, option: str) -> RunFolder:
    """Return the run that the user means: a run folder, or the name of one in the data folder.

    Args:
        text: What the user wrote.
        option: Where, for example `--resume`.

    Raises:
        UserError: There is no such run.
    """
    root = runs_root()
    is_name = bool(text.strip()) and Path(text).name == text and not is_there(Path(text))
    if not is_name:
        return RunFolder.open(user_path(text, option=option))
    if is_there(root / text):
        return RunFolder.open(root / text)
    close = difflib.get_close_matches(text, (run.root.name for run in list_runs(root)), n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    raise RunFolderError(
        f"There is no run {shortened(Path(text))!r}, neither here nor in {root}.{meant}",
        hint="Give the folder of a run, or its name as `diffusionforce runs` lists it.",
    )


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise ProfileError(
            "The current folder is not there any more.", hint="Change to another folder, or give whole paths."
        ) from None


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments that change a job without a profile of its own."""
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        dest="settings",
        help="another value of a setting, like lora.rank=8; may be given several times",
    )
    parser.add_argument(
        "--way",
        metavar="WAY",
        help='how to train, by its number in the list of forecast, or by words like "split, fp8 weights"; '
        '"split, blocks 20 + 12" also says how many blocks each card gets',
    )


def with_settings(profile: Profile, settings: Iterable[str] | None) -> Profile:
    """Return the profile with other values, as `--set` has them; None leaves them.

    Raises:
        ProfileError: A value is refused, or there is no such setting.
    """
    changes: dict[str, Any] = {}
    for text in settings or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ProfileError(f"--set {text!r} is not of the form NAME=VALUE.", hint="For example: --set lora.rank=8")
        changes[name.strip()] = _value(value.strip())
    return changed(profile, changes, origin="--set", texts=False) if changes else profile


def as_options(settings: Mapping[str, object]) -> str:
    """Return settings as arguments for a shell, like `--set lora.rank=8`."""
    words = (f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in settings.items())
    return " ".join(f"--set {shlex.quote(word)}" for word in words)


def _value(text: str) -> Any:
    """What a value means in a profile; what means nothing there is a text."""
    try:
        return parsed_toml(f"value = {text}")["value"]
    except ValueError:
        return text


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
