"""The states of profiles, settings and first steps for `tools/screens.py`."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QScrollArea
from tests.support import fake_forecasting, forecasts

from diffusionforce.gui import forecaster, standby
from diffusionforce.gui.model import language, profile_shelf
from diffusionforce.gui.pages.profiles import ProfilesPage
from diffusionforce.gui.pages.settings import SettingsPage
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.shell import Window
from diffusionforce.job import find_profile, own_profiles
from diffusionforce.wire.forecast import Forecast

Show: TypeAlias = Callable[[Window, dict[str, Path]], None]
READ_MS, FORECAST_MS, ASK_MS = 1200, 2500, 7000
MAX_LOOKS = 100
MINE = "flux-2-klein-9b-1024-px-mine"
LONG_NAME = "A profile with a name as long as names may be, which is eighty characters here ok"[:80]


def wait(milliseconds: int) -> None:
    """Let the window work for a while."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def _profiles(window: Window, runs: dict[str, Path], forecast: Forecast) -> ProfilesPage:
    """Open the place with a copy of a built-in profile in sight; its forecast is given, not made."""
    path = runs["done"].parents[1] / "profile-forecast.json"
    path.write_text(forecast.model_dump_json(), encoding="utf-8")
    standby.may_stand_by = lambda: False
    forecaster.forecast_command = lambda job: fake_forecasting.command(path, job)
    if MINE not in own_profiles():
        builtin = {item.name: item for item in profile_shelf.read_shelf()}
        profile_shelf.duplicate(builtin["klein-9b-1024"])
        profile_shelf.duplicate(builtin["pocket-demo"])
    window.go("profiles")
    page = window.place("profiles")
    assert isinstance(page, ProfilesPage)
    for _ in range(MAX_LOOKS):
        wait(READ_MS // 10)
        if page.desk.item(MINE) is not None and page.is_filled:
            break
    page.choose(MINE)
    return page


def _profile(edits: dict[str, str], *, forecast: Forecast, search: str = "", scroll: int = 0) -> Show:
    def show(window: Window, runs: dict[str, Path]) -> None:
        page = _profiles(window, runs, forecast)
        assert page.editor is not None
        page.editor.revert.click()
        for name, text in edits.items():
            page.editor.form.edited.emit(name, text)
        page.editor.finder.setText(search)
        page.editor.form.set_folded(not scroll)
        wait(READ_MS)
        wait(FORECAST_MS)
        page.editor.scroller.verticalScrollBar().setValue(scroll)

    return show


def _builtin(window: Window, runs: dict[str, Path]) -> None:
    _profiles(window, runs, forecasts.forecast()).choose("klein-9b-1024")
    wait(FORECAST_MS)


def _unreadable(window: Window, runs: dict[str, Path]) -> None:
    page = _profiles(window, runs, forecasts.forecast())
    path = find_profile(MINE)
    whole = path.read_bytes()
    path.write_text('title = "Half a file"\n', encoding="utf-8")
    page.shown()
    wait(READ_MS)
    path.write_bytes(whole)


def _long_name(window: Window, runs: dict[str, Path]) -> None:
    page = _profiles(window, runs, forecasts.forecast())
    item = page.desk.item(MINE)
    assert item is not None
    name = profile_shelf.rename(item, LONG_NAME)
    page.shown()
    wait(READ_MS)
    page.choose(name)
    wait(FORECAST_MS)
    renamed = page.desk.item(name)
    assert renamed is not None
    profile_shelf.delete(renamed)


def _settings(*, code: str = "", at_end: bool = False) -> Show:
    def show(window: Window, _runs: dict[str, Path]) -> None:
        language.use(code or language.current())
        window.go("settings")
        window.retranslate()
        page = window.place("settings")
        assert isinstance(page, SettingsPage)
        wait(ASK_MS)
        if at_end:
            area = page.findChild(QScrollArea)
            assert isinstance(area, QScrollArea)
            area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())

    return show


def _step(at: int, *, run: str = "", wait_ms: int = FORECAST_MS) -> Show:
    def show(window: Window, runs: dict[str, Path]) -> None:
        if run:
            window.open_run(runs[run])
        window.go("welcome")
        page = window.place("welcome")
        assert isinstance(page, WelcomePage)
        page.open(at)
        if run and window.session is not None:
            page.show_session(window.session)
        wait(wait_ms)

    return show


WRONG = {"lora.rank": "64", "training.learning_rate": "0.02", "training.steps": "0", "dataset.width": "1000"}


def _keys(window: Window, _runs: dict[str, Path]) -> None:
    window.go("keys")
    window.place("keys")


SCREENS: dict[str, Show] = {
    "profile": _profile({"lora.rank": "64", "samples.every_steps": "500"}, forecast=forecasts.forecast()),
    "profile-wrong": _profile(WRONG, forecast=forecasts.forecast()),
    "profile-refused": _profile({"dataset.width": "2048"}, forecast=forecasts.refused()),
    "profile-search": _profile({}, forecast=forecasts.forecast(), search="sampling"),
    "profile-advanced": _profile({}, forecast=forecasts.forecast(), scroll=1100),
    "profile-builtin": _builtin,
    "profile-unreadable": _unreadable,
    "profile-long-name": _long_name,
    "settings": _settings(),
    "settings-end": _settings(at_end=True),
    "settings-german": _settings(code="de"),
    "keys": _keys,
    "first-rig": _step(0, wait_ms=ASK_MS),
    "first-demo": _step(1),
    "first-demo-live": _step(1, run="live", wait_ms=ASK_MS),
    "first-demo-failed": _step(1, run="failed", wait_ms=ASK_MS),
    "first-demo-done": _step(1, run="done", wait_ms=ASK_MS),
    "first-model": _step(2),
    "first-dataset": _step(3),
}
