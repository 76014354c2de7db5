"""The charts over steps: scale, the steps in sight, and what is saved of them."""

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QMenu
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui import theme
from diffusionforce.gui.model.step_span import LAST_STEPS
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.chart_menu import ChartMenu, SavingMenu
from diffusionforce.gui.widgets.line_chart import ChartData, LineChart
from diffusionforce.gui.widgets.overlay_chart import OverlayChart, OverlayLine
from diffusionforce.gui.widgets.step_chart import StepChart

WAIT_MS = 30_000
STEPS = list(range(1, 1001))


@pytest.fixture
def chart(qtbot: QtBot) -> LineChart:
    made = LineChart()
    qtbot.addWidget(made)
    losses = [0.5 / step for step in STEPS]
    made.show_data(ChartData(steps=STEPS, raw=losses, smoothed=losses, held_out=[(500, 0.01)], last_step=2000))
    made.resize(600, 300)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def make_menu(tmp_path: Path) -> Callable[[StepChart], ChartMenu]:
    preferences = Preferences(tmp_path / "window.ini")
    return lambda chart: ChartMenu(chart, preferences, name=lambda: ("Loss · fox", "fox-loss"))


def drag(qtbot: QtBot, chart: LineChart, first: float, last: float) -> None:
    frame = chart.frame()
    start, end = (QPoint(round(frame.x(step)), 100) for step in (first, last))
    qtbot.mousePress(chart, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(chart, end)
    qtbot.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=end)


def test_the_axis_runs_to_the_end_of_the_run(chart: LineChart):
    frame = chart.frame()
    assert (frame.first, frame.last) == (0, 2000)


def test_dragging_chooses_steps_and_a_double_click_shows_all(chart: LineChart, qtbot: QtBot):
    drag(qtbot, chart, 400, 800)
    frame = chart.frame()
    assert frame.first == pytest.approx(400, abs=5) and frame.last == pytest.approx(800, abs=5)
    assert frame.axis.high < 0.02, "the values in sight fill the chart"
    qtbot.mouseDClick(chart, Qt.MouseButton.LeftButton)
    assert not chart.span.is_near


def test_a_click_chooses_nothing(chart: LineChart, qtbot: QtBot):
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=QPoint(300, 100))
    assert not chart.span.is_near


