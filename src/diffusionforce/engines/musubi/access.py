"""The way into the engine's code: verified, importable, and left as it is.

Python writes bytecode beside the source it loads and believes what it finds there. The engine's folder is to stay as it
was verified, so bytecode goes to a folder of its own, for this process and for its children, and none is read from the
engine's.

Some of the engine's files are read as pickles, which are programs. PyTorch reads them as numbers only, unless somebody
asks for the other way: nobody can, from here on.
"""

import os
import sys
from pathlib import Path

from diffusionforce.engines.musubi.pin import Pin, engine_dir, read_pin
from diffusionforce.engines.musubi.verification import verify
from diffusionforce.errors import EngineError
from diffusionforce.runs import data_dir


def open_engine(pin: Pin | None = None) -> Path:
    """Verify the engine and make `import musubi_tuner` find it, and only it.

    Args:
        pin: The pinned engine; the one that ships with the product when None.

    Returns:
        The folder that was put on the import path.

    Raises:
        EngineError: It is not installed or was changed, or another Musubi Tuner was imported before.
    """
    pin = pin or read_pin()
    source = verify(pin, folder=engine_dir(pin)) / "src"
    loaded = sys.modules.get("musubi_tuner")
    if loaded is not None and not _is_inside(loaded.__file__, source):
        raise EngineError(
            f"Another Musubi Tuner is in use already: {loaded.__file__}.",
            hint="Start Python without it on the import path.",
        )
    cache = str(data_dir() / "engines" / "bytecode")
    sys.pycache_prefix = cache
    os.environ["PYTHONPYCACHEPREFIX"] = cache
    os.environ.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    if str(source) not in sys.path:
        sys.path.insert(0, str(source))
    return source


def _is_inside(file: str | None, folder: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(folder.resolve())
