"""The cut between two cards is dragged in the plan of a run, and the forecast follows."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.conftest import Foretold
from tests.gui.test_forecast import page, settle
from tests.support import forecasts

from diffusionforce.gui.pages.run_plan import RunPlanPage
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.wire.forecast import Forecast

__all__ = ["page"]

WAIT_MS = 30_000
WAY = "split, bf16 weights, 4 micro-batches"


def cut_at(first: int) -> Forecast:
    """The forecast of a cut that was asked for."""
    made = forecasts.forecast()
    way = made.ways[0]
    cards = tuple(
        card.model_copy(update={"num_blocks": count})
        for card, count in zip(way.cards, (first, 40 - first), strict=True)
    )
    words = f"{WAY}, blocks {first} + {40 - first}"
    cut = way.model_copy(update={"words": words, "cards": cards, "chunk_sizes": (first, 40 - first)})
    return made.model_copy(update={"ways": (cut, *made.ways)})


def texts(page: RunPlanPage) -> list[str]:
    QApplication.processEvents()
    labels = [label for label in page.forecast.findChildren(Label) if label.isVisible()]
    return [label.text().replace("\N{NO-BREAK SPACE}", " ") for label in labels]


def test_the_cut_is_moved_with_the_keys_and_forecast(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    settle(qtbot, page)
    bar = page.forecast.cut.bar
    assert bar.isVisible() and bar.value() == 24 and not page.forecast.cut.best.isEnabled()
    foretold.say(cut_at(22))
    asked: list[str] = []
    page.forecast.cut_picked.connect(asked.append)
    for _ in range(2):
        qtbot.keyClick(bar, Qt.Key.Key_Left)
    assert "GPU 0 · 22 blocks" in texts(page), "at once"
    assert any("About 2.7 s a step" in text for text in texts(page))
    assert "GPU 0 · 22 blocks. GPU 1 · 18 blocks" in bar.accessibleDescription()
    assert not asked, "while the keys are pressed, nothing is asked for"
    qtbot.waitUntil(lambda: asked == [f"{WAY}, blocks 22 + 18"], timeout=WAIT_MS)
    settle(qtbot, page)
    assert page.plan.job().way == f"{WAY}, blocks 22 + 18" and bar.value() == 22
    foretold.say(forecasts.forecast())
    qtbot.keyClick(bar, Qt.Key.Key_Home)
    settle(qtbot, page)
    assert page.plan.job().way == "" and bar.value() == 24


def test_the_cut_is_dragged_and_shows_what_does_not_fit_at_once(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    settle(qtbot, page)
    bar, before = page.forecast.cut.bar, len(foretold.job_files)
    middle = bar.height() // 2

    def at(first: int) -> QPoint:
        return QPoint(round(first * bar.width() / 40), middle)

    qtbot.mousePress(bar, Qt.MouseButton.LeftButton, pos=at(24))
    qtbot.mouseMove(bar, at(30))
    assert bar.value() == 30
    assert any("GPU 0 lacks" in text for text in texts(page))
    assert any("too much" in text for text in texts(page)), "the bars follow in the same moment"
    qtbot.mouseMove(bar, at(20))
    assert not any("too much" in text for text in texts(page))
    assert len(foretold.job_files) == before, "no process while it is dragged"
    foretold.say(cut_at(20))
    qtbot.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=at(20))
    settle(qtbot, page)
    assert page.plan.job().way == f"{WAY}, blocks 20 + 20" and len(foretold.job_files) == before + 1
    foretold.say(forecasts.forecast())
    qtbot.mouseClick(page.forecast.cut.best, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert page.plan.job().way == ""


@pytest.mark.parametrize("picked", ["", "split, bf16 weights, 2 micro-batches"])
def test_another_way_or_profile_forgets_the_cut(page: RunPlanPage, qtbot: QtBot, picked: str):
    settle(qtbot, page)
    page.plan.cut = f"{WAY}, blocks 20 + 20"
    page.ways.way_picked.emit(picked)
    assert page.plan.job().way == picked
    page.plan.cut = f"{WAY}, blocks 20 + 20"
    page.choose_profile("pocket-demo")
    assert page.plan.cut == ""
