"""Where runs lie, unless the user names a place."""

from pathlib import Path

from diffusionforce.job import data_dir

__all__ = ["data_dir", "runs_root"]


def runs_root() -> Path:
    """Return the folder in which runs lie unless the user says otherwise. It need not exist."""
    return data_dir() / "runs"
