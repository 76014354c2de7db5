"""The real window, offscreen, with a data folder of its own; a Qt warning fails the test."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui import recorded
from tests.support import fake_forecasting, forecasts

from diffusionforce.gui import background, child, forecaster, standby, theme
from diffusionforce.gui.app import application
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.rig_watch import RigWatch
from diffusionforce.gui.shell import Window
from diffusionforce.job import Job
from diffusionforce.wire import Failed
from diffusionforce.wire.forecast import Forecast

ROOT = Path(__file__).parents[2]
WAIT_MS = 30_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every Qt warning fail the test that caused it."""
    for item in items:
        if "tests/gui" in item.path.as_posix():
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))


@pytest.fixture(scope="session")
def qapp() -> QApplication:
    """The application, dressed."""
    app = application()
    theme.apply(app, "dark")
    return app


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that holds no runs."""
    folder = tmp_path / "home"
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(folder))
    return folder


class Foretold:
    """What forecasting processes answer in a test, and how many of them were started."""

    def __init__(self, folder: Path) -> None:
        self._answer = folder / "answer.json"
        self.delay_s = 0.0
        self.job_files: list[Path] = []
        self.say(forecasts.forecast())

    def say(self, answer: Forecast | Failed | str) -> None:
        """Answer with this from now on."""
        text = answer if isinstance(answer, str) else answer.model_dump_json()
        self._answer.write_text(text, encoding="utf-8")

    def command(self, job_file: Path) -> list[str]:
        """Return the command line of the process."""
        self.job_files.append(job_file)
        return fake_forecasting.command(self._answer, job_file, delay_s=self.delay_s)


@pytest.fixture(autouse=True)
def foretold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Foretold:
    """Forecasts come from a process that answers at once, without torch."""
    made = Foretold(tmp_path)
    monkeypatch.setattr(forecaster, "forecast_command", made.command)
    # One process for each; that which makes one after another has tests of its own.
    monkeypatch.setattr(standby, "may_stand_by", lambda: False)
    return made


class QuietWatch(RigWatch):
    """Looks at the machine without starting a process that loads PyTorch."""

    def examine(self, *, ask_torch: bool) -> None:
        """Look at everything else."""
        super().examine(ask_torch=False)


@pytest.fixture
def make_window(qtbot: QtBot, home: Path) -> Iterator[Callable[..., Window]]:
    """Makes windows and takes them away, with whatever they started."""
    made: list[Window] = []

    def make(width: int = 1440, height: int = 900) -> Window:
        window = Window(Preferences(home / "window.ini"), watch=QuietWatch())
        window.resize(width, height)
        window.show()
        qtbot.waitExposed(window)
        made.append(window)
        return window

    yield make
    for window in made:
        window.queue.hold(True)
        session = window.session
        if session is not None and session.child is not None and session.child.is_running:
            session.child.kill()
            session.child.wait(5000)
        window.close()
        window.watch.deleteLater()
        window.deleteLater()
    assert background.finish(30)
    qtbot.wait(10)


@pytest.fixture
def window(make_window: Callable[..., Window]) -> Window:
    """One window of the usual size."""
    return make_window()


@pytest.fixture
def fake_trainer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let windows start the trainer process with an engine that only pretends, and misbehaves as told."""

    def use(deeds: str = "") -> None:
        monkeypatch.setenv("FAKE_ENGINE", deeds)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        monkeypatch.setattr(
            child, "child_command", lambda job: [sys.executable, "-m", "tests.support.fake_trainer", str(job)]
        )

    return use


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job with a small dataset of its own."""
    dataset = tmp_path / "loranne"
    for i in range(2):
        recorded.picture(dataset / f"{i}.png", seed=i, share=1)
        (dataset / f"{i}.txt").write_text("LoRAnne, waving", encoding="utf-8")
    return recorded.job(tmp_path / "run", steps=3, dataset_dir=dataset)


@pytest.fixture
def long_job(job: Job) -> Job:
    """The same job with more steps than any test waits for."""
    return recorded.with_steps(job, 100_000)
