"""Words for a disk that refuses a file."""

import errno
import re
from pathlib import Path

from diffusionforce.errors import DiskError, RunFolderError, UserError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FULL_WORDS = re.compile(
    r"\(os error (28|112)\)|\d+ requested and \d+ written|PytorchStreamWriter failed writing|unexpected pos \d+ vs \d+"
)
"""What safetensors, numpy and PyTorch say of it, without a number."""
_GONE_NAMES = ("ENOENT", "ENOTDIR", "ENODEV", "ENXIO", "ESTALE", "ENOTCONN", "EHOSTDOWN", "EHOSTUNREACH", "ENETDOWN")
_GONE = {getattr(errno, name) for name in _GONE_NAMES if hasattr(errno, name)}
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


def storage_error(error: Exception, path: Path) -> UserError:
    """Return the user error for a file or folder that could not be written.

    Args:
        path: What was to be written, or the folder that it is in; named in the sentence.
    """
    detail = f"{type(error).__name__}: {error}"
    if is_disk_full(error):
        return DiskError(
            f"The disk with {path} is full.",
            hint="Free some space, or choose a folder on another disk, and start again.",
            detail=detail,
        )
    code = error.errno if isinstance(error, OSError) else None
    if code in _GONE:
        return RunFolderError(
            f"{path} cannot be written: its folder was moved or removed, or its drive is not connected any more.",
            hint="Bring it back to where it was, then go on from the newest checkpoint.",
            detail=detail,
        )
    if code in _READ_ONLY:
        return RunFolderError(f"{path} is not writable.", hint="Choose a folder that you may write to.", detail=detail)
    words = error.strerror if isinstance(error, OSError) else None
    return RunFolderError(f"{path} cannot be written: {words or error}.", detail=detail)


def shortened(path: Path) -> str:
    """Return a path for a sentence; the middle of one that no file system would take is left out."""
    text = str(path)
    return f"{text[:60]}…{text[-20:]}" if len(text) > 255 else text


def is_disk_full(error: BaseException) -> bool:
    """Tell whether the error says that there is no space left, or that the user's share of it is used up."""
    return (isinstance(error, OSError) and error.errno in _FULL) or _FULL_WORDS.search(str(error)) is not None
