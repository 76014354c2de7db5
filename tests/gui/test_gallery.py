"""The Gallery place, as it grows and as it is looked through."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QStyleOptionComboBox
from pytestqt.qtbot import QtBot
from safetensors.numpy import save_file
from tests.gui import recorded
from tests.support.clips import video

from diffusionforce.gui.lora_desk import LoraDesk
from diffusionforce.gui.model.favourites import Favourites
from diffusionforce.gui.pages.gallery import COMPARE, FAVOURITES, STRIP
from diffusionforce.gui.pages.gallery_runs import WIDEST_PX
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.sample_layout import Cell
from diffusionforce.job import Job
from diffusionforce.runs.labels import RunLabel, write_label
from diffusionforce.wire import Command, Preparing, encode

WAIT_MS = 20_000


@pytest.fixture
def done(window: Window, qtbot: QtBot, tmp_path: Path) -> Window:
    """A window with the gallery of a finished run."""
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    window.go("gallery")
    return window


def test_an_empty_gallery_says_what_will_appear(window: Window, qtbot: QtBot):
    window.go("gallery")
    qtbot.waitUntil(window.gallery._empty.isVisible, timeout=WAIT_MS)


def test_the_grid_grows_with_the_run(window: Window, qtbot: QtBot, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "run", upto=99)
    window.open_run(folder.root)
    window.go("gallery")
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.model.samples.done_steps == [0], timeout=WAIT_MS)
    assert session.model.samples.steps == [0, 100, 200, 300]
    grown = [m for m in recorded.messages(folder.root, upto=100) if getattr(m, "step", 0) == 100]
    with folder.telemetry_path.open("ab") as file:
        file.write(b"".join(encode(message) for message in grown[:-1]))
    qtbot.waitUntil(lambda: session.model.samples.pending_step == 100, timeout=WAIT_MS)
    with folder.telemetry_path.open("ab") as file:
        file.write(encode(grown[-1]))
    qtbot.waitUntil(lambda: session.model.samples.done_steps == [0, 100], timeout=WAIT_MS)
    qtbot.waitUntil(lambda: window.gallery.grid.step == 100, timeout=WAIT_MS)


def test_arrow_keys_move_and_space_opens_large(done: Window, qtbot: QtBot):
    gallery = done.gallery
    gallery.grid.choose(Cell(0, 0))
    qtbot.keyClick(gallery.grid, Qt.Key.Key_Right)
    qtbot.keyClick(gallery.grid, Qt.Key.Key_Down)
    assert gallery.grid.cell == Cell(1, 1)
    assert gallery.grid.accessibleDescription() == f"{recorded.PROMPTS[1]}, Step 100"
    qtbot.keyClick(gallery.grid, Qt.Key.Key_Space)
    assert gallery.large.isVisible()
    qtbot.keyClick(gallery.large, Qt.Key.Key_Right)
    assert gallery.grid.cell == Cell(1, 2)
    qtbot.keyClick(gallery.large, Qt.Key.Key_Escape)
    assert gallery.grid.isVisible()


def test_the_edges_of_the_grid_hold(done: Window, qtbot: QtBot):
    grid = done.gallery.grid
    grid.choose(Cell(0, 0))
    qtbot.keyClick(grid, Qt.Key.Key_Up)
    qtbot.keyClick(grid, Qt.Key.Key_Left)
    assert grid.cell == Cell(0, 0)


def test_before_and_after_share_the_frame(done: Window, qtbot: QtBot):
    gallery = done.gallery
    gallery.grid.choose(Cell(2, 1))
    gallery._compare_chosen()
    compare = gallery.compare
    assert compare.isVisible()
    assert (compare.left.currentText(), compare.right.currentText()) == ("Before training", "Step 100")
    share = compare.slider.share
    qtbot.keyClick(compare.slider, Qt.Key.Key_Right)
    assert compare.slider.share > share
    qtbot.keyClick(compare.slider, Qt.Key.Key_Down)
    assert compare._prompt.text() == recorded.PROMPTS[3]
    qtbot.waitUntil(lambda: all(compare.slider._pictures), timeout=WAIT_MS)


def test_both_sides_are_looked_at_equally_near(done: Window, qtbot: QtBot):
    gallery = done.gallery
    gallery._compare_chosen()
    compare, slider = gallery.compare, gallery.compare.slider
    qtbot.waitUntil(lambda: all(slider._pictures), timeout=WAIT_MS)
    left, right = slider.pictures or (None, None)
    assert left is not None and right is not None
    for _ in range(4):
        qtbot.keyClick(slider, Qt.Key.Key_Plus)
    assert slider.zoom.scale == pytest.approx(1.25**4)
    assert slider._seen(left) == slider._seen(right)
    assert compare.all_of_it.isVisible()
    before, share = slider.zoom.left, slider.share
    start = slider.rect().center() - QPoint(120, 0)
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=start)
    slider.mouseMoveEvent(moved_to(start - QPoint(40, 0)))
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=start - QPoint(40, 0))
    assert slider.zoom.left > before
    assert slider.share == share, "the handle stays where it is"
    qtbot.keyClick(slider, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert slider.share == share
    qtbot.keyClick(slider, Qt.Key.Key_0)
    assert not slider.zoom.is_near
    assert not compare.all_of_it.isVisible()


def test_a_comparison_goes_to_the_whole_screen_and_back(done: Window, qtbot: QtBot):
    gallery = done.gallery
    gallery._compare_chosen()
    compare = gallery.compare
    qtbot.keyClick(compare.slider, Qt.Key.Key_F11)
    screen = gallery._screen
    assert screen is not None and screen.isFullScreen() and compare.window() is screen
    assert not compare._prompts_card.isVisible()
    qtbot.keyClick(compare.slider, Qt.Key.Key_Down)
    assert compare._prompt.text() == recorded.PROMPTS[1]
    qtbot.keyClick(compare.slider, Qt.Key.Key_Escape)
    assert gallery._screen is None and compare.window() is done and compare.isVisible()
    assert compare._prompts_card.isVisible()
    gallery.tabs.choose(STRIP)
    gallery._on_tab(STRIP)
    assert gallery.strip.isVisible()


def moved_to(place: QPoint) -> QMouseEvent:
    """What the mouse says when it is dragged to a place."""
    at, button = QPointF(place), Qt.MouseButton.LeftButton
    return QMouseEvent(QEvent.Type.MouseMove, at, at, button, button, Qt.KeyboardModifier.NoModifier)


def test_files_are_listed_with_the_best_one_marked(done: Window):
    names = [label.text() for label in done.gallery.files.findChildren(Label)]
    assert "Step 300" in names
    assert "newest, lowest held-out loss" in names


def test_an_earlier_run_can_be_looked_at(done: Window, qtbot: QtBot, home: Path):
    other = recorded.run_folder(home / "runs" / "2026-01-02-100000-pocket-demo", end="stopped", upto=120)
    done.go("gallery")
    qtbot.waitUntil(lambda: done.gallery.runs.findData(str(other.root)) >= 0, timeout=WAIT_MS)
    index = done.gallery.runs.findData(str(other.root))
    assert done.gallery.runs.itemText(
        index
    ) == "Pocket demo · 2 Jan 10:00" or "Pocket demo" in done.gallery.runs.itemText(index)
    done.gallery.runs.activated.emit(index)
    qtbot.waitUntil(lambda: done.gallery._shown is not None and done.gallery._shown.root == other.root, timeout=WAIT_MS)
    shown = done.gallery._shown
    assert shown is not None
    qtbot.waitUntil(lambda: shown.is_over, timeout=WAIT_MS)
    assert shown.model.samples.done_steps == [0, 100]


def test_a_long_name_of_a_run_leaves_room_for_the_header(done: Window, qtbot: QtBot):
    # Symptom: a long name pushed the title of the page together, and one in Hebrew was cut off at its beginning.
    gallery, session = done.gallery, done.session
    assert session is not None
    write_label(session.root, RunLabel(name="גואש " * 16))
    gallery.shown()
    qtbot.waitUntil(lambda: "גואש" in gallery.runs.currentText(), timeout=WAIT_MS)
    done.resize(1100, 720)
    qtbot.waitUntil(lambda: gallery.runs.width() <= WIDEST_PX, timeout=WAIT_MS)
    option = QStyleOptionComboBox()
    gallery.runs.initStyleOption(option)
    assert option.currentText.endswith("…") and gallery.runs.toolTip() == gallery.runs.currentText()


def test_a_sample_whose_file_is_gone_does_no_harm(done: Window, qtbot: QtBot):
    session = done.session
    assert session is not None
    for path in (session.root / "samples").glob("*.png"):
        path.unlink()
    done.store._kept.clear()
    grid, gone = done.gallery.grid, session.root / "samples/step-000000-00.png"
    grid.viewport().update()
    edge = grid.picture_edge_px(grid.layout_now)
    qtbot.waitUntil(lambda: done.store.is_broken(gone.resolve(), edge_px=edge), timeout=WAIT_MS)
    assert grid._waiting_words(0, 0, gone.resolve(), edge) == "file is gone"


@pytest.mark.parametrize("width", [1440, 1700])
def test_a_table_of_few_columns_leaves_no_room_empty(done: Window, qtbot: QtBot, width: int):
    # Symptom: between the last column and the list of files about 130 px were empty.
    done.resize(width, 900)
    qtbot.wait(100)
    grid, files = done.gallery.grid, done.gallery.files
    last = grid._box(Cell(0, len(grid._table.steps) - 1))
    table_ends = grid.mapTo(done, grid.viewport().pos()).x() + last.right()
    files_begin = files.mapTo(done, files.rect().topLeft()).x()
    assert 0 < files_begin - table_ends <= 40
    assert files.mapTo(done, files.rect().topRight()).x() == pytest.approx(width - 24, abs=2)


def test_a_favourite_is_kept_beside_the_run_and_can_be_taken_away(done: Window, qtbot: QtBot):
    gallery, session = done.gallery, done.session
    assert session is not None
    gallery.grid.choose(Cell(1, 2))
    qtbot.keyClick(gallery.grid, Qt.Key.Key_F)
    assert Favourites(session.root).paths == ("samples/step-000200-01.png",)
    assert gallery.pane.bar.favourite.accessibleName() == "Remove favourite"
    gallery.tabs.choose(FAVOURITES)
    gallery._on_tab(FAVOURITES)
    assert gallery.marks.wall.isVisible() and len(gallery.marks.wall._pictures) == 1
    gallery.marks.wall.opened.emit(0)
    assert gallery.large.isVisible() and gallery.large.cell == Cell(1, 2)
    qtbot.keyClick(gallery.large, Qt.Key.Key_Escape)
    qtbot.keyClick(gallery.marks.wall, Qt.Key.Key_F)
    assert gallery.marks.empty.isVisible() and len(Favourites(session.root)) == 0
    (toast,) = gallery.toasts.shown
    assert toast.accessibleName().startswith("Taken out of the favourites")
    qtbot.mouseClick(toast.act, Qt.MouseButton.LeftButton)
    assert gallery.marks.wall.isVisible() and len(Favourites(session.root)) == 1


def test_marks_that_cannot_be_kept_are_said(done: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path, content: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("diffusionforce.job.kept_files.write_whole", refuse)
    done.gallery.grid.choose(Cell(0, 0))
    qtbot.keyClick(done.gallery.grid, Qt.Key.Key_F)
    assert done.gallery._problem.count() == 1


def test_the_film_strip_runs_over_the_steps(done: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch):
    gallery = done.gallery
    gallery.tabs.choose(STRIP)
    gallery._on_tab(STRIP)
    strip = gallery.strip
    assert strip._steps() == [0, 100, 200, 300] and strip.strip.index == 3
    qtbot.keyClick(strip.strip, Qt.Key.Key_Home)
    qtbot.keyClick(strip.strip, Qt.Key.Key_Down)
    assert strip.prompts.currentIndex() == 1 and strip._step.text() == "Before training"
    qtbot.waitUntil(lambda: strip.stage._picture is not None, timeout=WAIT_MS)
    strip._timer.setInterval(10)
    qtbot.keyClick(strip, Qt.Key.Key_Space)
    assert strip.is_playing
    qtbot.waitUntil(lambda: not strip.is_playing, timeout=WAIT_MS)
    assert strip.strip.index == 3


def test_the_whole_screen_and_back(done: Window, qtbot: QtBot):
    gallery = done.gallery
    gallery.grid.choose(Cell(0, 1))
    qtbot.mouseClick(gallery.pane.bar.whole, Qt.MouseButton.LeftButton)
    screen = gallery._screen
    assert screen is not None and screen.isFullScreen() and gallery.large.window() is screen
    qtbot.keyClick(gallery.large, Qt.Key.Key_Right)
    qtbot.keyClick(gallery.large, Qt.Key.Key_Escape)
    assert gallery._screen is None and gallery.large.window() is done and gallery.large.isVisible()
    assert gallery.grid.cell == Cell(0, 2)
    qtbot.keyClick(gallery.large, Qt.Key.Key_Escape)
    assert gallery.grid.isVisible()


def test_clips_play_where_they_are_and_side_by_side(window: Window, qtbot: QtBot, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "run", end="done")
    told = []
    for line in folder.telemetry_path.read_bytes().splitlines(keepends=True):
        told.append(line.replace(b".png", b".mp4") if b'"kind":"sample"' in line else line)
    folder.telemetry_path.write_bytes(b"".join(told))
    for picture in folder.samples_dir.glob("*.png"):
        video(picture.with_suffix(".mp4"), num_frames=6)
    window.open_run(folder.root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    window.go("gallery")
    gallery = window.gallery
    gallery.grid.choose(Cell(0, 1))
    qtbot.waitUntil(lambda: gallery.grid._player.transport.is_playing, timeout=WAIT_MS)
    gallery._compare_chosen()
    assert gallery.tabs.index == COMPARE
    compare = gallery.compare
    qtbot.waitUntil(lambda: compare.transport.num_frames == 6 and all(compare._clips), timeout=WAIT_MS)
    assert compare._bar.isVisible()
    qtbot.keyClick(compare, Qt.Key.Key_Period)
    assert compare.transport.index == 1
    saved = compare.as_picture()
    assert saved is not None and saved.width() > 2 * 90
    window.go("run")
    assert not compare.transport.is_playing


def test_the_cell_that_is_drawn_tells_the_time_as_long_as_somebody_looks(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = recorded.run_folder(tmp_path / "run", end="running", upto=99)
    window.open_run(folder.root)
    window.go("gallery")
    grid, session = window.gallery.grid, window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.model.samples.done_steps == [0] and session.model.live, timeout=WAIT_MS)
    assert not grid._second.isActive(), "nothing is drawn"
    session.model.feed(Preparing(stage="samples", done=1, total=4, step=100))
    session.changed.emit()
    qtbot.waitUntil(grid._second.isActive, timeout=WAIT_MS)
    painted: list[str] = []
    monkeypatch.setattr(
        "diffusionforce.gui.widgets.sample_grid.paint_sample",
        lambda *_args, words="", detail="", **_more: painted.append(detail),
    )
    monkeypatch.setattr(type(session.model), "drawing_words", "3 s of about 9 s")
    qtbot.waitUntil(lambda: "3 s of about 9 s" in painted, timeout=WAIT_MS)
    window.go("run")
    assert not grid._second.isActive()
    window.go("gallery")
    assert grid._second.isActive()


def test_prompts_are_changed_for_the_next_samples(
    window: Window, qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("slow")
    window.start_run(long_job)
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.model.step > 0, timeout=WAIT_MS)
    session.send(Command(command="sample"))
    qtbot.waitUntil(lambda: session.model.samples.num_samples > 0, timeout=WAIT_MS)
    window.go("gallery")
    gallery = window.gallery
    qtbot.waitUntil(gallery.pane.bar.isVisible, timeout=WAIT_MS)
    qtbot.mouseClick(gallery.pane.bar.edit, Qt.MouseButton.LeftButton)
    assert gallery.pane.prompts.prompts == long_job.profile.samples.prompts
    gallery.pane.prompts.editor.setPlainText("")
    assert not gallery.pane.prompts.draw.isEnabled()
    gallery.pane.prompts.editor.setPlainText("a fox\n\n  a frog ")
    qtbot.mouseClick(gallery.pane.prompts.draw, Qt.MouseButton.LeftButton)
    assert session.model.prompts == ("a fox", "a frog") and gallery.pane.bar.isVisible()
    gallery.setFocus()
    qtbot.keyClick(gallery, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert session.model.prompts == long_job.profile.samples.prompts


def one_layer() -> dict[str, np.ndarray]:
    """Return the two matrices of a LoRA's only layer, of rank 4."""
    shapes = {"lora_A": (4, 8), "lora_B": (8, 4)}
    return {f"blocks.0.{name}.weight": np.zeros(shape, np.float32) for name, shape in shapes.items()}


