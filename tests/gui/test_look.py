"""What can be checked about the look without eyes: clipped words, names for screen readers, small targets."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QEventLoop, QPoint, QRectF, Qt, QTimer
from PySide6.QtGui import QFont, QFontInfo, QFontMetrics, QHelpEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QLabel,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QToolTip,
    QWidget,
)
from pytestqt.qtbot import QtBot
from tests.gui import recorded
from tests.support import broken_dataset, forecasts, rigs

import screens_environment
from diffusionforce.gui import icons, paint, style, theme
from diffusionforce.gui.model import language, profile_shelf
from diffusionforce.gui.pages.datasets import DatasetsPage
from diffusionforce.gui.pages.environment import EnvironmentPage
from diffusionforce.gui.pages.gallery import FAVOURITES, STRIP
from diffusionforce.gui.pages.history import HistoryPage
from diffusionforce.gui.pages.profiles import ProfilesPage
from diffusionforce.gui.pages.rig import RigPage
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.labels import Elided
from diffusionforce.gui.widgets.painted_area import PaintedArea
from diffusionforce.gui.widgets.sample_layout import HEADER_PX, Cell
from diffusionforce.gui.widgets.sample_wall import SampleWall
from diffusionforce.gui.widgets.tag_bars import TagBars
from diffusionforce.gui.widgets.thumb_grid import ThumbGrid
from diffusionforce.runs import runs_root
from diffusionforce.wire.forecast import Forecast

WAIT_MS = 20_000
SIZES = ((1440, 900), (1100, 720), (1920, 1080))
SMALLEST_TARGET_PX = 20


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    language.use("en")


def faults(window: Window) -> Iterator[str]:
    """Yield what is wrong with the widgets in sight."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisible():
            continue
        where = f"{type(widget).__name__} {widget.accessibleName() or getattr(widget, 'text', str)()!r}"
        if isinstance(widget, QLabel) and widget.text() and not isinstance(widget, Elided):
            needed_w = 0 if widget.wordWrap() else widget.sizeHint().width()
            needed_h = widget.heightForWidth(widget.width()) if widget.wordWrap() else widget.sizeHint().height()
            if needed_w > widget.width() + 1 or needed_h > widget.height() + 1:
                yield f"clipped: {where} needs {needed_w} x {needed_h}, has {widget.width()} x {widget.height()}"
        if isinstance(widget, QPushButton) and widget.sizeHint().width() > widget.width() + 1:
            yield f"squeezed: {where}"
        inner = widget.widget() if isinstance(widget, QScrollArea) else None
        if isinstance(widget, QScrollArea) and inner is not None and inner.width() > widget.viewport().width() + 1:
            yield f"wider than its view: {where}"
        takes_focus = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
        if takes_focus and not isinstance(widget, QAbstractScrollArea | Window):
            if not widget.accessibleName() and not widget.objectName().startswith("qt_"):
                yield f"no name: {where}"
            if min(widget.width(), widget.height()) < SMALLEST_TARGET_PX:
                yield f"small target: {where} {widget.width()} x {widget.height()}"
    if window.minimumSizeHint().width() > 1100 or window.minimumSizeHint().height() > 720:
        yield f"the window cannot be small: {window.minimumSizeHint()}"


def cut_without_tip(window: Window) -> Iterator[str]:
    """Yield texts in sight that are cut, and whose whole words no tool tip says."""
    cut: list[tuple[QWidget, str, str]] = []
    painted: list[QWidget] = []
    begin, text = paint.begin, paint.text

    def noted_begin(widget: QWidget) -> QPainter:
        painted.append(widget)
        return begin(widget)

    def noted_text(painter: QPainter, rect: QRectF, string: str, *, font: QFont, **other: Any) -> None:
        elide = other.get("elide", Qt.TextElideMode.ElideRight)
        if elide is not None:
            cut.append((painted[-1], string, QFontMetrics(font).elidedText(string, elide, int(rect.width()) + 1)))
        text(painter, rect, string, font=font, **other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paint, "begin", noted_begin)
        patch.setattr(paint, "text", noted_text)
        window.grab()
    labels = [one for one in window.findChildren(Elided) if not one.visibleRegion().isEmpty()]
    cut += [(one, one.text(), one.shown()) for one in labels]
    for widget, whole, shown in cut:
        if "…" in shown.replace(whole, "") and not any(part_of(whole, tip) for tip in tips_over(widget)):
            yield f"cut: {type(widget).__name__} {whole!r} to {shown!r}"


