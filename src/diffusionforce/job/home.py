"""Where the product keeps what it makes, unless the user names a place."""

import os
from pathlib import Path

import platformdirs

from diffusionforce.errors import RunFolderError


def data_dir() -> Path:
    """Return the folder for everything that the product keeps: `DIFFUSIONFORCE_HOME`, or the user's data folder.

    Raises:
        RunFolderError: `DIFFUSIONFORCE_HOME` is a file, or begins with the home of a user whom this computer does
            not know.
    """
    home = os.environ.get("DIFFUSIONFORCE_HOME")
    if home:
        try:
            path = Path(home).expanduser().absolute()
        except RuntimeError:
            raise RunFolderError(
                f"DIFFUSIONFORCE_HOME is {home!r}, and there is no such user.", hint="Set it to a folder."
            ) from None
        if path.is_file():
            raise RunFolderError(f"DIFFUSIONFORCE_HOME is {path}, which is a file.", hint="Set it to a folder.")
        return path
    return Path(platformdirs.user_data_dir("DiffusionForce", appauthor=False))


def own_profiles_dir() -> Path:
    """Return the folder of the user's own profiles, which both the window and the command line look into.

    It need not exist.
    """
    return data_dir() / "profiles"
