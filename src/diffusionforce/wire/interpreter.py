"""Which Python runs our children.

In a source checkout the Python that runs us has PyTorch, and runs the children too. The installed application carries
a Python without it: there the training environment has its own (`diffusionforce.environment` builds it), which knows
our code by a path file. While that is not there, children that need no PyTorch, like the check of a dataset, still run
under our own Python.

A stamp, written last, says that the environment is whole, and what it was made of. Without it, or where that is not
what this application would make it of, nothing in there is used.
"""

import hashlib
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path

from diffusionforce.errors import SetupError, UserError
from diffusionforce.job import data_dir, shipped_dir

ROOT_VARIABLE = "DIFFUSIONFORCE_APP"
LOCK_FILES = ("torch.txt", "torchvision.txt", "runtime.txt", "musubi.txt", "imports.txt")
UV_NAME = "uv.exe" if sys.platform == "win32" else "uv"

STAMP_NAME = "diffusionforce-environment.json"
"""In the folder of the environment; the last thing that is written, and the first that goes."""
SET_UP_HINT = "Open Settings, Training environment; or run: diffusionforce env create"


def application_dir() -> Path:
    """Return the folder of the application; in a source checkout its top folder."""
    named = os.environ.get(ROOT_VARIABLE)
    if named:
        return Path(named).absolute()
    above_python = Path(sys.base_prefix).absolute().parent
    return above_python if (above_python / UV_NAME).is_file() else code_dir().parent


def code_dir() -> Path:
    """Return the folder that holds the package `diffusionforce`."""
    return Path(__file__).resolve().parents[2]


def locks_dir() -> Path:
    """Return the folder of the lock files, which say what an environment is made of."""
    beside = application_dir() / "locks"
    return beside if (beside / "torch.txt").is_file() else shipped_dir("locks")


def ingredients() -> dict[str, str]:
    """Return what this application makes an environment of, apart from the build of PyTorch.

    `fingerprint` is of the lock files, `base` the folder of the Python that its own refers to, `code` that of our code,
    which its path file refers to.
    """
    digest, folder = hashlib.sha256(), locks_dir()
    for name in LOCK_FILES:
        path = folder / name
        digest.update((path.read_bytes() if path.is_file() else b"") + b"\0")
    return {
        "fingerprint": digest.hexdigest(),
        "python_version": platform.python_version(),
        "base": sys.base_prefix,
        "code": str(code_dir()),
    }


def is_environment_ready() -> bool:
    """Return whether the environment is whole, and made of what this application makes it of."""
    try:
        stamp = json.loads((environment_dir() / STAMP_NAME).read_bytes())
        return all(stamp.get(name) == value for name, value in ingredients().items())
    except (OSError, ValueError, AttributeError, UserError):
        return False


def environment_dir() -> Path:
    """Return the folder of the training environment, which need not exist.

    The name is short, because Windows counts the letters of every path below it.
    """
    return data_dir() / "env"


def venv_python(folder: Path) -> Path:
    """Return where the interpreter of a virtual environment is."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def site_packages(folder: Path) -> Path:
    """Return where the packages of a virtual environment are; it has the version of Python that runs us."""
    if sys.platform == "win32":
        return folder / "Lib" / "site-packages"
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


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
    """Return the Python for children: our own where it has PyTorch, else the environment's once that is ready."""
    return own_python() if has_torch() or not is_environment_ready() else str(venv_python(environment_dir()))


def is_environment_needed() -> bool:
    """Return whether nothing can be trained until the environment is built."""
    return not has_torch() and not is_environment_ready()


def is_from_checkout() -> bool:
    """Return whether what runs us was set up from a source checkout, and needs no environment beside it."""
    return has_torch() and not (Path(sys.prefix) / STAMP_NAME).is_file()


def apart_flag() -> str:
    """Return the option that keeps other code of the user's out of the import path of children.

    `-P` keeps out a `random.py` in the folder that we were started from. The installed application keeps out whatever
    belongs to another Python, too.
    """
    return "-P" if is_from_checkout() else "-I"


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
