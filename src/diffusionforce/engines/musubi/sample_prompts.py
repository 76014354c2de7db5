"""The prompts of samples as the engine takes them, each option in a prompt checked.

The engine reads options out of prompts, like `--w 512`, and passes over those that it does not understand; even the
beginning of a prompt like "d 5 ..." is an option to it. So prompts are read here, and handed over as a table, in which
nothing is guessed.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from diffusionforce.datasets import load_rgb, read_folder
from diffusionforce.datasets.subject import PLACEHOLDER
from diffusionforce.engines.musubi.families import Family
from diffusionforce.engines.musubi.lora_files import describe_lora
from diffusionforce.errors import DatasetError, ProfileError
from diffusionforce.job import Profile
from diffusionforce.job.files import is_there

_SIDE = 16
"""Sides of a sample are a multiple of this many pixels."""
_FRAMES = 4
"""Frames of a sample are a multiple of this many, and one more."""
_OPTION = re.compile(r"(?:^|\s)--(?=\S)")
_UNKNOWN_PLACEHOLDER = re.compile(r"\{\w+\}")


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise ValueError(f"it has to be from {low} to {high}")
        return number

    return read


def _side(text: str) -> int:
    number = _whole(64, 8192)(text)
    if number % _SIDE:
        raise ValueError(f"it has to be a multiple of {_SIDE}")
    return number


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1000:
        raise ValueError("it has to be from 0 to 1000")
    return number


def _lora(text: str) -> dict[str, Any]:
    """Read `PATH` or `PATH@STRENGTH`; a path may hold the sign itself."""
    path, at, strength = text.rpartition("@")
    try:
        return {"path": path, "strength": float(strength)} if at else {"path": text, "strength": 1.0}
    except ValueError:
        return {"path": text, "strength": 1.0}


_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "w": ("width", _side),
    "h": ("height", _side),
    "f": ("frame_count", _whole(1, 1000)),
    "d": ("seed", _whole(0, 2**32 - 1)),
    "s": ("sample_steps", _whole(1, 1000)),
    "g": ("guidance_scale", _number),
    "l": ("cfg_scale", _number),
    "fs": ("discrete_flow_shift", _number),
    "n": ("negative_prompt", str),
    "i": ("image_path", str),
    "ei": ("end_image_path", str),
    "cn": ("control_video_path", str),
    "ci": ("control_image_path", str),
    "of": ("one_frame", str),
    "lo": ("loras", _lora),
}
"""Options in a prompt: what the engine calls them inside, and how a value is read."""
_LISTS = ("control_image_path", "loras")
_PICTURES = ("image_path", "end_image_path", "control_image_path")


def sample_prompts(profile: Profile, *, family: Family, dataset_dir: Path) -> list[dict[str, Any]]:
    """Return the prompts of a profile as tables; what a prompt does not say is taken from the profile.

    A model that makes samples from a picture takes that of the dataset's first pair where a prompt names none.

    Args:
        profile: The profile.
        family: Its model.
        dataset_dir: What is trained on. Where it holds nothing, what prompts need is not missed: others refuse it.

    Raises:
        ProfileError: A prompt has an option that is unknown or has a wrong value, a placeholder that stands for
            nothing, or names a picture that is none, or a LoRA of another model.
        WeightsError: A LoRA that is named is not there, or is none.
    """
    made_from = _made_from(dataset_dir, family=family)
    return [
        made_from | _table(text, number, profile, family=family)
        for number, text in enumerate(profile.samples.prompts, start=1)
    ]


def prompts_file(profile: Profile, *, family: Family, dataset_dir: Path) -> bytes:
    """Return the content of the file of prompts, which has to be named `.json`.

    Raises:
        ProfileError: As `sample_prompts`.
    """
    tables = sample_prompts(profile, family=family, dataset_dir=dataset_dir)
    return json.dumps(tables, ensure_ascii=False, indent=1).encode()


def _made_from(dataset_dir: Path, *, family: Family) -> dict[str, Any]:
    """Return what samples are made from unless their prompts say otherwise, as it goes into a prompt's table."""
    if family.sample_inputs == "prompt":
        return {}
    try:
        items = read_folder(dataset_dir, decode=False).items
    except DatasetError:
        return {}
    if family.sample_inputs == "picture":
        return {"image_path": str(items[0].picture)}
    first = next((item for item in items if item.controls), items[0])
    return {"control_image_path": [str(control) for control in first.controls]}