def part_of(words: str, tip: str) -> bool:
    """Tell whether a tool tip says words, which may be cut in their midst already."""
    return all(part in tip for part in words.split("…"))


def tips_over(widget: QWidget | None) -> Iterator[str]:
    """Yield the tool tips that the mouse may find over a widget."""
    while widget is not None:
        yield widget.toolTip()
        widget = widget.parentWidget()


def show_place(key: str) -> Callable[[Window, Path], None]:
    def show(window: Window, _path: Path) -> None:
        window.go(key)
        window.place(key)

    return show


def show_run(end: recorded.End) -> Callable[[Window, Path], None]:
    def show(window: Window, path: Path) -> None:
        window.open_run(recorded.run_folder(path / end, end=end).root)
        # Else the words change in the midst of a look, before the layout has taken them in.
        wait_for(lambda: window.session is not None and window.session.model.live)

    return show


def show_gallery(window: Window, path: Path) -> None:
    show_run("done")(window, path)
    window.go("gallery")


def show_compare(window: Window, path: Path) -> None:
    show_gallery(window, path)
    window.gallery._on_tab(1)


def show_refusal(window: Window, _path: Path) -> None:
    window.run_place.plan.choose_profile("wan21-14b")


def show_forecast(answer: Forecast) -> Callable[[Window, Path], None]:
    def show(window: Window, path: Path) -> None:
        (path / "answer.json").write_text(answer.model_dump_json(), encoding="utf-8")  # What `foretold` answers with.
        page = window.run_place.plan
        page.choose_dataset("demo:rolwayne")
        wait_for(lambda: page.forecaster.status.current is not None)

    return show


def wait_for(is_so: Callable[[], bool], *, every_ms: int = 20) -> None:
    loop, timer = QEventLoop(), QTimer()
    timer.timeout.connect(lambda: loop.quit() if is_so() else None)
    timer.start(every_ms)
    QTimer.singleShot(WAIT_MS, loop.quit)
    loop.exec()
    assert is_so()


def show_question(window: Window, path: Path) -> None:
    show_run("running")(window, path)
    window.run_place.live.notice.ask_stop()


def show_tab(index: int) -> Callable[[Window, Path], None]:
    def show(window: Window, path: Path) -> None:
        show_gallery(window, path)
        wait_for(lambda: window.gallery.tabs.isVisible())
        window.gallery._toggle_mark(Cell(0, 1))
        window.gallery.tabs.choose(index)
        window.gallery._on_tab(index)

    return show


def show_prompts(window: Window, path: Path) -> None:
    show_run("running")(window, path)
    window.go("gallery")
    wait_for(lambda: window.gallery.pane.bar.edit.isVisible())
    window.gallery.pane.edit_prompts()


def show_queue(window: Window, path: Path) -> None:
    recorded.run_folder(runs_root() / "a", end="done")
    recorded.run_folder(runs_root() / "b", end="failed")
    window.enqueue(recorded.job(path / "waits", dataset_dir=path))
    show_run("running")(window, path)
    window.go("history")
    page = window.place("history")
    assert isinstance(page, HistoryPage)
    wait_for(lambda: len(page.past_rows) == 2)


def show_runs_side_by_side(window: Window, path: Path) -> None:
    show_queue(window, path)
    page = window.place("history")
    assert isinstance(page, HistoryPage)
    for row in page.past_rows:
        row.chosen.setChecked(True)
    page._compare()
    wait_for(lambda: not page.pane.is_reading)


def show_rig(window: Window, _path: Path) -> None:
    page = window.place("rig")
    assert isinstance(page, RigPage)
    page._asked = True
    window.go("rig")
    wait_for(lambda: window.watch.report is not None)
    window.watch.report, page.test = rigs.report(), rigs.speed_test()
    page._on_examined(rigs.report())


