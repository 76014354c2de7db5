"""Taskbar, settings and paths of a Windows that is stood in for."""

import ctypes
import sys
from pathlib import Path

import pytest

from diffusionforce.desktop import long_paths
from diffusionforce.desktop.long_paths import too_long
from diffusionforce.desktop.registry import WindowsSettings, windows_settings
from diffusionforce.desktop.taskbar import APP_ID, Taskbar, set_app_id


class FakeOle:
    """Makes one object, whose functions are noted by their places."""

    def __init__(self, *, code: int = 0) -> None:
        self.code = code
        self.kinds: list[str] = []
        self.calls: list[tuple[int, ...]] = []

    def CoCreateInstance(self, kind, _outer, _where, wanted, made):  # noqa: N802
        self.kinds = [bytes(one._obj.bytes).hex() for one in (kind, wanted)]
        made._obj.value = 99 if self.code == 0 else None
        return self.code

    def call(self, thing, place, *arguments):
        assert thing.value == 99
        self.calls.append((place, *(one.value for one in arguments)))
        return 0


def test_the_taskbar_shows_the_share_and_the_state_and_is_called_only_for_news():
    ole = FakeOle()
    taskbar = Taskbar(5, ole32=ole, caller=ole.call)
    assert taskbar.is_there
    # The first three parts of such an id are numbers, which Windows keeps with their last byte first.
    assert ole.kinds == ["44f3fd566dfdd011958a006097c9a090", "91fb1aea289e864b90e99e9f8a5eefaf"]
    for share in (0.25, 0.2501, 0.5):
        taskbar.show("normal", share)
    taskbar.show("paused", 0.5)
    taskbar.show("none")
    taskbar.close()
    assert not taskbar.is_there
    assert ole.calls == [
        (3,),
        (10, 5, 0x2),
        (9, 5, 250, 1000),
        (9, 5, 500, 1000),
        (10, 5, 0x8),
        (9, 5, 500, 1000),
        (10, 5, 0x0),
        (2,),
    ]


def test_a_system_without_a_taskbar_is_shown_nothing():
    ole = FakeOle(code=-1)
    taskbar = Taskbar(5, ole32=ole, caller=ole.call)
    taskbar.show("normal", 0.5)
    taskbar.close()
    assert not taskbar.is_there and ole.calls == []


def test_functions_are_called_by_their_place_in_the_table():
    seen: list[int] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_uint64)
    functions = [
        kind(lambda _thing, value, place=place: seen.append(place * 100 + value) or place) for place in range(11)
    ]
    table = (ctypes.c_void_p * 11)(*(ctypes.cast(function, ctypes.c_void_p).value for function in functions))
    thing = (ctypes.c_void_p * 1)(ctypes.addressof(table))

    class Ole:
        def CoCreateInstance(self, _kind, _outer, _where, _wanted, made):  # noqa: N802
            made._obj.value = ctypes.addressof(thing)
            return 0

    from diffusionforce.desktop.taskbar import _function  # noqa: PLC0415

    assert _function(ctypes.c_void_p(ctypes.addressof(thing)), 9, ctypes.c_uint64(7)) == 9
    assert seen == [907]


def test_windows_groups_our_windows_under_our_own_id():
    said: list[str] = []

    class Shell:
        def SetCurrentProcessExplicitAppUserModelID(self, name):  # noqa: N802
            said.append(name.value)
            return 0

    assert set_app_id(Shell()) and said == [APP_ID]


def read(values: dict[str, int]):
    return lambda key, name: values.get(name)


def test_what_is_set_is_read_and_what_is_not_is_not_known():
    assert windows_settings(read({})) == WindowsSettings(long_paths=None, schedules_in_hardware=None, tdr_delay_s=2)
    values = {"LongPathsEnabled": 1, "HwSchMode": 2, "TdrDelay": 60}
    assert windows_settings(read(values)) == WindowsSettings(
        long_paths=True, schedules_in_hardware=True, tdr_delay_s=60
    )
    settings = windows_settings(read({"LongPathsEnabled": 0, "HwSchMode": 1, "TdrLevel": 0}))
    assert settings == WindowsSettings(long_paths=False, schedules_in_hardware=False, tdr_delay_s=0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has them")
def test_other_systems_have_no_such_settings():
    assert windows_settings() is None
    assert too_long(Path("/" + "a" * 3000)) == 0


@pytest.mark.parametrize(("length", "surplus"), [(100, 0), (138, 0), (139, 1), (200, 62)])
def test_a_deep_folder_is_too_long_for_windows_unless_that_takes_any(
    monkeypatch: pytest.MonkeyPatch, length: int, surplus: int
):
    folder = Path("x" * length)
    monkeypatch.setattr(long_paths, "takes_long_paths", lambda: False)
    assert too_long(folder, is_windows=True) == surplus
    monkeypatch.setattr(long_paths, "takes_long_paths", lambda: True)
    assert too_long(folder, is_windows=True) == 0
