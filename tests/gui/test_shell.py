"""The window around the places."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui import shell, theme
from diffusionforce.gui.pages.history import HistoryPage
from diffusionforce.gui.pages.settings import SettingsPage
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.shell import Window
from diffusionforce.gui.sidebar import PLACES, RAIL_PX, WIDTH_PX
from diffusionforce.job import Job, write_job
from diffusionforce.runs import RunFolder, runs_root

WAIT_MS = 60_000


def test_the_window_starts_without_torch():
    code = (
        "import sys; from pathlib import Path;"
        "from diffusionforce.gui.app import application; from diffusionforce.gui.shell import Window;"
        "from diffusionforce.gui.preferences import Preferences;"
        "app = application(); window = Window(Preferences()); window.show(); app.processEvents();"
        "[window.go(place) for place in ('gallery', 'datasets', 'profiles', 'history', 'settings')];"
        "app.processEvents();"
        "loaded = set(sys.modules.copy());"  # Threads of the window go on importing.
        "bad = {'torch', 'accelerate', 'musubi_tuner'} & loaded;"
        "bad |= {m for m in loaded if m.startswith(('diffusionforce.engines', 'diffusionforce.pipeline'))};"
        "import os; sys.stdout.write(repr(bad)); sys.stdout.flush(); os._exit(0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "set()"


START = """
import time
from diffusionforce.gui.app import application
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.shell import Window
app = application()
window = Window(Preferences())
window.show()
app.processEvents()
import os, sys
sys.stdout.write(str(time.thread_time()))
sys.stdout.flush()
os._exit(0)
"""


def test_the_window_is_there_quickly(record_property: Callable[[str, object], None]):
    """The work until the window is painted; on an idle machine that is also the time that passes."""
    result = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    work_s = float(result.stdout)
    record_property("start_work_s", work_s)
    sys.stdout.write(f"start: {work_s:.2f} s of work\n")
    assert work_s < 3


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.key)
def test_every_place_opens_and_has_a_title(window: Window, qtbot: QtBot, place):
    qtbot.keyClick(
        window,
        {"Ctrl+,": Qt.Key.Key_Comma}.get(place.shortcut, place.shortcut[-1]),
        Qt.KeyboardModifier.ControlModifier,
    )
    qtbot.waitUntil(lambda: window.places.currentWidget() is window.place(place.key), timeout=2000)
    assert window.sidebar.item(place.key).isChecked()
    qtbot.wait(50)


def test_a_narrow_window_has_a_rail(window: Window, qtbot: QtBot):
    assert window.sidebar.width() == WIDTH_PX
    window.resize(1100, 720)
    qtbot.waitUntil(lambda: window.sidebar.width() == RAIL_PX)
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: window.sidebar.width() == WIDTH_PX)


def test_the_theme_changes_while_the_window_is_open_and_is_remembered(window: Window, qapp: QApplication):
    window.go("settings")
    page = window.place("settings")
    assert isinstance(page, SettingsPage)
    try:
        page.theme.choose(2)
        page.theme.chosen.emit(2)
        assert theme.current().name == "light"
        assert window.preferences.theme == "light"
        picture = window.grab().toImage()
        assert picture.pixelColor(picture.width() - 20, 60).lightness() > 200
    finally:
        theme.apply(qapp, "dark")


def test_place_and_size_are_remembered(make_window: Callable[..., Window]):
    first = make_window(1100, 765)
    first.close()
    second = Window(first.preferences, watch=first.watch)
    assert (second.width(), second.height()) == (1100, 765)
    second.deleteLater()


def test_closing_without_a_run_asks_nothing(window: Window):
    assert window.close()


def question(window: Window) -> dict[str, QPushButton]:
    QApplication.processEvents()
    return {button.accessibleName(): button for button in window.findChildren(QPushButton) if button.isVisible()}


@pytest.fixture
def training(window: Window, qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]) -> Window:
    """A window whose trainer is in the middle of a step."""
    fake_trainer("slow")
    window.start_run(long_job)
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: bool(session.model.losses.held_out), timeout=WAIT_MS)
    return window


def test_closing_during_a_run_asks_and_cancel_stays(training: Window, qtbot: QtBot):
    assert not training.close()
    assert training.isVisible()
    qtbot.mouseClick(question(training)["Cancel"], Qt.MouseButton.LeftButton)
    assert "Cancel" not in question(training)
    assert training.session is not None
    assert not training.session.is_over


def test_another_run_is_planned_for_the_queue_while_one_goes_on(training: Window, qtbot: QtBot, job: Job):
    place = training.run_place
    qtbot.mouseClick(place.live.header.new_run, Qt.MouseButton.LeftButton)
    assert place.shows_plan and "is training" in place.plan.going.text
    place.plan.choose_dataset(str(job.dataset_dir))
    qtbot.waitUntil(place.plan.enqueue.isEnabled, timeout=WAIT_MS)
    assert not place.plan.start.isEnabled() and "queue" in place.plan.start.toolTip()
    assert place.plan.enqueue.property("kind") == "primary"
    qtbot.mouseClick(place.plan.enqueue, Qt.MouseButton.LeftButton)
    assert len(training.queue.runs) == 1


def test_a_dataset_and_a_profile_are_planned_while_a_run_goes_on(training: Window, job: Job):
    training.train_with(str(job.dataset_dir))
    assert training.run_place.shows_plan and training.run_place.plan.plan.dataset_name == str(job.dataset_dir)
    training.show_run()
    training.use_profile("pocket-demo")
    assert training.run_place.shows_plan


def test_the_run_that_goes_on_is_one_click_away_from_the_plan(training: Window, qtbot: QtBot):
    def by_line() -> None:
        show = training.run_place.plan.going.findChild(QPushButton)
        assert show is not None
        qtbot.mouseClick(show, Qt.MouseButton.LeftButton)

    ways: list[Callable[[], None]] = [training.strip.run_asked.emit, training.sidebar.item("run").click, by_line]
    for go in ways:
        training.plan_run()
        go()
        assert training.places.currentWidget() is training.run_place and not training.run_place.shows_plan


def test_the_plan_starts_runs_again_when_the_run_has_ended(training: Window, qtbot: QtBot, job: Job):
    plan, session = training.run_place.plan, training.session
    assert session is not None
    training.train_with(str(job.dataset_dir))
    session.stop()
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    qtbot.waitUntil(plan.start.isEnabled, timeout=WAIT_MS)
    assert not plan.going.text and plan.start.property("kind") == "primary"


def test_closing_can_stop_and_save_first(training: Window, qtbot: QtBot):
    training.close()
    session = training.session
    assert session is not None
    qtbot.mouseClick(question(training)["Stop and save"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not training.isVisible(), timeout=WAIT_MS)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "stopped"


def test_another_run_is_looked_at_and_does_not_push_out_the_one_that_goes_on(
    training: Window, qtbot: QtBot, tmp_path: Path
):
    # Symptom: a finished run could not be opened while another one trained.
    other = recorded.run_folder(tmp_path / "other", end="done")
    session, place = training.session, training.run_place
    assert session is not None
    training.go("history")
    training.open_run(other.root)
    assert training.session is session and training.is_training()
    assert training.places.currentWidget() is place and place.shows_other
    looked_at = place.other.session
    qtbot.waitUntil(lambda: looked_at.is_over, timeout=WAIT_MS)
    assert looked_at.root == other.root and not place.other.header.stop.isVisible()
    assert session.root == place.live.session.root and session.title in training.windowTitle()
    for go in (training.sidebar.item("run").click, training.strip.run_asked.emit):
        training.open_run(other.root)
        assert place.shows_other
        go()
        assert place.currentWidget() is place.live


def test_a_run_that_is_looked_at_is_done_again_after_the_one_that_goes_on(training: Window, tmp_path: Path, job: Job):
    training.open_run(recorded.run_folder(tmp_path / "other", end="done").root)
    training.run_place.other.again_asked.emit(job)
    assert training.is_training() and len(training.queue.runs) == 1


def test_the_run_that_starts_next_leaves_the_one_that_is_looked_at_in_sight(
    training: Window, qtbot: QtBot, tmp_path: Path, job: Job
):
    session, place = training.session, training.run_place
    assert session is not None
    training.queue.add(job.model_copy(update={"run_dir": runs_root() / "new"}))
    training.open_run(recorded.run_folder(tmp_path / "other", end="done").root)
    session.stop()
    qtbot.waitUntil(lambda: training.session is not session, timeout=WAIT_MS)
    assert place.shows_other
    training.show_run()
    assert place.live.session is training.session
    qtbot.waitUntil(lambda: not training.is_going(), timeout=WAIT_MS)


LEAVE = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from diffusionforce.gui import app, child, shell
from diffusionforce.job import read_job
child.child_command = lambda job: [sys.executable, "-m", "tests.support.fake_trainer", str(job)]
class Quick(shell.Window):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_run(read_job(Path(sys.argv[1])))
        self.timer = QTimer(self, interval=100)
        self.timer.timeout.connect(self.leave)
        self.timer.start()
    def leave(self):
        if self.session.model.step >= 3:
            self.timer.stop()
            self.close()
            button = next(b for b in self.findChildren(QPushButton) if b.accessibleName() == "Go on in background")
            QTest.mouseClick(button, Qt.MouseButton.LeftButton)
app.Window = Quick
sys.exit(app.main(None))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the fake trainer needs POSIX")
def test_a_run_goes_on_without_the_window(qtbot: QtBot, job: Job, tmp_path: Path, fake_trainer: Callable[[str], None]):
    fake_trainer("slow")
    longer = recorded.with_steps(job, 60)
    write_job(tmp_path / "job.toml", longer)
    command = [sys.executable, "-X", "faulthandler", "-c", LEAVE, str(tmp_path / "job.toml")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    folder = RunFolder.open(longer.run_dir)
    assert folder.read_state().state == "running"
    qtbot.waitUntil(lambda: folder.reconciled_state().state != "running", timeout=WAIT_MS)
    assert folder.read_state().state == "done"
    assert folder.read_state().step == 60


def test_the_strip_leads_from_elsewhere_to_the_run_that_ended(window: Window, qtbot: QtBot, tmp_path: Path):
    window.open_run(recorded.run_folder(tmp_path / "run", end="stopped").root)
    qtbot.waitUntil(lambda: not window.is_going(), timeout=WAIT_MS)
    window.plan_run()
    window.strip.run_asked.emit()
    assert window.run_place.shows_plan, "the strip tells of the plan"
    window.go("datasets")
    window.strip.run_asked.emit()
    assert window.places.currentWidget() is window.run_place and not window.run_place.shows_plan


@pytest.fixture
def elsewhere(window: Window) -> RunFolder:
    """A run that a terminal trains: its process lives, and the window does not follow it."""
    return recorded.run_folder(runs_root() / "2026-01-02-100000-pocket-demo", end="running")


def asked(window: Window, qtbot: QtBot, job: Job) -> dict[str, QPushButton]:
    window.ask_to_start(job)
    qtbot.waitUntil(lambda: "Start anyway" in question(window), timeout=WAIT_MS)
    assert window.session is None
    return question(window)


def test_a_start_beside_a_training_elsewhere_asks_first(
    window: Window,
    qtbot: QtBot,
    elsewhere: RunFolder,
    job: Job,
    fake_trainer: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
):
    # Symptom: it started at once beside a run of a terminal, and nobody was told that both share the machine.
    fake_trainer("")
    buttons = asked(window, qtbot, job)
    assert buttons["Start it afterwards"].hasFocus()
    read: list[str] = []
    monkeypatch.setattr(shell, "announce", lambda _widget, words: read.append(words))
    qtbot.mouseClick(buttons["Start anyway"], Qt.MouseButton.LeftButton)
    session = window.session
    assert session is not None and session.is_own
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: read == [f"{session.title}: Training finished"], timeout=WAIT_MS)


def test_a_start_can_wait_for_the_training_elsewhere(window: Window, qtbot: QtBot, elsewhere: RunFolder, job: Job):
    qtbot.mouseClick(asked(window, qtbot, job)["Start it afterwards"], Qt.MouseButton.LeftButton)
    # Its end starts the queue, so it is followed.
    assert window.session is not None and window.session.root == elsewhere.root and window.is_going()
    assert len(window.queue.runs) == 1


def test_the_queue_started_by_hand_beside_a_training_elsewhere_asks_first(
    window: Window, qtbot: QtBot, elsewhere: RunFolder, job: Job, fake_trainer: Callable[[str], None]
):
    # Symptom: "Start the queue" started beside a run of a terminal on the same cards, unasked.
    fake_trainer("")
    window.enqueue(job)
    page = window.place("history")
    assert isinstance(page, HistoryPage)
    qtbot.mouseClick(page.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "Start anyway" in question(window), timeout=WAIT_MS)
    assert window.session is None and len(window.queue.runs) == 1
    qtbot.mouseClick(question(window)["Start it afterwards"], Qt.MouseButton.LeftButton)
    session = window.session
    assert session is not None and session.root == elsewhere.root and window.queue.starts_next
    assert len(window.queue.runs) == 1
    elsewhere.write_state(elsewhere.read_state().model_copy(update={"state": "stopped", "step": 100}))
    qtbot.waitUntil(lambda: window.session is not session, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    assert not window.queue.runs


def test_the_demo_beside_a_training_elsewhere_asks_first(
    window: Window, qtbot: QtBot, elsewhere: RunFolder, job: Job, fake_trainer: Callable[[str], None]
):
    # Symptom: "Train the demo now" started beside a run of a terminal, unasked.
    fake_trainer("")
    window.go("welcome")
    page = window.place("welcome")
    assert isinstance(page, WelcomePage)
    page.start_asked.emit(job)
    qtbot.waitUntil(lambda: "Start anyway" in question(window), timeout=WAIT_MS)
    assert window.session is None and "Start it afterwards" not in question(window)
    assert question(window)["Show that run"].hasFocus()
    qtbot.mouseClick(question(window)["Start anyway"], Qt.MouseButton.LeftButton)
    session = window.session
    assert session is not None and page.demo.session is session
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)


def test_a_start_where_nothing_else_trains_asks_nothing(
    window: Window, qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("")
    recorded.run_folder(runs_root() / "2026-01-02-100000-pocket-demo", end="stopped", upto=100)
    window.ask_to_start(job)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
