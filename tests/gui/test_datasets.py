"""The Datasets place on the real window, with checks in a real process."""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import QEventLoop, QMimeData, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QColor, QDropEvent, QPixmap
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot
from tests.support import broken_dataset
from tests.support.broken_dataset import TRIGGER, save

from diffusionforce.datasets.framing import Framing
from diffusionforce.datasets.sets import SetFolder, read_set
from diffusionforce.gui import theme
from diffusionforce.gui.pages.datasets import DatasetsPage
from diffusionforce.gui.pages.datasets_dropping import dropped_folders
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.crop_view import CropView
from diffusionforce.gui.widgets.finding_row import FindingRow

WAIT_MS = 60_000
NUM_MANY = 10_000
LONGEST_TURN_MS = 30


@pytest.fixture
def page(window: Window, qtbot: QtBot) -> DatasetsPage:
    window.go("datasets")
    page = window.place("datasets")
    assert isinstance(page, DatasetsPage)
    wait_ready(page, qtbot)
    return page


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Six good pictures, the last without the trigger word."""
    folder = tmp_path / "Evening hills"
    folder.mkdir()
    for seed in range(6):
        caption = f"{TRIGGER}, hills, low sun {seed}" if seed < 5 else "hills, full moon"
        save(folder / f"hills_{seed}.png", seed, caption=caption)
    return folder


def wait_ready(page: DatasetsPage, qtbot: QtBot) -> None:
    def is_ready() -> bool:
        return not page.desk.is_checking and not page.desk.is_repairing

    qtbot.waitUntil(is_ready, timeout=WAIT_MS)


def open_folder(page: DatasetsPage, folder: Path, qtbot: QtBot) -> None:
    page.choose(str(folder))
    wait_ready(page, qtbot)
    assert page.desk.table.is_checked


def finding_rows(page: DatasetsPage) -> dict[str, FindingRow]:
    return {row.line.kind.key: row for row in page.findings.findChildren(FindingRow) if not row.isHidden()}


def caption_of(picture: Path) -> str:
    return picture.with_suffix(".txt").read_text(encoding="utf-8").strip()


def choose_file(page: DatasetsPage, name: str) -> None:
    page.files.grid.choose(next(i for i, row in enumerate(page.files.grid.rows) if row.path.name == name))


def plain(text: str) -> str:
    """A text with the blanks that hold numbers and units together as usual ones."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_demo_is_shown_and_stays_as_it_is(page: DatasetsPage, qtbot: QtBot):
    page.choose("demo:loranne")
    wait_ready(page, qtbot)
    assert len(page.files.grid.rows) == 12
    assert page.header.train.isEnabled()
    assert page.inspector.caption.editor.isReadOnly()
    page.desk.write_caption(page.files.grid.rows[0].path, "changed")
    assert page.desk.book.num_steps == 0


def test_a_broken_dataset_is_opened_and_every_problem_named(page: DatasetsPage, qtbot: QtBot, tmp_path: Path):
    open_folder(page, broken_dataset.make(tmp_path / "broken"), qtbot)
    assert len(finding_rows(page)) == 24
    assert page.findings.fold.isVisible()
    qtbot.mouseClick(finding_rows(page)["truncated"].show_files, Qt.MouseButton.LeftButton)
    assert [row.path.name for row in page.files.grid.rows] == ["cut.jpg", "cut_hard.jpg", "cut_png.png"]
    assert page.files.only.text == "3 pictures end early"
    page.files.tabs.choose("fix")
    page.files.tabs.chosen.emit("fix")
    assert {row.tone for row in page.files.grid.rows} <= {"err", "warn"}