def _table(text: str, number: int, profile: Profile, *, family: Family) -> dict[str, Any]:
    samples = profile.samples
    head, *options = _OPTION.split(text)
    prompt = head.strip()
    if not prompt:
        raise ProfileError(f"samples.prompts: prompt {number} is empty.")
    unknown = _UNKNOWN_PLACEHOLDER.search(prompt)
    if unknown is not None and unknown[0] != PLACEHOLDER:
        raise ProfileError(
            f"samples.prompts: prompt {number} has {unknown[0]}, which stands for nothing.",
            hint=f"Write {PLACEHOLDER} for the word that calls the subject.",
        )
    table: dict[str, Any] = {
        "prompt": prompt,
        "width": samples.width,
        "height": samples.height,
        "frame_count": samples.num_frames if family.makes == "videos" else 1,
        "seed": samples.seed,
        "sample_steps": samples.num_steps,
        family.guidance_key: samples.guidance,
        **family.sample_options,
    }
    for option in options:
        name, value = _read(option, number)
        if name in _LISTS:
            table.setdefault(name, []).append(value)
        else:
            table[name] = value
    _require_frames(table["frame_count"], number, profile, family=family)
    _require_pictures(table, number)
    for lora in table.get("loras", []):
        if family.name not in describe_lora(Path(lora["path"])).families:
            raise ProfileError(
                f"samples.prompts: prompt {number} names {lora['path']}, which is no LoRA for {family.title}."
            )
    return table


def _require_frames(frames: int, number: int, profile: Profile, *, family: Family) -> None:
    """Refuse what the engine would quietly make shorter."""
    fewer = (frames - 1) // _FRAMES * _FRAMES + 1
    if frames != fewer:
        is_profiles = frames == profile.samples.num_frames
        where = "samples.num_frames is" if is_profiles else f"samples.prompts: prompt {number}: --f is"
        raise ProfileError(
            f"{where} {frames}: {family.title} makes clips of a multiple of {_FRAMES} frames, and one more.",
            hint=f"Write {fewer} or {fewer + _FRAMES}.",
        )


def _read(option: str, number: int) -> tuple[str, Any]:
    """Return the name and value of one option of a prompt."""
    letters, _, text = option.strip().partition(" ")
    where = f"samples.prompts: prompt {number}"
    if letters not in _OPTIONS:
        close = difflib.get_close_matches(letters, _OPTIONS, n=1, cutoff=0.5)
        meant = f" Did you mean --{close[0]}?" if close else ""
        raise ProfileError(
            f"{where}: --{letters} is no option of a prompt.{meant}",
            hint=f"Options are {', '.join(f'--{name}' for name in _OPTIONS)}.",
        )
    name, read = _OPTIONS[letters]
    if not text.strip():
        raise ProfileError(f"{where}: --{letters} has no value.")
    try:
        return name, read(text.strip())
    except ValueError as error:
        words = str(error) if str(error).startswith("it has") else "it has to be a number"
        raise ProfileError(f"{where}: --{letters} is {text.strip()!r}: {words}.") from None


def _require_pictures(table: Mapping[str, Any], number: int) -> None:
    where = f"samples.prompts: prompt {number}"
    named = [path for name in _PICTURES for path in _listed(table.get(name, []))]
    for path in (*named, *_listed(table.get("control_video_path", []))):
        if not is_there(Path(path)):
            raise ProfileError(f"{where} names {path}, which is not there.", hint="Write the whole path.")
    for path in named:
        try:
            is_picture, detail = Path(path).is_file() and bool(load_rgb(Path(path))), ""  # A pipe would be waited for.
        except DatasetError as error:
            is_picture, detail = False, str(error)
        if not is_picture:
            raise ProfileError(f"{where} names {path}, which is no picture.", detail=detail)


def _listed(paths: str | list[str]) -> list[str]:
    return paths if isinstance(paths, list) else [paths]
