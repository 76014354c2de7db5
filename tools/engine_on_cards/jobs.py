"""The job of a row: a built-in profile with the row's changes, the files made for it, and a few pictures."""

import colorsys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from diffusionforce.job import Job, builtin_profiles, changed, read_profile
from tools.engine_on_cards.rows import TINY_SIDE, Row

NUM_PICTURES = 8
_SIDE = 1024


def job_of(
    row: Row,
    folder: Path,
    *,
    files: Mapping[str, Path],
    run: str,
    settings: Mapping[str, Any],
    tiny: bool,
    resume: Path | None = None,
) -> Job:
    """A job of a row.

    Args:
        row: The row.
        folder: Pictures are made in it, and the run.
        files: The model's files by role.
        run: Name of the run's folder.
        settings: What it changes in the profile.
        tiny: Whether it is the small job for a processor.
        resume: A saved state to go on from.
    """
    profile = read_profile(builtin_profiles()[row.profile])
    paths = {role: str(path) for role, path in files.items()}
    changes: dict[str, Any] = {**settings, "model.files": paths, "model.weights": ""}
    return Job(
        profile_name=row.profile,
        profile=changed(profile, changes, origin=f"row {row.profile}"),
        dataset_dir=pictures(folder / "pictures", side=TINY_SIDE if tiny else _SIDE),
        run_dir=folder / run,
        way="" if tiny else row.way,
        resume=resume,
    )


def pictures(folder: Path, *, side: int) -> Path:
    """Make a few pictures of colours that run into each other, with captions; what is there is left."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(NUM_PICTURES):
        path = folder / f"{number}.png"
        if not path.exists():
            corners = [colorsys.hsv_to_rgb((number + corner) / NUM_PICTURES, 0.7, 0.9) for corner in range(4)]
            small = Image.new("RGB", (2, 2))
            small.putdata([tuple(round(255 * part) for part in colour) for colour in corners])
            small.resize((side, side), Image.Resampling.BICUBIC).save(path)
        path.with_suffix(".txt").write_text(f"colours that run into each other, number {number}", encoding="utf-8")
    return folder