def test_keys_come_nearer_move_and_go_back(chart: LineChart, qtbot: QtBot):
    qtbot.keyClick(chart, Qt.Key.Key_Plus)
    first, last = chart.frame().first, chart.frame().last
    assert last - first == pytest.approx(2000 / 1.5)
    qtbot.keyClick(chart, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert chart.frame().first > first
    qtbot.keyClick(chart, Qt.Key.Key_0)
    assert (chart.frame().first, chart.frame().last) == (0, 2000)


def test_equal_factors_are_equally_far_on_the_logarithmic_scale(chart: LineChart):
    chart.set_log(True)
    frame = chart.frame()
    assert frame.axis.is_log
    places = [frame.y(value) for value in (0.001, 0.01, 0.1)]
    assert places[0] - places[1] == pytest.approx(places[1] - places[2])


@pytest.mark.parametrize("losses", [(0.0, -0.5, 0.25, math.nan), (0.0, -1.0, -2.0, math.nan), (math.nan,) * 4])
def test_what_a_logarithmic_scale_cannot_show_is_left_out(chart: LineChart, losses: tuple[float, ...]):
    chart.set_log(True)
    chart.show_data(ChartData(steps=(1, 2, 3, 4), raw=losses, smoothed=losses, held_out=[(4, 0.0)], last_step=4))
    frame = chart.frame()
    assert [value for _, value in frame.points((1, 2, 3, 4), losses) if value <= 0] == [] or not frame.axis.is_log
    assert not chart.grab().isNull()


def test_the_scale_is_the_same_for_all_charts_and_at_the_next_start(
    chart: LineChart, qtbot: QtBot, make_menu: Callable[[StepChart], ChartMenu], tmp_path: Path
):
    menu = make_menu(chart)
    menu.log.trigger()
    assert chart.is_log
    other = OverlayChart()
    qtbot.addWidget(other)
    make_menu(other)
    assert other.is_log
    again = LineChart()
    qtbot.addWidget(again)
    ChartMenu(again, Preferences(tmp_path / "window.ini"), name=lambda: ("", ""))
    assert again.is_log


def test_the_menu_opens_by_its_button_and_by_a_right_click(
    chart: LineChart,
    qtbot: QtBot,
    make_menu: Callable[[StepChart], ChartMenu],
    monkeypatch: pytest.MonkeyPatch,
):
    opened: list[QPoint] = []
    monkeypatch.setattr(ChartMenu, "popup", lambda _menu, at: opened.append(at))
    menu = make_menu(chart)
    qtbot.addWidget(menu.button)
    assert menu.button.accessibleName(), "a screen reader can say what it is"
    assert menu.button.focusPolicy() & Qt.FocusPolicy.TabFocus
    menu.button.click()
    chart.customContextMenuRequested.emit(QPoint(50, 50))
    assert opened[1] == chart.mapToGlobal(QPoint(50, 50)) and len(opened) == 2


def test_the_last_steps_are_followed(chart: LineChart, make_menu: Callable[[StepChart], ChartMenu]):
    menu = make_menu(chart)
    assert not menu.reset.isEnabled(), "all steps are in sight"
    menu.follow.trigger()
    assert (chart.frame().first, chart.frame().last) == (1000 - LAST_STEPS, 1000)
    assert menu.reset.isEnabled()
    menu.reset.trigger()
    assert chart.frame().last == 2000 and not menu.follow.isChecked()


def save(menu: SavingMenu, action: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args, **_more: (str(path), ""))
    getattr(menu, action).trigger()


def test_the_numbers_are_saved_with_names_and_units(
    chart: LineChart,
    qtbot: QtBot,
    make_menu: Callable[[StepChart], ChartMenu],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    menu, path = make_menu(chart), tmp_path / "Füchse"
    with qtbot.waitSignal(menu.saved, timeout=WAIT_MS) as told:
        save(menu, "save_table", path, monkeypatch)
    assert told.args == [f"{path}.csv"], "what lacks an ending gets one"
    rows = list(csv.reader(io.StringIO(path.with_suffix(".csv").read_text(encoding="utf-8"))))
    assert rows[0] == ["step [number]", "loss [no unit]", "smoothed loss [no unit]", "held-out loss [no unit]"]
    assert len(rows) == 1 + len(STEPS)
    assert rows[500] == ["500", "0.001", "0.001", "0.01"] and rows[1][3] == ""


def test_the_picture_is_saved_as_it_is_seen(
    chart: LineChart,
    qtbot: QtBot,
    make_menu: Callable[[StepChart], ChartMenu],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    menu, path = make_menu(chart), tmp_path / "loss.png"
    with qtbot.waitSignal(menu.saved, timeout=WAIT_MS):
        save(menu, "save_picture", path, monkeypatch)
    picture = QImage(str(path))
    assert picture.width() > 2 * chart.width() and picture.height() > 2 * chart.height()
    seen = {picture.pixel(x, y) for x in range(0, picture.width(), 3) for y in range(0, picture.height(), 7)}
    assert theme.colour("focus").rgb() in seen, "the lines are drawn"


@pytest.mark.parametrize("action", ["save_table", "save_picture"])
def test_a_file_that_cannot_be_written_is_said(
    chart: LineChart,
    qtbot: QtBot,
    make_menu: Callable[[StepChart], ChartMenu],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
):
    menu = make_menu(chart)
    with qtbot.waitSignal(menu.failed, timeout=WAIT_MS) as told:
        save(menu, action, tmp_path / "gone" / "loss.csv", monkeypatch)
    assert told.args is not None
    assert "loss.csv could not be written" in told.args[0].sentence


def test_nothing_is_saved_by_somebody_who_thinks_better_of_it(
    chart: LineChart, make_menu: Callable[[StepChart], ChartMenu], monkeypatch: pytest.MonkeyPatch
):
    menu, told = make_menu(chart), []
    menu.failed.connect(told.append)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args, **_more: ("", ""))
    menu.save_table.trigger()
    assert not told


def test_runs_side_by_side_are_saved_in_columns(qtbot: QtBot):
    chart = OverlayChart()
    qtbot.addWidget(chart)
    chart.show_lines(
        [
            OverlayLine(letter="A", name="fox", steps=(1, 2), values=(0.5, 0.25)),
            OverlayLine(letter="B", name="frog", steps=(2, 3), values=(0.75, 0.5)),
        ]
    )
    assert chart.table().splitlines() == [
        "step [number],A smoothed loss fox [no unit],B smoothed loss frog [no unit]",
        "1,0.5,",
        "2,0.25,0.75",
        "3,,0.5",
    ]
    assert not chart.picture("Loss").isNull()


def test_the_run_page_says_where_a_chart_was_saved(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = recorded.run_folder(tmp_path / "fox-run", end="done", steps=30)
    window.open_run(folder.root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    loss = window.run_place.live.loss
    qtbot.waitUntil(loss.menu.button.isVisible, timeout=WAIT_MS)
    assert isinstance(loss.menu, QMenu) and loss.chart_name[1] == "fox-run-loss"
    with qtbot.waitSignal(loss.menu.saved, timeout=WAIT_MS):
        save(loss.menu, "save_table", tmp_path / "loss.csv", monkeypatch)
    assert window.run_place.live.toasts.shown
    with qtbot.waitSignal(window.run_place.failed, timeout=WAIT_MS):
        save(loss.menu, "save_table", tmp_path / "gone" / "loss.csv", monkeypatch)
    window.preferences.set_text("charts/scale", "log")
    window.go("run")
    assert loss.chart.is_log


def test_the_work_of_the_last_step_is_saved_piece_by_piece(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = recorded.run_folder(tmp_path / "fox-run", end="done", steps=30)
    window.open_run(folder.root)
    step = window.run_place.live.step
    qtbot.waitUntil(step.menu.button.isVisible, timeout=WAIT_MS)
    assert step.chart_name[1] == "fox-run-last-step"
    with qtbot.waitSignal(step.menu.saved, timeout=WAIT_MS):
        save(step.menu, "save_table", tmp_path / "work", monkeypatch)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "work.csv").read_text(encoding="utf-8"))))
    assert {row["device"] for row in rows} == {"GPU 0", "GPU 1"}
    assert {row["work"] for row in rows} == {"forward", "backward"}
    assert all(float(row["start [s]"]) < float(row["end [s]"]) for row in rows)
    with qtbot.waitSignal(step.menu.saved, timeout=WAIT_MS):
        save(step.menu, "save_picture", tmp_path / "work.png", monkeypatch)
    assert QImage(str(tmp_path / "work.png")).width() > 2 * step.timeline.width()


def test_the_wheel_scrolls_the_page_and_zooms_with_a_key_down(chart: LineChart, qtbot: QtBot):
    from PySide6.QtGui import QWheelEvent  # noqa: PLC0415 - of this test alone.

    def turn(keys: Qt.KeyboardModifier) -> QWheelEvent:
        at = QPointF(chart.frame().x(1000), 100)
        event = QWheelEvent(
            at, at, QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, keys, Qt.ScrollPhase.NoScrollPhase, False
        )
        chart.wheelEvent(event)
        return event

    assert not turn(Qt.KeyboardModifier.NoModifier).isAccepted() and not chart.span.is_near
    turn(Qt.KeyboardModifier.ControlModifier)
    assert chart.frame().x(1000) == pytest.approx(chart.frame().area.center().x(), abs=1)
    assert chart.span.is_near


def test_the_first_step_and_the_peaks_of_a_short_run_are_on_the_axis(chart: LineChart):
    # Symptom: beside the held-out loss from before the training the first step was off the chart, peaks were cut.
    chart.show_data(ChartData(steps=[1], raw=[0.12], smoothed=[0.12], held_out=[(0, 0.05)], last_step=40))
    assert chart.frame().axis.high >= 0.12
    losses = [0.05] * 39 + [0.17]
    chart.show_data(ChartData(steps=STEPS[:40], raw=losses, smoothed=[0.05] * 40, last_step=40))
    assert chart.frame().axis.high >= 0.17
    chart.show_data(ChartData(steps=STEPS[:40], raw=[9.0, *losses[1:-1], 0.06], smoothed=[0.05] * 40, last_step=40))
    assert chart.frame().axis.high < 1, "a single loss far off does not press the others to the bottom"
