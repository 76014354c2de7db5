"""Texts that people paste into public places, without their names in them."""

import getpass
import platform
import re
from pathlib import Path

_SHORTEST = 3
"""A name this short would be found in ordinary words."""


def without_names(text: str, *, home: Path | None = None, user: str | None = None, host: str | None = None) -> str:
    """Return a text in which the home folder, the user's name and the computer's name are replaced.

    Args:
        text: Any text.
        home: The home folder; that of this user if None.
        user: Name of the user; this one's if None.
        host: Name of the computer; this one's if None.
    """
    home = home or Path.home()
    for shown in {str(home), home.as_posix(), str(home).replace("\\", "\\\\")}:
        if len(shown) > _SHORTEST:
            text = re.sub(re.escape(shown), "~", text, flags=re.IGNORECASE)
    # Other people's folders, and this one's where the system writes them in another way.
    text = re.sub(r"(?i)([a-z]:[\\/]+users[\\/]+|/home/|/users/)[^\\/\s:;,\"']+", r"\1user", text)
    names = (
        (user if user is not None else _user(), "user"),
        (host if host is not None else platform.node(), "computer"),
    )
    for name, instead in names:
        if len(name) >= _SHORTEST and name.lower() not in {"root", "user", "localhost", "computer"}:
            text = re.sub(rf"(?i)(?<![\w-]){re.escape(name)}(?![\w-])", instead, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
