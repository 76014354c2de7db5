"""Another way than the fastest picked in the plan of a run, and other settings taken where nothing fits."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.conftest import Foretold
from tests.gui.test_forecast import page, rows, settle
from tests.support import forecasts

from diffusionforce.gui.pages.run_plan import RunPlanPage
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.wire import JobChange

__all__ = ["page"]


def takes(page: RunPlanPage) -> dict[str, Button]:
    """The visible buttons of the ways, by name."""
    QApplication.processEvents()
    return {b.accessibleName(): b for row in rows(page) for b in row.findChildren(Button) if b.isVisible()}


def test_a_way_that_is_picked_is_asked_for_and_can_be_taken_back(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    settle(qtbot, page)
    assert list(takes(page)) == [
        f"Use {row.line.name}" for row in rows(page) if row.line.fits and not row.line.is_recommended
    ]
    other = next(way for way in forecasts.forecast().ways if way.fits and way.kind == "split + swap")
    ways = tuple(way.model_copy(update={"recommended": way.words == other.words}) for way in forecasts.forecast().ways)
    foretold.say(forecasts.forecast(ways=ways))
    qtbot.mouseClick(takes(page)[f"Use {other.words}"], Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert page.plan.way == page.plan.job().way == other.words
    assert [row.line.name for row in rows(page) if row.line.is_recommended] == [other.words]
    foretold.say(forecasts.forecast())
    qtbot.mouseClick(takes(page)["Use the fastest"], Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert page.plan.job().way == "" and "Use the fastest" not in takes(page)


def test_another_profile_forgets_the_way(page: RunPlanPage, qtbot: QtBot):
    settle(qtbot, page)
    page.plan.way = "split"
    page.choose_profile("pocket-demo")
    assert page.plan.way == ""


def test_settings_that_fit_are_taken_with_a_button(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    change = JobChange(words="rank 4 in place of 16 (fits as split)", settings={"lora.rank": 4})
    foretold.say(forecasts.refused().model_copy(update={"changes": (change,)}))
    page.choose_dataset("demo:rolwayne")
    settle(qtbot, page)
    assert not page.start.isEnabled()
    foretold.say(forecasts.forecast())
    QApplication.processEvents()
    banner = next(one for one in page.findChildren(Banner) if one.isVisible())
    (button,) = (one for one in banner.findChildren(Button) if one.text().startswith("Use"))
    assert button.text() == "Use rank 4 in place of 16"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert page.plan.job().profile.lora.rank == 4 and page.start.isEnabled()


@pytest.mark.parametrize("settings", [{"lora.rank": 0}])
def test_a_setting_that_is_refused_is_said(page: RunPlanPage, qtbot: QtBot, settings: dict[str, int]):
    settle(qtbot, page)
    page.plan.change_settings(settings)
    assert page.plan.profile_problem is not None and "rank" in page.plan.profile_problem.sentence