def show_dataset(tab: str) -> Callable[[Window, Path], None]:
    def show(window: Window, path: Path) -> None:
        window.go("datasets")
        page = window.place("datasets")
        assert isinstance(page, DatasetsPage)
        page.choose(str(broken_dataset.make(path / "A folder whose name is longer than most would choose")))
        wait_for(lambda: page.desk.table.is_checked)
        page.files.tabs.choose(tab)
        page.files.tabs.chosen.emit(tab)
        if tab == "left_out":
            page.trigger_panel.open()
        if tab == "fix":
            page.folders_panel.open()
            page.files.grid.choose_all()

    return show


def show_own_profile(*, edits: dict[str, str]) -> Callable[[Window, Path], None]:
    def show(window: Window, _path: Path) -> None:
        builtin = next(item for item in profile_shelf.read_shelf() if item.name == "pocket-demo")
        name = profile_shelf.duplicate(builtin)
        window.go("profiles")
        page = window.place("profiles")
        assert isinstance(page, ProfilesPage)
        page.choose(name)
        wait_for(lambda: page.name == name and page.is_filled)
        assert page.editor is not None
        page.editor.form.set_folded(False)
        wait_for(lambda: page.is_filled)
        for field, text in edits.items():
            page.editor.form.edited.emit(field, text)

    return show


def show_step(at: int) -> Callable[[Window, Path], None]:
    def show(window: Window, _path: Path) -> None:
        window.go("welcome")
        page = window.place("welcome")
        assert isinstance(page, WelcomePage)
        page.open(at)

    return show


def show_environment(name: str) -> Callable[[Window, Path], None]:
    def show(window: Window, _path: Path) -> None:
        screens_environment.give(window, name)
        window.go("environment")
        page = window.place("environment")
        assert isinstance(page, EnvironmentPage)
        wait_for(lambda: not page.engine.desk.is_busy)

    return show


def in_german(show: Callable[[Window, Path], None]) -> Callable[[Window, Path], None]:
    def show_it(window: Window, path: Path) -> None:
        language.use("de")
        window.retranslate()
        show(window, path)

    return show_it


SCREENS: dict[str, Callable[[Window, Path], None]] = {
    "plan": show_place("run"),
    "refusal": show_refusal,
    "forecast fits": show_forecast(forecasts.forecast()),
    "forecast pages": show_forecast(forecasts.paging()),
    "forecast refused": show_forecast(forecasts.refused()),
    "forecast of a processor": show_forecast(forecasts.without_cards()),
    "live": show_run("running"),
    "question": show_question,
    "done": show_run("done"),
    "failed": show_run("failed"),
    "crashed": show_run("crashed"),
    "gallery": show_gallery,
    "compare": show_compare,
    "empty gallery": show_place("gallery"),
    "datasets": show_place("datasets"),
    "broken dataset": show_dataset("all"),
    "broken dataset, trigger word": show_dataset("left_out"),
    "broken dataset, folders": show_dataset("fix"),
    "broken dataset, shapes": show_dataset("shapes"),
    "broken dataset, captions": show_dataset("captions"),
    "profiles": show_place("profiles"),
    "history": show_place("history"),
    "film strip": show_tab(STRIP),
    "favourites": show_tab(FAVOURITES),
    "prompts": show_prompts,
    "queue": show_queue,
    "runs side by side": show_runs_side_by_side,
    "rig": show_rig,
    "settings": show_place("settings"),
    "environment before": show_environment("before"),
    "environment on its way": show_environment("running"),
    "own profile": show_own_profile(edits={"lora.rank": "8", "training.learning_rate": "0.1"}),
    "wrong profile": show_own_profile(edits={"training.steps": "0", "dataset.width": "100", "lora.rank": "x"}),
    "first steps, rig": show_step(0),
    "first steps, demo": show_step(1),
    "first steps, model": show_step(2),
    "first steps, dataset": show_step(3),
    "keys": show_place("keys"),
    "German settings": in_german(show_place("settings")),
    "German profiles": in_german(show_place("profiles")),
    "German first steps": in_german(show_place("welcome")),
    "German plan": in_german(show_place("run")),
    "German keys": in_german(show_place("keys")),
    "German rig": in_german(show_rig),
    "German dataset": in_german(show_dataset("all")),
    "German captions": in_german(show_dataset("captions")),
    "German folders": in_german(show_dataset("fix")),
    "German profile": in_german(show_own_profile(edits={"training.steps": "0", "training.learning_rate": "0.1"})),
    "German environment": in_german(show_environment("before")),
    "German history": in_german(show_runs_side_by_side),
}


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_clipped_nameless_or_too_small(
    screen: str, make_window: Callable[..., Window], qtbot: QtBot, tmp_path: Path
):
    window = make_window()
    SCREENS[screen](window, tmp_path)
    page = window.run_place.plan
    if page.isVisible():
        # Else the answer comes in the midst of a look, before the layout has taken it in.
        wait_for(lambda: not page.plan.is_checking and not page.forecaster.status.is_checking)
    qtbot.wait(250)
    for width, height in SIZES:
        window.resize(width, height)
        qtbot.wait(60)
        # A busy machine takes longer to lay out anew.
        for _ in range(20):
            if not list(faults(window)):
                break
            qtbot.wait(100)
        assert [*faults(window), *cut_without_tip(window)] == [], f"at {width} x {height}"


