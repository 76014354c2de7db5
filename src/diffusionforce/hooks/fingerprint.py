"""A fingerprint of a function's source, to notice that what a hook wraps is no longer what it was written for."""

import hashlib
import inspect
from collections.abc import Callable
from typing import Any


def source_fingerprint(function: Callable[..., Any]) -> str:
    """Return the SHA-256 of a function's or class's source as it stands in its file, in hexadecimal.

    Line endings do not count, because a download as a zip and a checkout on Windows differ in them.

    Args:
        function: The function or class, without wrappers around it.

    Raises:
        OSError: The source is not there, as for a function that was made at run time.
    """
    return hashlib.sha256(inspect.getsource(function).replace("\r\n", "\n").encode()).hexdigest()
