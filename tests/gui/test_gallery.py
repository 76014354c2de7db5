"""The Gallery place, as it grows and as it is looked through."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.sample_grid import Cell
from diffusionforce.wire import encode

WAIT_MS = 20_000


@pytest.fixture
def done(window: Window, qtbot: QtBot, tmp_path: Path) -> Window:
    """A window with the gallery of a finished run."""
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    window.go("gallery")
    return window


def test_an_empty_gallery_says_what_will_appear(window: Window):
    window.go("gallery")
    assert window.gallery._empty.isVisible()


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


def test_files_are_listed_with_the_best_one_marked(done: Window):
    names = [label.text() for label in done.gallery.files.findChildren(type(done.gallery._bar_step))]
    assert "Step 300" in names
    assert "newest, lowest held-out loss" in names


def test_an_earlier_run_can_be_looked_at(done: Window, qtbot: QtBot, home: Path):
    other = recorded.run_folder(home / "runs" / "2026-01-02-100000-pocket-demo", end="stopped", upto=120)
    done.go("gallery")
    index = done.gallery.runs.findData(str(other.root))
    assert index >= 0
    assert done.gallery.runs.itemText(
        index
    ) == "Pocket demo · 2 Jan 10:00" or "Pocket demo" in done.gallery.runs.itemText(index)
    done.gallery._on_run_chosen(index)
    qtbot.waitUntil(lambda: done.gallery._shown is not None and done.gallery._shown.root == other.root, timeout=WAIT_MS)
    shown = done.gallery._shown
    assert shown is not None
    qtbot.waitUntil(lambda: shown.is_over, timeout=WAIT_MS)
    assert shown.model.samples.done_steps == [0, 100]


def test_a_sample_whose_file_is_gone_does_no_harm(done: Window, qtbot: QtBot):
    session = done.session
    assert session is not None
    for path in (session.root / "samples").glob("*.png"):
        path.unlink()
    done.store._kept.clear()
    done.gallery.grid.viewport().update()
    qtbot.wait(300)
    assert done.gallery.grid._waiting_words(0, 0, session.root / "samples/step-000000-00.png") == "file is gone"


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
