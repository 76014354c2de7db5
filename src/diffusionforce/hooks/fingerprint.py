"""A fingerprint of a function's source, to notice that what a hook wraps is no longer what it was written for."""

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

from diffusionforce.errors import EngineError

HINT = "The engine is not the pinned version; install that one again."


def source_fingerprint(function: Callable[..., Any]) -> str:
    """Return the SHA-256 of a function's or class's source as it stands in its file, in hexadecimal.

    Line endings do not count, because a download as a zip and a checkout on Windows differ in them.

    Args:
        function: The function or class, without wrappers around it.

    Raises:
        OSError: The source is not there, as for a function that was made at run time.
    """
    return hashlib.sha256(inspect.getsource(function).replace("\r\n", "\n").encode()).hexdigest()


def require_source(
    function: Callable[..., Any], *, expected: str, target: object, hook_name: str, upstream_revision: str
) -> None:
    """Refuse a function whose source is not the one that a hook was written for.

    Args:
        function: The function, without wrappers around it.
        expected: Its `source_fingerprint` at the revision that the hook was written for.
        target: Where it is, for the message.
        hook_name: The hook, for the message.
        upstream_revision: That revision, for the message.

    Raises:
        EngineError: The source is another one, or cannot be read.
    """
    try:
        found = source_fingerprint(function)
    except (OSError, TypeError) as error:
        raise EngineError(f"The source of {target} cannot be read: {error}.", hint=HINT) from error
    if found != expected:
        raise EngineError(
            f"{target} is not the code that the hook {hook_name} was written for.",
            hint=HINT,
            detail=f"upstream revision {upstream_revision}\nexpected {expected}\nfound    {found}",
        )