def test_a_file_is_looked_into_and_copied_by_the_real_child(qtbot: QtBot, tmp_path: Path):
    desk = LoraDesk()
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"no LoRA")
    with qtbot.waitSignal(desk.failed, timeout=60_000) as refused:
        desk.copy(path, tmp_path, title="My run", step=5)
    assert refused.args is not None and "a.safetensors" in str(refused.args[1].sentence)
    save_file(one_layer(), path, metadata={"steps": "5"})
    with qtbot.waitSignal(desk.copied, timeout=60_000) as copied:
        desk.copy(path, tmp_path, title="My run", step=5)
    assert copied.args is not None and copied.args == [path, tmp_path / "my-run-step5.safetensors"]
    assert copied.args[1].read_bytes() == path.read_bytes()
    known = desk.info(path)
    assert known is not None and known.metadata == {"steps": "5"}


def test_what_is_in_a_file_is_shown_in_its_box(done: Window, qtbot: QtBot):
    files = done.gallery.files
    box = files.boxes[0]
    metadata = {"model_family": "pocket", "steps": "300"}
    save_file(one_layer(), box.path, metadata=metadata)
    box.details_asked.emit()
    assert "Looking into the file" in {label.text() for label in box.findChildren(Label)}
    box.grab()
    qtbot.waitUntil(lambda: files.desk.info(box.path) is not None, timeout=60_000)
    qtbot.wait(20)
    shown = {label.text() for label in box.findChildren(Label)}
    assert {"the pocket model", "4", "1"} <= shown
    assert not box.copy.isEnabled() and "pocket model" in box.copy.toolTip()


def test_a_file_that_is_damaged_is_said_in_its_box(done: Window, qtbot: QtBot):
    files, failed = done.gallery.files, []
    files.desk.failed.connect(lambda path, error: failed.append(error))
    files.show_details(files.boxes[0])
    qtbot.waitUntil(lambda: bool(failed), timeout=60_000)
    assert any(failed[0].sentence in label.text() for label in files.boxes[0].findChildren(Label))