def test_a_broken_dataset_is_repaired_through_the_screen_and_undone(page: DatasetsPage, qtbot: QtBot, tmp_path: Path):
    root = broken_dataset.make(tmp_path / "broken")
    before = {path.name: path.read_bytes() for path in root.iterdir()}
    open_folder(page, root, qtbot)
    for kind in ("duplicate", "same_stem", "rotated"):
        qtbot.mouseClick(finding_rows(page)[kind].repair, Qt.MouseButton.LeftButton)
        assert page.desk.is_repairing
        wait_ready(page, qtbot)
        assert kind not in finding_rows(page)
    assert not (root / "twin_b.png").exists()
    assert (root / "originals" / "twin_b.png").read_bytes() == before["twin_b.png"]
    assert (root / "turned.png").is_file()
    for _ in range(3):
        qtbot.mouseClick(page.header.undo, Qt.MouseButton.LeftButton)
        wait_ready(page, qtbot)
    assert {path.name: path.read_bytes() for path in root.iterdir() if path.is_file()} == before
    assert not page.header.undo.isEnabled()


def test_a_repair_of_yesterday_can_be_undone(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    (pictures / "orphan.txt").write_text("of nothing", encoding="utf-8")
    open_folder(page, pictures, qtbot)
    qtbot.mouseClick(finding_rows(page)["unpaired"].repair, Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    open_folder(page, pictures, qtbot)
    qtbot.mouseClick(page.header.undo, Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    assert (pictures / "orphan.txt").is_file()


def test_a_caption_is_edited_saved_and_undone(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    choose_file(page, "hills_2.png")
    before = caption_of(pictures / "hills_2.png")
    page.inspector.caption.editor.selectAll()
    qtbot.keyClicks(page.inspector.caption.editor, "gouachestyle, a lake")
    assert page.inspector.caption.state.text() == "Not saved yet"
    qtbot.waitUntil(lambda: caption_of(pictures / "hills_2.png") == "gouachestyle, a lake", timeout=WAIT_MS)
    assert page.inspector.caption.state.text() == "Saved"
    assert (pictures / "originals" / "captions" / "hills_2.txt").read_text(encoding="utf-8").strip() == before
    qtbot.mouseClick(page.header.undo, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: caption_of(pictures / "hills_2.png") == before, timeout=WAIT_MS)
    assert page.inspector.caption.editor.toPlainText() == before


def test_going_to_the_next_picture_saves_what_was_typed(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    choose_file(page, "hills_0.png")
    page.inspector.caption.editor.setPlainText("gouachestyle, first")
    qtbot.mouseClick(page.inspector.after, Qt.MouseButton.LeftButton)
    assert page.inspector.name.text() == "hills_1.png"
    assert page.inspector.caption.editor.toPlainText() == caption_of(pictures / "hills_1.png")
    qtbot.waitUntil(lambda: caption_of(pictures / "hills_0.png") == "gouachestyle, first", timeout=WAIT_MS)
    qtbot.mouseClick(page.inspector.before, Qt.MouseButton.LeftButton)
    assert page.inspector.caption.editor.toPlainText() == "gouachestyle, first"


def test_a_picture_without_caption_gets_one_and_is_used(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    save(pictures / "new.png", 9, caption=None)
    open_folder(page, pictures, qtbot)
    assert "no_caption" in finding_rows(page)
    choose_file(page, "new.png")
    page.inspector.caption.editor.setPlainText("gouachestyle, a new one")
    page.inspector.save()
    qtbot.waitUntil(lambda: (pictures / "new.txt").is_file(), timeout=WAIT_MS)
    assert "no_caption" not in finding_rows(page)
    assert len(page.desk.table.used) == 7


def test_the_trigger_word_is_found_and_added_where_it_is_missing(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    assert page.desk.trigger == TRIGGER
    choose_file(page, "hills_5.png")
    assert "is in 5 of 6 captions" in page.inspector.caption.coverage.text()
    qtbot.mouseClick(page.inspector.caption.add_missing, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: caption_of(pictures / "hills_5.png").startswith(TRIGGER), timeout=WAIT_MS)
    assert not page.inspector.caption.add_missing.isVisible()
    assert page.toasts.shown[0].act.text() == "Undo"


def test_another_trigger_word_is_remembered(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    qtbot.mouseClick(page.header.trigger, Qt.MouseButton.LeftButton)
    page.trigger_panel.word.setText("hillstyle")
    assert page.trigger_panel.state.text() == "In 0 of 6 captions."
    qtbot.mouseClick(page.trigger_panel.add_missing, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: caption_of(pictures / "hills_0.png").startswith("hillstyle, "), timeout=WAIT_MS)
    open_folder(page, pictures, qtbot)
    assert page.desk.trigger == "hillstyle"


def test_words_are_replaced_in_all_captions_and_back(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    page.files.tabs.choose("captions")
    page.files.tabs.chosen.emit("captions")
    bulk = page.files.captions.bulk
    # Symptom: the field for the trigger word was empty, though the word was known and written beside it.
    assert bulk.first.text() == TRIGGER
    page.files.captions.tags.choose(0)
    assert bulk.first.text() == "hills"
    bulk.second.setText("dunes")
    assert bulk.summary.text() == "Changes 6 of 6 captions."
    qtbot.mouseClick(bulk.apply, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: all("dunes" in caption_of(p) for p in pictures.glob("*.png")), timeout=WAIT_MS)
    qtbot.keyClick(page, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: all("hills" in caption_of(p) for p in pictures.glob("*.png")), timeout=WAIT_MS)


def test_pictures_without_a_caption_are_no_captions(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    # Symptom: of six captions and a picture without one it said "Changes 1 of 7 captions".
    save(pictures / "new.png", 9, caption=None)
    open_folder(page, pictures, qtbot)
    page.files.tabs.choose("captions")
    page.files.tabs.chosen.emit("captions")
    bulk = page.files.captions.bulk
    assert bulk.summary.text() == "Changes 1 of 6 captions. 1 picture without a caption gets one."
    bulk.first.clear()
    assert bulk.summary.text() == "For 6 captions. 1 picture has none."
    bulk.first.setText(TRIGGER)
    qtbot.mouseClick(bulk.apply, Qt.MouseButton.LeftButton)
    assert page.toasts.shown[0].accessibleName() == "Add the trigger word. 1 caption changed. 1 new caption."
    assert bulk.summary.text() == "Changes 0 of 7 captions."


def test_the_offer_to_undo_leaves_with_the_next_edit(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    # What it would undo then is that edit, and not the one that it tells of.
    open_folder(page, pictures, qtbot)
    desk, picture = page.desk, pictures / "hills_2.png"
    desk.apply_captions("Add the trigger word", {picture: f"{TRIGGER}, one"})
    desk.apply_captions("Add the trigger word", {picture: f"{TRIGGER}, two"})
    (offer,) = page.toasts.shown
    desk.write_caption(pictures / "hills_0.png", "typed")
    assert not page.toasts.shown and offer.isHidden()
    desk.apply_captions("Add the trigger word", {picture: f"{TRIGGER}, three"})
    page.toasts.shown[0].act.click()
    qtbot.waitUntil(lambda: caption_of(picture) == f"{TRIGGER}, two", timeout=WAIT_MS)
    assert [toast.act.isHidden() for toast in page.toasts.shown] == [True]


def test_findings_are_readable_in_full_in_a_small_window(
    page: DatasetsPage, window: Window, qtbot: QtBot, tmp_path: Path
):
    # Symptom: a finding was one line, cut where it began to say what to do.
    window.resize(1100, 720)
    root = broken_dataset.make(tmp_path / "broken")
    long_name = "a_name_of_" + "an_evening_by_the_sea_" * 4 + ".png"
    (root / "cut.jpg").rename(root / long_name.replace(".png", ".jpg"))
    open_folder(page, root, qtbot)
    rows = finding_rows(page)
    width = page.findings.width()
    for row in rows.values():
        for label in row.findChildren(QLabel):
            assert label.height() >= label.heightForWidth(label.width()), label.text()
        assert row.width() <= width, "a long name breaks"
    shown = " ".join(label.text() for label in rows["truncated"].findChildren(QLabel)).replace("\u200b", "")
    assert long_name.removesuffix(".png") in shown
    assert page.files.height() > page.height() / 3, "the pictures keep their room"


def test_several_pictures_are_captioned_together(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    page.files.grid.choose(0)
    page.files.grid.choose(2, spans=True)
    bulk = page.inspector.bulk
    assert bulk.isVisible()
    bulk.kind.setCurrentIndex(2)
    bulk.first.setText("oil paint")
    qtbot.mouseClick(bulk.apply, Qt.MouseButton.LeftButton)
    changed = [row.path for row in page.files.grid.chosen_rows]
    qtbot.waitUntil(lambda: all(caption_of(path).endswith("oil paint") for path in changed), timeout=WAIT_MS)
    assert sum(caption_of(path).endswith("oil paint") for path in pictures.glob("*.png")) == 3


def test_what_the_model_will_see_is_told(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    choose_file(page, "hills_0.png")
    assert plain(page.inspector.seen.cropped.text()).startswith("25 % at the sides")
    page.files.tabs.choose("shapes")
    page.files.tabs.chosen.emit("shapes")
    assert page.files.shapes.bars.accessibleDescription().startswith("4 : 3: 6, 25 % cut off")


def test_what_a_picture_is_made_from_is_shown(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    (pictures / "control").mkdir()
    for name in ("hills_0", "hills_1_0", "hills_1_1"):
        broken_dataset.scene(3).save(pictures / "control" / f"{name}.png")
    page.desk.use_profile("klein-9b-1024")
    open_folder(page, pictures, qtbot)
    choose_file(page, "hills_1.png")
    assert page.inspector.source.accessibleName() == "hills_1_0.png, hills_1_1.png"
    choose_file(page, "hills_3.png")
    assert page.inspector.source_note.text() == "nothing"
    assert {"control_missing", "tiny"} == set(finding_rows(page))
    page.desk.use_profile("pocket-demo")
    wait_ready(page, qtbot)
    assert not finding_rows(page)


def test_a_search_finds_in_names_and_captions(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    qtbot.keyClick(page, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    page.files.search.setText("full moon")
    qtbot.waitUntil(lambda: len(page.files.grid.rows) == 1, timeout=WAIT_MS)
    page.files.search.setText("nothing like it")
    qtbot.waitUntil(lambda: page.files.no_match.isVisible(), timeout=WAIT_MS)


def test_arrow_keys_move_through_the_files(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    page.files.grid.choose(0)
    qtbot.keyClick(page.files.grid, Qt.Key.Key_Right)
    assert page.inspector.name.text() == page.files.grid.rows[1].path.name
    qtbot.keyClick(page.files.grid, Qt.Key.Key_End)
    assert page.files.grid.choice.current == 5
    qtbot.keyClick(page.files.grid, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert page.inspector.bulk_title.text() == "6 files chosen"


def test_chosen_files_are_set_aside_and_brought_back(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    page.files.grid.choose(1)
    page.files.grid.choose(2, spans=True)
    gone = [row.path for row in page.files.grid.chosen_rows]
    qtbot.keyClick(page.files.grid, Qt.Key.Key_Delete)
    wait_ready(page, qtbot)
    assert len(page.files.grid.rows) == 4
    assert not any(path.exists() or path.with_suffix(".txt").exists() for path in gone)
    qtbot.mouseClick(page.header.undo, Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    assert all(path.exists() and path.with_suffix(".txt").exists() for path in gone)


def test_pictures_that_look_alike_are_shown_side_by_side(page: DatasetsPage, qtbot: QtBot, tmp_path: Path):
    open_folder(page, broken_dataset.make(tmp_path / "broken"), qtbot)
    qtbot.mouseClick(finding_rows(page)["near_duplicate"].show_files, Qt.MouseButton.LeftButton)
    assert [row.path.name for row in page.files.grid.rows] == ["alike_a.png", "alike_b.jpg"]


def test_a_dropped_folder_is_opened(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(pictures / "hills_0.png")), QUrl("https://example.org/x")])
    assert dropped_folders(data) == [str(pictures)]
    keys, buttons = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    page.dropEvent(QDropEvent(QPointF(50, 50), Qt.DropAction.CopyAction, data, buttons, keys))
    wait_ready(page, qtbot)
    assert page.header.title.text() == "Evening hills"
    assert [entry.choice for entry in page.library.own] == [str(pictures)]


def test_folders_are_put_together_with_repeats(page: DatasetsPage, qtbot: QtBot, pictures: Path, tmp_path: Path):
    other = tmp_path / "Cats"
    other.mkdir()
    save(other / "cat.png", 50)
    open_folder(page, pictures, qtbot)
    qtbot.mouseClick(page.header.folders, Qt.MouseButton.LeftButton)
    page.folders_panel.take(str(other))
    page.folders_panel.lines[1].repeats.setValue(4)
    qtbot.mouseClick(page.folders_panel.keep, Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    assert len(page.files.grid.rows) == 7
    folders = read_set(Path(page.desk.choice)).folders
    assert folders == (SetFolder(path=str(pictures)), SetFolder(path=str(other), repeats=4))
    trained: list[str] = []
    page.train_asked.connect(trained.append)
    qtbot.mouseClick(page.header.train, Qt.MouseButton.LeftButton)
    assert trained == [page.desk.choice]


def test_a_folder_is_given_a_size_of_its_own(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    qtbot.mouseClick(page.header.folders, Qt.MouseButton.LeftButton)
    (line,) = page.folders_panel.lines
    line.sizes.setEditText("70 x 512")
    assert page.folders_panel.problem.isVisible()
    assert not page.folders_panel.keep.isEnabled()
    line.sizes.setEditText("768x512")
    qtbot.mouseClick(page.folders_panel.keep, Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    assert read_set(Path(page.desk.choice)).folders == (SetFolder(path=str(pictures), width=768, height=512),)
    choose_file(page, "hills_0.png")
    assert plain(page.inspector.seen.cropped.text()).startswith("11 % above and below")


def test_clips_are_checked_shown_and_captioned_for_a_video_model(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    broken_dataset.clip(pictures / "dance.mp4", num_frames=40, size=(160, 96), fps=32)
    (pictures / "dance.txt").write_text(f"{TRIGGER}, a dance", encoding="utf-8")
    page.desk.use_profile("wan21-14b")
    open_folder(page, pictures, qtbot)
    assert set(finding_rows(page)) == {"tiny"}
    choose_file(page, "dance.mp4")
    assert plain(page.inspector.seen.frames.text()) == "the first 9, 0.6 s at 16 a second; the clip has 40"
    assert page.inspector.caption.editor.toPlainText() == f"{TRIGGER}, a dance"
    qtbot.waitUntil(lambda: page.inspector.seen._clip.frame is not None, timeout=WAIT_MS)
    qtbot.mouseClick(page.header.folders, Qt.MouseButton.LeftButton)
    page.folders_panel.lines[0].frames.setValue(33)
    qtbot.mouseClick(page.folders_panel.keep, Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    assert set(finding_rows(page)) == {"clip_short", "tiny"}
    assert page.desk.table.summary() == "6 of 7 pictures and clips trained on"


def test_every_place_says_the_same_of_how_many_there_are(page: DatasetsPage, qtbot: QtBot, tmp_path: Path):
    # Symptom: the list said 37 files, the head of the check 39, and the tab 39.
    root = broken_dataset.make(tmp_path / "broken")
    open_folder(page, root, qtbot)
    num, num_used = len(page.desk.table.counted), len(page.desk.table.used)
    assert num == len(page.files.grid.rows) == page.desk.table.counts()["all"]
    assert page.desk.table.counts()["left_out"] == num - num_used
    assert page.desk.table.summary() == f"{num_used} of {num} pictures trained on"
    assert page.library.entry(str(root)).note == f"{num} pictures · {num - num_used} left out"


def test_a_set_of_folders_can_be_planned_for_a_run(window: Window, page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    page.desk.change_folders([SetFolder(path=str(pictures), repeats=3)])
    wait_ready(page, qtbot)
    qtbot.mouseClick(page.header.train, Qt.MouseButton.LeftButton)
    plan = window.run_place.plan
    qtbot.waitUntil(lambda: plan.plan.dataset is not None, timeout=WAIT_MS)
    assert plan.plan.dataset is not None
    assert len(plan.plan.dataset.items) == 18


def test_a_folder_that_is_gone_is_said_and_can_be_forgotten(page: DatasetsPage, qtbot: QtBot, tmp_path: Path):
    page.choose(str(tmp_path / "moved"))
    wait_ready(page, qtbot)
    assert page.desk.problem is not None

    def buttons() -> dict[str, QPushButton]:
        return {button.accessibleName(): button for button in page.findChildren(QPushButton) if button.isVisible()}

    qtbot.waitUntil(lambda: "Find folder" in buttons(), timeout=WAIT_MS)
    qtbot.mouseClick(buttons()["Remove from the list"], Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    assert not page.library.own
    assert page.desk.problem is None


def test_a_dataset_taken_off_the_list_comes_back_as_it_was(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    # Symptom: a set of folders, its trigger word and what its check said were gone with one slip in a menu.
    open_folder(page, pictures, qtbot)
    page.desk.set_trigger("hillstyle")
    before = page.library.entry(str(pictures)).model_copy()
    page.list.removed.emit(str(pictures))
    assert str(pictures) not in [entry.choice for entry in page.library.own]
    assert page.toasts.shown[-1].accessibleName().startswith(f"Removed from the list: {pictures.name}.")
    qtbot.mouseClick(page.toasts.shown[-1].act, Qt.MouseButton.LeftButton)
    assert page.library.entry(str(pictures)).trigger == before.trigger == "hillstyle"
    assert page.library.entry(str(pictures)).num_used == before.num_used
    assert page.desk.choice == str(pictures)


def test_a_folder_without_pictures_is_no_good_news(page: DatasetsPage, qtbot: QtBot, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    open_folder(page, empty, qtbot)
    said = [label.text() for label in page.findings.findChildren(QLabel) if label.isVisible()]
    assert any(text.startswith("Nothing to train on.") for text in said)
    assert not any("Everything in it is trained on" in text for text in said)
    assert page.files.nothing.isVisible()
    assert not page.header.train.isEnabled()


def test_nothing_of_a_folder_that_goes_away_stays(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    open_folder(page, pictures, qtbot)
    assert page.header.train.isEnabled()
    assert page.inspector.caption.isVisible()
    shutil.rmtree(pictures)
    page.desk.check_again()
    wait_ready(page, qtbot)
    assert page.desk.problem is not None
    assert not page.header.train.isEnabled()
    assert not page.inspector.caption.isVisible()


def test_a_small_set_is_said_to_have_no_held_out_loss(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    page.desk.use_profile("pocket-demo")
    open_folder(page, pictures, qtbot)
    said = [label.text() for label in page.findings.findChildren(QLabel) if label.isVisible()]
    assert any("fewer than 8 pictures" in text for text in said)
    for seed in range(9):
        save(pictures / f"more_{seed}.png", seed + 40, caption="hills")
    page.desk.check_again()
    wait_ready(page, qtbot)
    assert any("tells learning from memorising" in label.text() for label in page.findings.findChildren(QLabel))


def test_what_the_shapes_warn_of_is_found_by_the_check(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    page.desk.use_profile("pocket-demo")
    width, height = page.desk.view.size
    save(pictures / "small.png", 7, size=(width // 3, height // 3), caption="hills")
    open_folder(page, pictures, qtbot)
    assert [row.path.name for row in finding_rows(page)["tiny"].line.rows] == ["small.png"]


def test_a_check_can_be_cancelled(page: DatasetsPage, qtbot: QtBot, pictures: Path):
    page.choose(str(pictures))
    qtbot.waitUntil(lambda: bool(page.desk.folders), timeout=WAIT_MS)
    qtbot.mouseClick(page.findings.cancel, Qt.MouseButton.LeftButton)
    assert not page.desk.is_checking
    assert not page.desk.table.is_checked
    assert len(page.files.grid.rows) == 6
    qtbot.mouseClick(page.header.again, Qt.MouseButton.LeftButton)
    wait_ready(page, qtbot)
    assert page.desk.table.is_checked


def test_a_check_ends_with_the_window(window: Window, page: DatasetsPage, qtbot: QtBot, pictures: Path):
    page.choose(str(pictures))
    qtbot.waitUntil(lambda: bool(page.desk.folders), timeout=WAIT_MS)
    window.close()
    assert not page.desk.is_checking


class Turns:
    """Measures turns of the event loop by a timer that is due in every one: as late as it is, so long was the turn.

    The signals of the dispatcher would miss timers and sockets, which it serves after it has waited. What the system
    takes to give us a processor that others use is told apart, where it tells: that is not ours to make shorter.
    """

    INTERVAL_MS = 2

    def __init__(self) -> None:
        self.whole_ms: list[float] = []
        self.own_ms: list[float] = []
        self._before_s, self._waited_ms = time.perf_counter(), waited_ms()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_turn)
        self._timer.start(self.INTERVAL_MS)

    def _on_turn(self) -> None:
        now_s, waited = time.perf_counter(), waited_ms()
        whole = (now_s - self._before_s) * 1000
        self.whole_ms.append(whole)
        self.own_ms.append(max(0.0, whole - (waited - self._waited_ms)))
        self._before_s, self._waited_ms = now_s, waited

    def stop(self) -> None:
        self._timer.stop()


def waited_ms() -> float:
    """How long this thread has waited for a processor in all, where the system tells."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e6
    except (OSError, IndexError):
        return 0.0


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@pytest.mark.slow
def test_ten_thousand_files_stay_smooth(
    page: DatasetsPage, qtbot: QtBot, tmp_path: Path, record_property: Callable[[str, object], None]
):
    folder = many_pictures(tmp_path / "many")
    loop, scroll, chosen = QEventLoop(), QTimer(), QTimer()
    bar = page.files.grid.verticalScrollBar()
    scroll.timeout.connect(lambda: bar.setValue(0 if bar.value() >= bar.maximum() else bar.value() + 420))
    chosen.timeout.connect(lambda: page.files.grid.step(7))
    turns = Turns()
    page.choose(str(folder))
    scroll.start(16)
    chosen.start(150)
    page.desk.changed.connect(lambda: QTimer.singleShot(4000, loop.quit) if page.desk.table.is_checked else None)
    QTimer.singleShot(WAIT_MS * 3, loop.quit)
    loop.exec()
    scroll.stop()
    chosen.stop()
    turns.stop()
    assert page.desk.table.is_checked
    assert len(page.files.grid.rows) == NUM_MANY
    p99 = percentile(turns.own_ms, 0.99)
    record_property("turn_p99_ms", p99)
    longest = max(turns.own_ms)
    sys.stdout.write(
        f"{NUM_MANY:,} files, {len(turns.own_ms):,} turns: 99 % within {p99:.1f} ms, longest {longest:.0f} ms; "
        f"with what other processes took: 99 % within {percentile(turns.whole_ms, 0.99):.1f} ms\n"
    )
    assert p99 < LONGEST_TURN_MS


def many_pictures(folder: Path) -> Path:
    """Make files of which no two are alike, quickly: a small picture, with other bytes behind its end."""
    folder.mkdir()
    models = []
    for seed in range(50):
        path = folder / "model.jpg"
        Image.effect_noise((96, 96), 40 + seed).convert("RGB").save(path, quality=70)
        models.append(path.read_bytes())
        path.unlink()
    for index in range(NUM_MANY):
        (folder / f"p{index:05d}.jpg").write_bytes(models[index % 50] + index.to_bytes(4, "big"))
        (folder / f"p{index:05d}.txt").write_text(f"sks, picture {index}, part {index % 31}", encoding="utf-8")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_edge_of_a_crop_is_seen_on_any_picture_and_is_none_where_nothing_is_cut(
    scheme: theme.Choice, qapp: QApplication, qtbot: QtBot
):
    # Symptom: in the light theme a picture that is trained on whole had a black frame, and a dark one hid its edge.
    theme.apply(qapp, scheme)
    try:
        view, dark = CropView(), QPixmap(400, 200)
        qtbot.addWidget(view)
        view.resize(400, 200)
        dark.fill(QColor("#101010" if scheme == "light" else "#f0f0f0"))

        def tones(width_px: int) -> set[str]:
            view.show_picture(dark, Framing(width=400, height=200, target_width=width_px, target_height=200))
            image = view.grab().toImage()
            return {image.pixelColor(x, 100).name() for x in range(90, 110)}

        assert len(tones(400)) == 1
        assert {theme.colour("bg").name(), theme.colour("text").name()} <= tones(200)
    finally:
        theme.apply(qapp, "dark")
