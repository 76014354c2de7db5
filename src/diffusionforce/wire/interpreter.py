"""Which Python runs our children.

In a source checkout the Python that runs us has PyTorch, and runs the children too. The installed application carries
a Python without it: there the training environment has its own (`diffusionforce.environment` builds it), which knows
our code by a path file. While that is not there, children that need no PyTorch, like the check of a dataset, still run
under our own Python.

A stamp, written last, says that the environment is whole; without it nothing in there is trusted.
"""

import importlib.util
import sys
from pathlib import Path

from diffusionforce.errors import SetupError, UserError
from diffusionforce.job import data_dir

STAMP_NAME = "diffusionforce-environment.json"
"""In the folder of the environment; the last thing that is written, and the first that goes."""
SET_UP_HINT = "Open Settings, Training environment; or run: diffusionforce env create"


def environment_dir() -> Path:
    """Return the folder of the training environment, which need not exist.

    The name is short, because Windows counts the letters of every path below it.
    """
    return data_dir() / "env"


def venv_python(folder: Path) -> Path:
    """Return where the interpreter of a virtual environment is."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def has_torch() -> bool:
    """Return whether the Python that runs us has PyTorch; it is not loaded."""
    return importlib.util.find_spec("torch") is not None


def own_python() -> str:
    """Return the Python that runs us, as a program with streams.

    The window of the installed application runs under `pythonw.exe`, which has none.
    """
    path = Path(sys.executable)
    console = path.with_name(path.name.lower().replace("pythonw", "python"))
    return str(console) if console.name != path.name.lower() and console.exists() else sys.executable


def child_python() -> str:
    """Return the Python for children: our own where it has PyTorch, else the environment's once that is whole."""
    if has_torch():
        return own_python()
    try:
        folder = environment_dir()
    except UserError:
        return own_python()
    return str(venv_python(folder)) if (folder / STAMP_NAME).is_file() else own_python()


def is_environment_needed() -> bool:
    """Return whether nothing can be trained until the environment is built."""
    return not has_torch() and child_python() == own_python()


def is_from_checkout() -> bool:
    """Return whether what runs us was set up from a source checkout, and needs no environment beside it."""
    return has_torch() and not (Path(sys.prefix) / STAMP_NAME).is_file()


def require_torch() -> None:
    """Refuse to go on in a Python that has no PyTorch.

    Raises:
        SetupError: It has none.
    """
    if not has_torch():
        raise SetupError("The training environment is not set up yet.", hint=SET_UP_HINT)


def repair_hint() -> str:
    """Return what to do about a Python for training that does not work."""
    if is_from_checkout():
        return "Run bootstrap.py again; it repairs the environment."
    return "Open Settings, Training environment, and repair it; or run: diffusionforce env repair"


def rebuild_hint() -> str:
    """Return what to do about a build of PyTorch that does not suit the cards."""
    if is_from_checkout():
        return "Run bootstrap.py again; it picks the build that suits the cards."
    return "Open Settings, Training environment, and build it for the cards; or run: diffusionforce env create"
