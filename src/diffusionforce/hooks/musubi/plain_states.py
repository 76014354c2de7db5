"""Saved states that hold numbers and nothing else, whoever made them.

The engine's states are pickles, and a pickle is a program: whoever opens one of a stranger runs it. Its checksums say
that it came whole, not from whom. Accelerate reads them with a reader that builds numbers only. But it says nothing
where that reader refuses random numbers, and the run goes on with others; of the rest it leaves a traceback; and where
the LoRA's file is not there, it looks for a pickle instead. So everything is read once before, with nothing but its
outlines in memory, and refused with a sentence.
"""

import pickle
import zipfile
from pathlib import Path
from typing import Any, cast

from accelerate.utils.other import load  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from diffusionforce.errors import RunFolderError

_PICKLED = ("optimizer.bin", "scheduler.bin", "random_states_0.pkl")
_PICKLED_IN_FP16 = "scaler.pt"
_SUFFIXES = {".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth"}
_LORA = "model.safetensors"
_RANDOM_NUMBERS = {"random_state", "numpy_random_seed", "torch_manual_seed"}
_DAMAGED = (
    *(pickle.UnpicklingError, RuntimeError, ValueError, TypeError, AttributeError, LookupError, EOFError, OSError),
    zipfile.BadZipFile,
)
"""What the reader raises at what was written to break it."""


def require_plain(folder: Path) -> None:
    """Refuse a state of which anything could run a program when it is opened.

    Raises:
        RunFolderError: A file holds more than numbers, is damaged or missing, or is none that a run of ours writes.
    """
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
    missing = [name for name in (_LORA, *_PICKLED) if name not in names]
    if missing:
        raise _refused(folder, f"it lacks {', '.join(missing)}")
    strange = sorted(name for name in names if Path(name).suffix in _SUFFIXES)
    strange = [name for name in strange if name not in (*_PICKLED, _PICKLED_IN_FP16)]
    if strange:
        raise _refused(folder, f"no run of this program writes {strange[0]}")
    found = {name: _numbers(folder, name) for name in (*_PICKLED, _PICKLED_IN_FP16) if name in names}
    if _RANDOM_NUMBERS - set(found[_PICKLED[-1]]):
        raise _refused(folder, f"{_PICKLED[-1]} is damaged")


def _numbers(folder: Path, name: str) -> dict[str, Any]:
    """What a file holds; tensors stay on the disk."""
    try:
        content = load(str(folder / name), map_location="cpu", weights_only=True, mmap=True)
    except pickle.UnpicklingError as error:
        raise _refused(folder, f"{name} holds more than numbers, and could run a program", detail=str(error)) from None
    except _DAMAGED as error:
        raise _refused(folder, f"{name} is damaged", detail=repr(error)) from error
    if not isinstance(content, dict):
        raise _refused(folder, f"{name} is damaged")
    return cast(dict[str, Any], content)


def _refused(folder: Path, why: str, *, detail: str = "") -> RunFolderError:
    return RunFolderError(
        f"{folder} is no state that a run can go on from: {why}.",
        hint="Go on from checkpoints of your own runs only, or start a new run from the LoRA file.",
        detail=detail,
    )
