"""The taskbar of Windows: one icon for all that is ours, and the progress of a run on it.

Windows groups windows by an id that a process sets for itself; without one the window goes by the name of the Python
that runs it, and a pinned icon opens that. Progress goes through a COM interface, which is called here by the places of
its functions in its table: they have been the same since Windows 7.
"""

import ctypes
import sys
from typing import Any, Literal

APP_ID = "DiffusionForce.App"
State = Literal["none", "busy", "normal", "error", "paused"]
_STATES: dict[State, int] = {"none": 0x0, "busy": 0x1, "normal": 0x2, "error": 0x4, "paused": 0x8}
_RELEASE, _HR_INIT, _SET_VALUE, _SET_STATE = 2, 3, 9, 10
_IN_PROCESS = 0x1
_PARTS = 1000
_TASKBAR_LIST = "{56FDF344-FD6D-11D0-958A-006097C9A090}"
_TASKBAR_LIST_3 = "{EA1AFB91-9E28-4B86-90E9-9E9F8A5EEFAF}"


def set_app_id(shell32: Any = None) -> bool:
    """Let Windows group our windows under our own id; tells whether it does. To be called before there is a window.

    Args:
        shell32: Windows' library, or a stand-in with the same function.
    """
    if shell32 is None:
        if sys.platform != "win32":
            return False
        shell32 = ctypes.WinDLL("shell32")
    return shell32.SetCurrentProcessExplicitAppUserModelID(ctypes.c_wchar_p(APP_ID)) == 0


class Taskbar:
    """The progress on the icon of one window.

    Args:
        window: Number of the window.
        ole32: Windows' library, or a stand-in; None takes it where there is one.
        caller: Returns the function at a place of an object's table, for tests.
    """

    def __init__(self, window: int, *, ole32: Any = None, caller: Any = None) -> None:
        self._window = ctypes.c_void_p(window)
        self._caller = caller or _function
        self._object = _made(ole32 or _ole32())
        self._shown: tuple[State, int] = ("none", 0)
        if self._object and self._call(_HR_INIT) != 0:
            self.close()

    @property
    def is_there(self) -> bool:
        """Whether there is a taskbar that shows progress."""
        return bool(self._object)

    def show(self, state: State, share: float = 0.0) -> None:
        """Show a state, and the share that is done, 0 to 1."""
        shown = (state, round(_PARTS * min(max(share, 0.0), 1.0)))
        if not self._object or shown == self._shown:
            return
        if shown[0] != self._shown[0]:
            self._call(_SET_STATE, self._window, ctypes.c_int(_STATES[state]))
        if state not in {"none", "busy"}:
            self._call(_SET_VALUE, self._window, ctypes.c_uint64(shown[1]), ctypes.c_uint64(_PARTS))
        self._shown = shown

    def close(self) -> None:
        """Let the interface go."""
        if self._object:
            self._call(_RELEASE)
            self._object = None

    def _call(self, place: int, *arguments: Any) -> int:
        assert self._object is not None, "the interface is there"
        return int(self._caller(self._object, place, *arguments))


class _Guid(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_uint8 * 16),)


def _guid(text: str) -> _Guid:
    first, second, third, *rest = text.strip("{}").split("-")
    parts = (bytes.fromhex(first)[::-1], bytes.fromhex(second)[::-1], bytes.fromhex(third)[::-1])
    return _Guid.from_buffer_copy(b"".join((*parts, *map(bytes.fromhex, rest))))


def _ole32() -> Any:
    return ctypes.WinDLL("ole32") if sys.platform == "win32" else None


def _made(ole32: Any) -> ctypes.c_void_p | None:
    """Make the interface; None where the system has none. Qt has initialised COM for the window's thread."""
    if ole32 is None:
        return None
    made = ctypes.c_void_p()
    wanted, kind = _guid(_TASKBAR_LIST_3), _guid(_TASKBAR_LIST)
    code = ole32.CoCreateInstance(ctypes.byref(kind), None, _IN_PROCESS, ctypes.byref(wanted), ctypes.byref(made))
    return made if code == 0 and made.value else None


def _function(thing: ctypes.c_void_p, place: int, *arguments: Any) -> int:
    """Call a function of an interface by its place in the table that the object begins with."""
    table = ctypes.cast(thing, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    kinds: list[Any] = [type(argument) for argument in arguments]
    make: Any = getattr(ctypes, "WINFUNCTYPE", ctypes.CFUNCTYPE)
    return make(ctypes.c_long, ctypes.c_void_p, *kinds)(table[place] or 0)(thing, *arguments)
