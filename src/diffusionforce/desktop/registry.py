"""Settings of Windows that decide over trainings: how long paths may be, and how it treats a card that is busy."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

ReadNumber: TypeAlias = Callable[[str, str], int | None]
"""Returns a number under a key of the machine's registry by its name; None where there is none."""
_FILES = r"SYSTEM\CurrentControlSet\Control\FileSystem"
_GRAPHICS = r"SYSTEM\CurrentControlSet\Control\GraphicsDrivers"
USUAL_TDR_DELAY_S = 2


@dataclass(frozen=True, kw_only=True)
class WindowsSettings:
    """What is set; None where nobody can say.

    Attributes:
        long_paths: Whether programs that ask for it may use paths of more than 260 characters.
        schedules_in_hardware: Whether the card shares its time out by itself (HAGS).
        tdr_delay_s: How long a card may work on one thing before Windows resets its driver; 0 is never.
    """

    long_paths: bool | None
    schedules_in_hardware: bool | None
    tdr_delay_s: int | None


def windows_settings(read: ReadNumber | None = None) -> WindowsSettings | None:
    """Return what is set on this Windows; None on another system.

    Args:
        read: Reads the registry; this machine's if None.
    """
    if read is None:
        if sys.platform != "win32":
            return None
        read = _read_number
    long_paths, scheduling = read(_FILES, "LongPathsEnabled"), read(_GRAPHICS, "HwSchMode")
    delay_s, level = read(_GRAPHICS, "TdrDelay"), read(_GRAPHICS, "TdrLevel")
    return WindowsSettings(
        long_paths=None if long_paths is None else long_paths == 1,
        schedules_in_hardware=None if scheduling is None else scheduling == 2,
        tdr_delay_s=0 if level == 0 else USUAL_TDR_DELAY_S if delay_s is None else delay_s,
    )


def _read_number(key: str, name: str) -> int | None:
    assert sys.platform == "win32"
    import winreg  # noqa: PLC0415 - other systems have no such module

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            value, kind = winreg.QueryValueEx(opened, name)
    except OSError:
        return None
    return int(value) if kind in (winreg.REG_DWORD, winreg.REG_QWORD) else None
