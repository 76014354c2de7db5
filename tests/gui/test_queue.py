"""The Queue place: runs that wait, in the real window with real trainer processes, and runs side by side."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui import background
from diffusionforce.gui.model import language
from diffusionforce.gui.model.run_title import long_title
from diffusionforce.gui.pages.history import HistoryPage
from diffusionforce.gui.pages.history_rows import RunRow
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Elided
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.job import Job, read_job
from diffusionforce.runs import list_runs, manifest_of, runs_root, write_checkpoint
from diffusionforce.runs.labels import NO_LABEL, RunLabel, read_label, write_label

WAIT_MS = 60_000


def page_of(window: Window) -> HistoryPage:
    page = window.place("history")
    assert isinstance(page, HistoryPage)
    return page


def renamed(job: Job, title: str) -> Job:
    """The same job under another title, in a new folder among the other runs."""
    profile = job.profile.model_copy(update={"title": title})
    return job.model_copy(update={"profile": profile, "run_dir": runs_root() / "new"})


def waiting(window: Window) -> list[str]:
    return [run.job.profile.title for run in window.queue.runs]


def test_two_queued_runs_start_one_after_the_other(
    window: Window, qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("")
    for title in ("first", "second"):
        window.enqueue(renamed(job, title))
    assert waiting(window) == ["first", "second"]
    assert window.sidebar.item("history").badge == "2"
    page = page_of(window)
    qtbot.mouseClick(page.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not waiting(window), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: window.session is not None and window.session.title == "second · loranne", timeout=WAIT_MS)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    states = [folder.read_state() for folder in list_runs(runs_root())]
    assert sorted((state.title, state.state) for state in states) == [("first", "done"), ("second", "done")]
    assert page.isVisible(), "the queue does not take the page away from whoever reads it"
    qtbot.waitUntil(lambda: len(page.past_rows) == 2, timeout=WAIT_MS)


def test_a_killed_run_does_not_keep_the_next_from_starting(
    window: Window, qtbot: QtBot, job: Job, long_job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("slow")
    window.start_run(renamed(long_job, "long"))
    window.enqueue(renamed(job, "next"))
    session = window.session
    assert session is not None and session.child is not None
    qtbot.waitUntil(lambda: session.model.step > 0, timeout=WAIT_MS)
    session_root = session.root
    session.child.kill()
    qtbot.waitUntil(lambda: window.session is not session, timeout=WAIT_MS)
    after = window.session
    assert after is not None and after.title == "next · loranne"
    # Symptom: the crash was told in a neutral line, without its reason and without a way to the run.
    banner = window.notices.findChild(Banner)
    assert banner is not None and banner.property("tone") == "warn"
    assert "without saying why" in banner.accessibleName()
    show = next(button for button in banner.findChildren(Button) if button.accessibleName() == "Show")
    qtbot.mouseClick(show, Qt.MouseButton.LeftButton)
    looked_at = window.run_place.live if window.session is not after else window.run_place.other
    assert looked_at.isVisible() and looked_at.session.root == session_root
    qtbot.waitUntil(lambda: after.is_over, timeout=WAIT_MS)
    assert after.model.outcome is not None and after.model.outcome.kind == "done"
    assert {folder.read_state().state for folder in list_runs(runs_root())} == {"crashed", "done"}


def test_a_queue_that_is_paused_lets_nothing_start(
    window: Window, qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("")
    window.enqueue(renamed(job, "waits"))
    window.queue.hold(True)
    window.start_run(renamed(job, "alone"))
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    qtbot.wait(200)
    assert waiting(window) == ["waits"]


def test_the_queue_survives_a_restart_and_waits_to_be_asked(make_window: Callable[..., Window], qtbot: QtBot, job: Job):
    first = make_window()
    first.enqueue(renamed(job, "a"))
    first.enqueue(renamed(job, "b"))
    first.close()
    again = make_window()
    assert waiting(again) == ["a", "b"]
    assert again.sidebar.item("history").badge == "2"
    again.go("history")
    page = page_of(again)
    assert page.start.isVisible() and not page.hold.isVisible()
    # Symptom: it said "starts next", and never started.
    assert [row.facts.text() for row in page.waiting_rows] == [
        "waits for “Start the queue”",
        "starts after those before",
    ]


def test_runs_are_reordered_and_removed_with_the_keyboard(window: Window, qtbot: QtBot, job: Job):
    for title in "abc":
        window.enqueue(renamed(job, title))
    page = page_of(window)
    qtbot.keyClick(page.waiting_rows[2].handle, Qt.Key.Key_Up)
    assert waiting(window) == ["a", "c", "b"]
    assert [row.name.text() for row in page.waiting_rows] == [f"{title} · loranne" for title in "acb"]
    page.waiting_rows[0].handle.moved.emit(5)
    assert waiting(window) == ["c", "b", "a"]
    entry(page.waiting_rows[1], "Remove from the queue").trigger()
    assert waiting(window) == ["c", "a"]
    # Symptom: a run that was removed by mistake had to be set up anew.
    (toast,) = page.toasts.shown
    assert toast.accessibleName() == "Removed from the queue. b · loranne"
    qtbot.mouseClick(toast.act, Qt.MouseButton.LeftButton)
    assert waiting(window) == ["c", "b", "a"]
    entry(page.waiting_rows[2], "Remove from the queue").trigger()
    page.setFocus()
    qtbot.keyClick(page, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert waiting(window) == ["c", "b", "a"]


def test_a_run_that_is_only_looked_at_starts_nothing(window: Window, qtbot: QtBot, job: Job, tmp_path: Path):
    window.enqueue(renamed(job, "waits"))
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    qtbot.wait(200)
    assert waiting(window) == ["waits"]


@pytest.fixture
def two_runs(window: Window, qtbot: QtBot) -> Window:
    """A window at its history of two runs."""
    runs_root().mkdir(parents=True)
    recorded.run_folder(runs_root() / "2026-01-02-100000-pocket-demo", end="done")
    recorded.run_folder(runs_root() / "2026-01-02-110000-pocket-demo", end="stopped", upto=120)
    window.go("history")
    qtbot.waitUntil(lambda: len(page_of(window).past_rows) == 2, timeout=WAIT_MS)
    return window


def test_two_runs_are_compared(two_runs: Window, qtbot: QtBot):
    page = page_of(two_runs)
    assert not page.compare.isEnabled()
    for row in page.past_rows:
        qtbot.mouseClick(row.chosen, Qt.MouseButton.LeftButton)
    assert page.compare.accessibleName() == "Compare 2 runs"
    qtbot.mouseClick(page.compare, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.pane.isVisible() and not page.pane.is_reading, timeout=WAIT_MS)
    assert "A 0.0" in page.pane.chart.accessibleDescription()
    assert page.pane.steps.count() == 3, "the newest of each, before training, step 100"
    assert not page.pane.triggers.isVisible()
    qtbot.keyClick(page.pane, Qt.Key.Key_Escape)
    assert not page.pane.isVisible() and page.past_rows[0].chosen.isChecked()


def test_runs_that_call_their_subjects_otherwise_are_said_to(two_runs: Window, qtbot: QtBot):
    page = page_of(two_runs)
    job_file = page.past_rows[0].run.root / "job.toml"
    job_file.write_bytes(job_file.read_bytes().replace(b"LoRAnne", b"Zorbl"))
    page.pane.compare([row.run.root for row in page.past_rows])
    qtbot.waitUntil(lambda: not page.pane.is_reading, timeout=WAIT_MS)
    assert page.pane.triggers.text().startswith("The trigger words differ: A Zorbl, B LoRAnne.")


def test_a_run_gets_a_name_and_notes_that_stay(two_runs: Window, qtbot: QtBot):
    page = page_of(two_runs)
    row = page.past_rows[0]
    entry(row, "Name and notes").trigger()
    editor = page.care.editor
    assert editor is not None and editor.name.hasFocus()
    qtbot.keyClicks(editor.name, "Second try")
    editor.notes.setPlainText("better skin\nworse hands")
    qtbot.keyClick(editor.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.past_rows[0].name.text() == "Second try", timeout=WAIT_MS)
    assert "better skin worse hands · loranne" in page.past_rows[0].note.text()
    assert not page.care.isVisible()
    assert long_title(row.run.root, None).startswith("Second try · 2 Jan")
    qtbot.mouseClick(page.toasts.shown[0].act, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.past_rows[0].name.text() == row.run.name, timeout=WAIT_MS)
    assert read_label(row.run.root) == NO_LABEL
    write_label(row.run.root, RunLabel(name="Second try"))
    page.shown()
    qtbot.waitUntil(lambda: page.past_rows[0].name.text() == "Second try", timeout=WAIT_MS)
    entry(page.past_rows[0], "Name and notes").trigger()
    again = page.care.editor
    assert again is not None and again.name.text() == "Second try"
    qtbot.keyClick(again, Qt.Key.Key_Escape)
    assert not page.care.isVisible()


def test_a_run_is_deleted_after_a_question_that_says_how_much_goes(
    two_runs: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def move(path: str) -> None:
        Path(path).rename(tmp_path / "trash")

    monkeypatch.setattr("diffusionforce.runs.deleting.send2trash", move)
    page = page_of(two_runs)
    root = page.past_rows[0].run.root
    two_runs.gallery.open_run(root)
    two_runs.go("history")

    def ask() -> Banner:
        entry(page.past_rows[0], "Delete").trigger()
        qtbot.waitUntil(lambda: bool(page.care.findChildren(Banner)), timeout=WAIT_MS)
        return page.care.findChildren(Banner)[0]

    banner = ask()
    assert "go to the trash, among them" in banner.text.text() and "LoRA file" in banner.text.text()
    qtbot.mouseClick(button(banner, "Keep it"), Qt.MouseButton.LeftButton)
    assert root.is_dir() and not page.care.isVisible()
    qtbot.waitUntil(lambda: not page.care.findChildren(Banner), timeout=WAIT_MS)
    qtbot.mouseClick(button(ask(), "Move to the trash"), Qt.MouseButton.LeftButton)
    assert len(page.past_rows) == 1, "the row goes at once"
    (toast,) = page.toasts.shown
    assert toast.accessibleName().startswith("Run deleted. Pocket demo · loranne, 2 Jan")
    assert root.name in toast.accessibleName(), "what it is called in the trash"
    assert two_runs.gallery._shown is None
    assert root.is_dir(), "it can be brought back as long as the message is there"
    toast.leave()
    qtbot.waitUntil(lambda: (tmp_path / "trash" / "run.json").is_file(), timeout=WAIT_MS)
    assert not root.exists()
    assert len(page.past_rows) == 1


@pytest.mark.parametrize("keys", [True, False])
def test_a_deleted_run_is_brought_back(two_runs: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, *, keys: bool):
    # Symptom: a run that was deleted by mistake had to be looked for in the trash of the system.
    moved: list[str] = []
    monkeypatch.setattr("diffusionforce.runs.deleting.send2trash", moved.append)
    page = page_of(two_runs)
    root = page.past_rows[0].run.root
    page.care.delete(page.past_rows[0].run)
    assert two_runs.trash.holds(root / "checkpoints") and len(page.past_rows) == 1
    (toast,) = page.toasts.shown
    if keys:
        page.setFocus()
        qtbot.keyClick(page, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    else:
        qtbot.mouseClick(toast.act, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(page.past_rows) == 2, timeout=WAIT_MS)
    assert not page.toasts.shown and not two_runs.trash.holds(root)
    two_runs.close()
    assert background.finish(WAIT_MS / 1000)
    assert root.is_dir() and not moved


def test_a_deleted_run_goes_to_the_trash_when_the_window_closes(
    two_runs: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    moved: list[str] = []
    monkeypatch.setattr("diffusionforce.runs.deleting.send2trash", moved.append)
    page = page_of(two_runs)
    root = page.past_rows[0].run.root
    page.care.delete(page.past_rows[0].run)
    two_runs.gallery.runs.fill(current=None, shown=None)
    qtbot.waitUntil(lambda: two_runs.gallery.runs.count() == 1, timeout=WAIT_MS)
    two_runs.close()
    assert background.finish(WAIT_MS / 1000)
    assert moved == [str(root)]


def test_a_run_that_another_waits_to_go_on_from_is_not_deleted(two_runs: Window, qtbot: QtBot):
    page = page_of(two_runs)
    root = page.past_rows[0].run.root
    job = read_job(root / "job.toml")
    two_runs.queue.hold(True)
    two_runs.queue.add(renamed(job, "goes on").model_copy(update={"resume": root / "checkpoints" / "a-state"}))
    entry(page.past_rows[0], "Delete").trigger()
    (banner,) = page.care.findChildren(Banner)
    assert banner.title.text().endswith("is needed: goes on · loranne waits to go on from it.")
    assert root.is_dir()


def entry(row: RunRow, text: str) -> QAction:
    return next(action for action in row.menu.actions() if action.text() == text)


def button(banner: Banner, text: str) -> Button:
    return next(each for each in banner.findChildren(Button) if each.accessibleName() == text)


def test_a_run_can_be_queued_again(two_runs: Window, qtbot: QtBot):
    page = page_of(two_runs)
    page._run_again(page.past_rows[0].run.root)
    assert waiting(two_runs) == ["Pocket demo"]


def test_a_run_that_saved_its_state_goes_on_at_once_or_after_the_one_that_goes_on(
    window: Window, qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]
):
    runs_root().mkdir(parents=True)
    folder = recorded.run_folder(runs_root() / "2026-01-02-100000-pocket-demo", end="stopped", upto=120)
    state = folder.checkpoints_dir / "a_step_000100-state"
    write_checkpoint(state, manifest_of(recorded.job(folder.root), step=100), {"state.safetensors": b""})
    fake_trainer("slow")
    window.start_run(renamed(long_job, "goes on"))
    window.go("history")
    page = page_of(window)
    qtbot.waitUntil(lambda: len(page.past_rows) == 1, timeout=WAIT_MS)
    page._resume(page.past_rows[0].run, state)
    (queued,) = window.queue.runs
    assert queued.job.resume == state and queued.job.run_dir.parent == runs_root()
    assert "continues from step 100" in page.waiting_rows[0].note.text()
    (banner,) = page.care.findChildren(Banner)
    assert banner.title.text() == "Pocket demo · loranne waits in the queue and continues from step 100."


def test_a_run_of_a_terminal_appears_moves_and_ends_while_the_page_is_open(two_runs: Window, qtbot: QtBot):
    # Symptom: a run started elsewhere never appeared, and one seen once was listed as "Training" for ever.
    page = page_of(two_runs)
    page.reader._looks.setInterval(50)
    folder = recorded.run_folder(runs_root() / "2026-01-02-120000-pocket-demo", end="stopped", upto=120)
    ended, own = folder.read_state(), psutil.Process()
    going = {"state": "running", "pid": own.pid, "process_started_s": own.create_time()}
    folder.write_state(ended.model_copy(update=going))
    qtbot.waitUntil(lambda: len(page.elsewhere_rows) == 1, timeout=WAIT_MS)
    (row,) = page.elsewhere_rows
    assert len(page.past_rows) == 2
    assert row.facts.text() == "step 120 of 300 · started elsewhere"
    delete = entry(row, "Delete")
    assert not delete.isEnabled() and delete.toolTip() == "It is still being trained. Stop it first."
    folder.write_state(ended.model_copy(update={**going, "step": 130}))
    qtbot.waitUntil(lambda: row.facts.text().startswith("step 130 of 300"), timeout=WAIT_MS)
    assert page.elsewhere_rows == [row], "the row is the same, so no menu of it closes"
    folder.write_state(ended)
    qtbot.waitUntil(lambda: len(page.past_rows) == 3, timeout=WAIT_MS)
    assert not page.elsewhere_rows and entry(page.past_rows[0], "Delete").isEnabled()


def test_a_run_that_the_trash_does_not_take_is_listed_again(
    two_runs: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    def refuse(path: str) -> None:
        raise OSError(path)

    monkeypatch.setattr("diffusionforce.runs.deleting.send2trash", refuse)
    page = page_of(two_runs)
    page.care.delete(page.past_rows[0].run)
    assert len(page.past_rows) == 1
    page.toasts.shown[0].leave()
    qtbot.waitUntil(lambda: len(page.past_rows) == 2, timeout=WAIT_MS)
    assert any("does not take" in each.title.text() for each in two_runs.notices.findChildren(Banner))


def test_a_reason_of_usual_length_is_whole_in_a_window_of_the_usual_size(
    make_window: Callable[..., Window], qtbot: QtBot
):
    # Symptom: "step 216 of 300 · The disk is full: step 216 could n…", with room to spare beside it.
    window = make_window()
    runs_root().mkdir(parents=True)
    folder = recorded.run_folder(runs_root() / "2026-01-02-110000-pocket-demo", end="failed", upto=216)
    why = "The disk is full: step 216 could not be saved."
    folder.write_state(folder.read_state().model_copy(update={"sentence": why, "step": 216}))
    window.go("history")
    page = page_of(window)
    qtbot.waitUntil(lambda: len(page.past_rows) == 1, timeout=WAIT_MS)

    def is_whole(label: Elided) -> bool:
        return label.fontMetrics().horizontalAdvance(label.text()) <= label.width()

    row = page.past_rows[0]
    assert row.facts.text() == f"step 216 of 300 · {why}"
    qtbot.waitUntil(lambda: is_whole(row.facts) and is_whole(row.note), timeout=WAIT_MS)
    window.resize(1100, 720)
    qtbot.waitUntil(lambda: page.past_rows[0] is not row and is_whole(page.past_rows[0].note), timeout=WAIT_MS)
    narrow = page.past_rows[0]
    assert [each.text() for each in narrow.findChildren(Button) if each.text()] == ["Open"]
    entry(narrow, "Gallery").trigger()
    assert window.places.currentWidget() is window.gallery


def test_the_rows_are_german_and_their_buttons_have_room(make_window: Callable[..., Window], qtbot: QtBot):
    language.use("de")
    try:
        window = make_window()
        runs_root().mkdir(parents=True)
        name = f"{datetime.now():%Y-%m-%d-%H%M%S}-pocket-demo"
        folder = recorded.run_folder(runs_root() / name, end="stopped", upto=120)
        state = folder.checkpoints_dir / "a_step_000100-state"
        write_checkpoint(state, manifest_of(recorded.job(folder.root), step=100), {"state.safetensors": b""})
        window.go("history")
        page = page_of(window)
        qtbot.waitUntil(lambda: len(page.past_rows) == 1, timeout=WAIT_MS)
        qtbot.wait(50)
        (row,) = page.past_rows
        assert row.note.text().startswith("heute ")
        buttons = [each for each in row.findChildren(Button) if each.text()]
        assert [each.text() for each in buttons] == ["Fortsetzen", "Öffnen", "Galerie"]
        assert all(each.width() >= each.sizeHint().width() for each in buttons)
    finally:
        language.use("en")


def test_the_question_before_a_stop_says_that_the_next_run_starts(
    window: Window, qtbot: QtBot, long_job: Job, job: Job, fake_trainer: Callable[[str], None]
):
    # Symptom: a run was stopped, and another one trained in its place before anybody knew that one waited.
    fake_trainer("slow")
    window.start_run(renamed(long_job, "first"))
    session, notice = window.session, window.run_place.live.notice
    assert session is not None
    qtbot.waitUntil(lambda: session.model.last_step is not None, timeout=WAIT_MS)
    window.queue.add(renamed(job, "second"))
    window.go("run")

    def asked() -> str:
        notice.ask_stop()
        (banner,) = notice.findChildren(Banner)
        text = banner.text.text()
        notice._end_question()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        return text

    assert "The next run of the queue starts then." in asked()
    window.queue.hold(True)
    assert "queue" not in asked()
    session.end_by_force()
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)


def test_a_run_began_at_the_same_time_on_every_page(window: Window, qtbot: QtBot):
    # Symptom: the page of a run said 14:04, its line in the history 14:05, when its process had been there.
    runs_root().mkdir(parents=True)
    folder = recorded.run_folder(runs_root() / "2026-01-02-140459-pocket-demo", end="done")
    folder.write_state(folder.read_state().model_copy(update={"started_at": "2026-01-02T14:05:07+00:00"}))
    window.open_run(folder.root)
    assert "14:04" in window.run_place.live.header.note.text()
    window.go("gallery")
    picker = window.gallery.header.runs
    qtbot.waitUntil(lambda: "14:04" in picker.currentText(), timeout=WAIT_MS)
    window.go("history")
    page = page_of(window)
    qtbot.waitUntil(lambda: len(page.past_rows) == 1, timeout=WAIT_MS)
    assert "14:04" in page.past_rows[0].note.text()
