"""Keeps PySide from reading the source of every module that is loaded after it.

PySide can give methods of Qt other names, module by module (`from __feature__ import snake_case`). To know which
modules that may concern it searches the text of each for "PySide6": some three hundred files at the start of the
window, a tenth of the time until it is seen. Nothing here uses such names, so there is nothing to search for.
"""

import contextlib


def switch_off() -> None:
    """Take every module loaded from now on for one without other names; to be called before the others are loaded."""
    # PySide offers no switch. A release that is built otherwise reads on as before, which costs time and nothing else.
    with contextlib.suppress(ImportError):
        import PySide6.QtCore  # noqa: F401, PLC0415 - what is switched off comes with it.
        from shibokensupport import feature  # pyright: ignore  # noqa: PLC0415

        feature._mod_uses_pyside = _never  # pyright: ignore[reportUnknownMemberType]


def _never(_module: object) -> bool:
    return False
