"""Setting the training environment up in the real window, with the real child and uv, from wheels of a few lines.

The window is made to believe that its Python has no PyTorch, as that of the installed application.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot
from tests.gui.test_look import SIZES, faults
from tests.support import wheelhouse

import screens_environment
from diffusionforce.gui.model import language
from diffusionforce.gui.pages.environment import EnvironmentPage
from diffusionforce.gui.pages.settings import SettingsPage
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.shell import Window
from diffusionforce.wire import interpreter
from diffusionforce.wire.interpreter import STAMP_NAME, environment_dir, venv_python

WAIT_MS = 60_000
SLOW_CODE = "import pathlib, time\nwhile pathlib.Path({gate!r}).exists():\n    time.sleep(0.05)\n"
Make = Callable[..., EnvironmentPage]


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    language.use("en")


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """While this file is there, the library that waits for it does not load."""
    path = tmp_path / "gate"
    path.touch()
    return path


@pytest.fixture
def opened(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, make_window: Callable[..., Window], qtbot: QtBot
) -> Make:
    """Opens the page in the window of an application without PyTorch, whose wheels have the code that is given."""
    monkeypatch.setattr(interpreter, "has_torch", lambda: False)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")

    def make(**codes: str) -> EnvironmentPage:
        application = wheelhouse.make_application(tmp_path / "app", codes=codes)
        monkeypatch.setenv("DIFFUSIONFORCE_APP", str(application))
        window = make_window()
        window.go("environment")
        page = window.place("environment")
        assert isinstance(page, EnvironmentPage)
        qtbot.waitUntil(page.setup.start.isEnabled, timeout=WAIT_MS)
        return page

    return make


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isVisible(), button.accessibleName()
    assert button.isEnabled(), button.toolTip()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def settle(page: EnvironmentPage, qtbot: QtBot) -> None:
    """Wait until nothing is being done."""
    qtbot.waitUntil(lambda: page.desk.view.phase == "idle", timeout=WAIT_MS)


def test_the_way_leads_from_a_plan_over_the_set_up_to_a_plan_that_can_start(opened: Make, qtbot: QtBot) -> None:
    page = opened()
    window = page.window()
    assert isinstance(window, Window)
    window.plan_run()
    plan = window.run_place.plan
    assert not plan.start.isEnabled()
    assert plan.standing.reason.startswith("The environment is not ready")
    lead = next(button for button in plan.notices.findChildren(QPushButton) if button.accessibleName() == "Set it up")
    click(qtbot, lead)
    assert window.places.currentWidget() is page
    settle(page, qtbot)
    click(qtbot, page.setup.start)
    assert page.setup.cancel.isVisible()
    settle(page, qtbot)
    assert page.desk.view.problem is None
    assert page.setup.headline.title.text() == "Ready to train"
    assert [row.accessibleName().partition(": ")[2][:4] for row in page.setup.steps.rows] == ["done"] * 4
    assert "tinylib==1.2.3" in page.log.toPlainText()
    assert interpreter.child_python() == str(venv_python(environment_dir()))
    click(qtbot, page.setup.leave)
    assert window.places.currentWidget() is window.run_place
    qtbot.waitUntil(lambda: plan.standing.state == "ready", timeout=WAIT_MS)


def test_a_set_up_that_is_cancelled_goes_on_where_it_was(opened: Make, qtbot: QtBot, gate: Path) -> None:
    page = opened(tinylib=SLOW_CODE.format(gate=str(gate)))
    click(qtbot, page.setup.start)
    qtbot.waitUntil(lambda: "Loading tinylib" in page.setup.steps.rows[3].note.text(), timeout=WAIT_MS)
    click(qtbot, page.setup.cancel)
    assert page.setup.headline.title.text() == "Stopping"
    settle(page, qtbot)
    assert page.setup.headline.title.text() == "The environment is not finished"
    assert not (environment_dir() / STAMP_NAME).exists()
    gate.unlink()
    qtbot.waitUntil(page.setup.start.isEnabled, timeout=WAIT_MS)
    assert page.setup.start.accessibleName() == "Go on"
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    assert page.desk.view.state == "ready"
    assert "venv --clear" not in page.desk.told()


def test_a_failure_is_said_with_its_log_and_tried_again(opened: Make, qtbot: QtBot, tmp_path: Path) -> None:
    page = opened()
    wheel = next((tmp_path / "app" / "wheels").glob("tinylib-*"))
    aside = wheel.rename(tmp_path / wheel.name)
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    assert "A library is not in" in page.setup.headline.title.text()
    click(qtbot, page.setup.copy)
    assert "No solution found" in QApplication.clipboard().text()
    assert "A library is not in" in QApplication.clipboard().text()
    aside.rename(wheel)
    assert page.setup.start.accessibleName() == "Try again"
    qtbot.waitUntil(page.setup.start.isEnabled, timeout=WAIT_MS)
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    assert page.desk.view.state == "ready"


def test_damage_is_found_and_repaired_and_all_of_it_removed_after_a_question(opened: Make, qtbot: QtBot) -> None:
    page = opened()
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    next(environment_dir().rglob("tinylib.py")).unlink()
    qtbot.waitUntil(lambda: page.setup.start.accessibleName() == "Check it" and page.setup.start.isEnabled())
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    assert "tinylib is damaged" in page.setup.headline.text.text()
    page.shown()  # Looking again by the stamp alone must not forget what the check has found.
    qtbot.wait(200)
    assert page.desk.view.state == "damaged"
    qtbot.waitUntil(page.setup.start.isEnabled, timeout=WAIT_MS)
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    assert page.desk.view.state == "ready"
    click(qtbot, page.remove)
    click(qtbot, page.keep)
    assert environment_dir().exists()
    click(qtbot, page.remove)
    click(qtbot, page.confirm)
    settle(page, qtbot)
    assert not environment_dir().exists()
    assert interpreter.is_environment_needed()


def test_closing_the_window_ends_the_set_up(opened: Make, qtbot: QtBot, gate: Path) -> None:
    page = opened(tinylib=SLOW_CODE.format(gate=str(gate)))
    click(qtbot, page.setup.start)
    qtbot.waitUntil(lambda: "Loading tinylib" in page.setup.steps.rows[3].note.text(), timeout=WAIT_MS)
    child = page.desk._child
    assert child is not None
    page.desk.close()
    assert not child.is_running
    assert not (environment_dir() / STAMP_NAME).exists()


def test_the_first_steps_set_it_up_before_the_demo(opened: Make, qtbot: QtBot) -> None:
    page = opened()
    window = page.window()
    assert isinstance(window, Window)
    window.go("welcome")
    steps = window.place("welcome")
    assert isinstance(steps, WelcomePage)
    setup = steps.rig.setup
    qtbot.waitUntil(setup.isVisible, timeout=WAIT_MS)
    assert not steps.demo.start.isEnabled()
    qtbot.waitUntil(setup.start.isEnabled, timeout=WAIT_MS)
    click(qtbot, setup.start)
    settle(page, qtbot)
    assert setup.headline.title.text() == "Ready to train"
    assert steps.demo.start.isEnabled()
    assert setup.isVisible()


def test_another_build_can_be_chosen_and_takes_the_place_of_the_first(opened: Make, qtbot: QtBot) -> None:
    page = opened(torch=wheelhouse.TORCH_CODE.replace("cuda = None", "cuda = '13.0'"))
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    page.desk.choose("cu130")
    qtbot.waitUntil(lambda: page.setup.start.accessibleName() == "Change the build", timeout=WAIT_MS)
    assert page.setup.plan.build.index == 1
    click(qtbot, page.setup.start)
    settle(page, qtbot)
    stamp = json.loads((environment_dir() / STAMP_NAME).read_text(encoding="utf-8"))
    assert stamp["backend"] == "cu130"


def test_a_copy_from_source_says_that_it_needs_none(window: Window, qtbot: QtBot) -> None:
    window.go("settings")
    settings = window.place("settings")
    assert isinstance(settings, SettingsPage)
    qtbot.waitUntil(settings.updates.manage.isVisible, timeout=WAIT_MS)
    click(qtbot, settings.updates.manage)
    page = window.place("environment")
    assert isinstance(page, EnvironmentPage)
    assert window.places.currentWidget() is page
    qtbot.waitUntil(page._checkout.isVisible, timeout=WAIT_MS)
    click(qtbot, page.back)
    assert window.places.currentWidget() is settings


@pytest.mark.parametrize("name", screens_environment.VIEWS)
def test_nothing_is_clipped_in_any_state_and_language(
    name: str, make_window: Callable[..., Window], qtbot: QtBot
) -> None:
    for code in ("en", "de"):
        language.use(code)
        window = make_window()
        screens_environment.give(window, name)
        window.go("environment")
        window.place("environment")
        qtbot.wait(150)
        for width, height in SIZES:
            window.resize(width, height)
            for _ in range(20):
                qtbot.wait(60)
                if not list(faults(window)):
                    break
            assert list(faults(window)) == [], f"{code} at {width} x {height}"
