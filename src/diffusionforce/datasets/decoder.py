"""PyAV, which opens clips: of the Python that runs us, or a copy of that which the training environment brings.

The set-up program for Windows does not carry it: the libraries of x264 and x265 in it are under the GPL, and training
needs it anyway. Windows lets nobody replace or delete a library that somebody has loaded, and the environment has to
stay free to be repaired and removed; so it is a copy that the window loads, in a folder that has nothing else in it.
"""

import importlib
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

from diffusionforce.job import data_dir
from diffusionforce.wire.interpreter import environment_dir, is_environment_ready, site_packages

_FOLDERS = ("av", "av.libs")
_one_at_a_time = threading.Lock()


def pyav() -> Any:
    """Return the module `av`.

    Raises:
        ImportError: Neither this Python nor a training environment has it, or it cannot be copied.
    """
    with _one_at_a_time:
        try:
            return importlib.import_module("av")
        except ModuleNotFoundError:
            try:
                copied = _copied()
            except OSError as error:
                raise ImportError(f"PyAV cannot be copied: {error}") from error
            if copied is None or str(copied) in sys.path:
                raise
            # Last, so that nothing of ours is taken from there.
            sys.path.append(str(copied))
            return importlib.import_module("av")


def _copied() -> Path | None:
    """Return the folder of the copy; None where there is nothing to copy, and nothing was copied before.

    Raises:
        OSError: The disk refuses.
    """
    place, packages = data_dir() / "cache" / "decoder", site_packages(environment_dir())
    version = next(packages.glob("av-*.dist-info"), None)
    if version is None or not is_environment_ready():
        return max(place.glob("av-*"), default=None)
    copied = place / version.stem
    if not copied.is_dir():
        part = place / f"{os.getpid()}.part"
        shutil.rmtree(part, ignore_errors=True)
        for name in _FOLDERS:
            if (packages / name).is_dir():
                shutil.copytree(packages / name, part / name)
        part.rename(copied)
    return copied
