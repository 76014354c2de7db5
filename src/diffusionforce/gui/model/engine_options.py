"""The names of the engine's own options, to tell a misspelt one while it is typed.

The table is a file beside the engine's code, which the window must not load; the engine itself has the last word.
"""

import difflib
import functools
import importlib.resources
import json
from collections.abc import Mapping
from typing import Any

from diffusionforce.gui.model.language import tr


@functools.cache
def known_options() -> frozenset[str]:
    """Return the names of all options, of whichever program of the engine; none where the table is not there."""
    table = importlib.resources.files("diffusionforce").joinpath("engines", "musubi", "options.json")
    try:
        groups: dict[str, dict[str, Any]] = json.loads(table.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return frozenset()
    return frozenset(name for group in groups.values() for name in group)


def caution(options: Mapping[str, Any]) -> str:
    """Return what is odd about options that a profile passes on, in a sentence; empty for nothing."""
    known = known_options()
    unknown = [name for name in options if known and name not in known]
    if not unknown:
        return ""
    close = difflib.get_close_matches(unknown[0], known, n=1)
    if close:
        return tr("{name} is no option of the engine. Did you mean {close}?").format(name=unknown[0], close=close[0])
    return tr("{name} is no option of the engine").format(name=unknown[0])
