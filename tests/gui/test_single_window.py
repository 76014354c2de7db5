"""A second start of the program, and the progress on its icon."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalSocket
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.desktop.taskbar import State
from diffusionforce.gui.model.environment_view import EnvironmentView
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.run_progress import Dock, RunProgress, of_system, state_of
from diffusionforce.gui.shell import Window
from diffusionforce.gui.single_window import SingleWindow, socket_name
from diffusionforce.job import Job
from diffusionforce.wire import Paused, Step
from diffusionforce.wire.environment import EnvironmentProgress

WAIT_MS = 20_000
SECOND = "import sys; from pathlib import Path; from diffusionforce.gui import app; \
sys.exit(app.main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))"


@pytest.fixture
def single(home: Path):
    one = SingleWindow(home)
    assert one.begin()
    yield one
    one.end()


def test_a_second_start_hands_over_its_run_and_ends(qtbot: QtBot, single: SingleWindow, tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "my-run", end="done")
    with subprocess.Popen([sys.executable, "-c", SECOND, str(folder.root)], stderr=subprocess.PIPE) as second:
        with qtbot.waitSignal(single.asked, timeout=WAIT_MS) as heard:
            pass
        qtbot.waitUntil(lambda: second.poll() is not None, timeout=WAIT_MS)
        assert second.stderr is not None and b"Traceback" not in second.stderr.read()
    assert second.returncode == 0 and heard.args == [str(folder.root)]


def test_another_data_folder_has_a_window_of_its_own(single: SingleWindow, tmp_path: Path):
    other = SingleWindow(tmp_path / "elsewhere")
    assert other.begin()
    other.end()


def test_where_the_first_does_not_answer_nothing_is_handed_over(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("diffusionforce.gui.single_window.WAIT_MS", 200)
    assert not SingleWindow(home / "nobody").hand_over(None)


@pytest.mark.parametrize("said", [b"[]\n", b"{\n", b"\xff\n", b'{"run": 5}\n', b"x" * 100_000])
def test_what_is_no_request_harms_nobody(qtbot: QtBot, single: SingleWindow, home: Path, said: bytes):
    asked: list[str] = []
    single.asked.connect(asked.append)
    socket = QLocalSocket()
    socket.connectToServer(socket_name(home))
    assert socket.waitForConnected(WAIT_MS)
    socket.write(said)
    qtbot.wait(100)
    socket.write(f"\n{json.dumps({'run': '/last'})}\n".encode())
    qtbot.wait(200)
    assert asked in ([], ["5"])
    socket.abort()


def step(number: int) -> Step:
    return Step(step=number, num_steps=10, loss=0.1, learning_rate=1e-4, seconds=1.0, eta_s=1.0)


def test_the_icon_shows_how_far_a_run_is_and_how_it_stands(window: Window, job: Job, qtbot: QtBot):
    shown: list[tuple[State, float]] = []

    class Icon:
        def show(self, state: State, share: float = 0.0) -> None:
            shown.append((state, share))

    made = Icon()
    window.show()
    qtbot.waitUntil(window.isVisible, timeout=WAIT_MS)
    progress, model = RunProgress(window, make=lambda _window: made), RunModel(job)
    progress.show(model)
    model.feed(step(5))
    progress.show(model)
    model.feed(Paused(paused=True, step=5))
    progress.show(model)
    progress.show_environment(EnvironmentView(phase="running", action="create"))
    progress.show_environment(EnvironmentView())
    model.end(Outcome(kind="failed", sentence="It failed.", hint="", detail="", step=5))
    progress.show(model)
    assert [state for state, _ in shown] == ["busy", "normal", "paused", "paused", "paused", "error"]
    assert shown[1][1] == model.share > 0
    assert of_system(window) is None, "tests have no taskbar"


def test_the_icon_shows_how_far_the_environment_is_while_no_run_goes_on(window: Window, qtbot: QtBot):
    shown: list[tuple[State, float]] = []

    class Icon:
        def show(self, state: State, share: float = 0.0) -> None:
            shown.append((state, share))

    window.show()
    qtbot.waitUntil(window.isVisible, timeout=WAIT_MS)
    progress = window.progress = RunProgress(window, make=lambda _window: Icon())
    told = EnvironmentProgress(step="torch", done_bytes=50, total_bytes=100)
    window.environment.view = EnvironmentView(phase="running", action="create", progress=told)
    window.environment.changed.emit()
    progress.show_environment(EnvironmentView(phase="idle", action="create"))
    assert [state for state, _ in shown] == ["normal", "none"]
    assert 0.05 < shown[0][1] < 0.7


def test_the_icon_of_a_run_that_ended_well_says_nothing_more(job: Job):
    model = RunModel(job)
    model.end(Outcome(kind="done", sentence="Done.", hint="", detail="", step=5))
    assert state_of(model) == "none"


def test_docks_are_told_only_what_is_new():
    sent: list[dict[str, object]] = []
    dock = Dock(sent.append)
    said: list[tuple[State, float]] = [
        ("busy", 0.0),
        ("normal", 0.25),
        ("normal", 0.2501),
        ("error", 0.25),
        ("none", 0.25),
    ]
    for state, share in said:
        dock.show(state, share)
    assert [(one["progress"], one["progress-visible"], one["urgent"]) for one in sent] == [
        (0.0, False, False),
        (0.25, True, False),
        (0.25, False, True),
        (0.25, False, False),
    ]