def test_words_that_are_painted_are_whole_in_a_tool_tip(
    make_window: Callable[..., Window], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Symptom: long names of files, and prompts beside previews, were cut and nowhere to be read.
    told: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _at, words, _widget: told.append(words))
    window = make_window()

    def point_at(area: PaintedArea, x: int, y: int) -> str:
        view, place = area.viewport(), QPoint(x, y)
        QApplication.sendEvent(view, QHelpEvent(QEvent.Type.ToolTip, place, view.mapToGlobal(place)))
        return told[-1]

    show_dataset("captions")(window, tmp_path)
    files = window.findChild(ThumbGrid)
    assert files is not None
    assert point_at(files, 30, 30).splitlines()[0] == files.rows[0].path.name
    tags = window.findChild(TagBars)
    assert tags is not None
    assert point_at(tags, 30, 10) == tags._tags[0][0]
    show_tab(FAVOURITES)(window, tmp_path)
    wall, grid = window.findChild(SampleWall), window.gallery.grid
    assert wall is not None
    assert point_at(wall, 30, 30).splitlines()[0] == wall._pictures[0].title
    assert point_at(grid, 10, HEADER_PX + 20) == recorded.PROMPTS[0]
    assert point_at(grid, 10, 5) == ""


def test_the_bundled_fonts_are_found(qapp: QApplication):
    assert {"Inter", "JetBrains Mono"} <= set(theme.load_fonts())
    assert QFontInfo(theme.font()).family() == "Inter"
    assert QFontInfo(theme.font(mono=True)).family() == "JetBrains Mono"


@pytest.mark.parametrize("user", ["jürgen漢", "O'Brien (Work)"])
def test_the_style_sheet_is_taken_whatever_the_user_is_called(
    user: str, qapp: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / user).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / user))
    icons._folder.cache_clear()  # pyright: ignore[reportPrivateUsage]
    try:
        arrow = icons.file("chev-down", theme.current().text2)
        # The rules of scroll bars come last, so they are the first to go.
        bar = QScrollBar(Qt.Orientation.Vertical)
        qtbot.addWidget(bar)
        bar.setStyleSheet(style.sheet(theme.current(), chevron=arrow).replace("width: 12px", "width: 33px"))
        assert bar.sizeHint().width() == 33
        assert not QPixmap(arrow).isNull()
    finally:
        icons._folder.cache_clear()  # pyright: ignore[reportPrivateUsage]
        theme.apply(qapp, "dark")


def test_painting_keeps_the_references_to_none(window: Window, qtbot: QtBot, tmp_path: Path):
    """PySide6 6.12 on Python 3.11 lost a reference to None with every call that returns nothing, until it crashed."""
    show_run("done")(window, tmp_path)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    chart = window.run_place.live.loss.chart
    chart.grab()
    before = sys.getrefcount(None)
    for _ in range(20):
        chart.grab()
    assert sys.getrefcount(None) > before - 200
