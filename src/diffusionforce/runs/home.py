"""Where the product keeps what it makes, unless the user names a place."""

import os
from pathlib import Path

import platformdirs


def data_dir() -> Path:
    """Return the folder for everything that the product keeps: `DIFFUSIONFORCE_HOME`, or the user's data folder."""
    home = os.environ.get("DIFFUSIONFORCE_HOME")
    if home:
        return Path(home).expanduser().absolute()
    return Path(platformdirs.user_data_dir("DiffusionForce", appauthor=False))


def runs_root() -> Path:
    """Return the folder in which runs lie unless the user says otherwise. It need not exist."""
    return data_dir() / "runs"
