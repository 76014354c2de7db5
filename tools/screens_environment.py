"""The states of the training environment's page for `tools/screens.py`.

Nothing is built for them: the desk is given what a build of CUDA 13.0 for an RTX 5080 and a 4060 Ti said.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import shiboken6
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QScrollArea

from diffusionforce.errors import UserError
from diffusionforce.gui.environment_desk import EnvironmentDesk
from diffusionforce.gui.model.environment_view import EnvironmentView
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.shell import Window
from diffusionforce.wire import interpreter
from diffusionforce.wire.environment import EnvironmentPlan, EnvironmentProgress, EnvironmentStatus

Show: TypeAlias = Callable[[Window, dict[str, Path]], None]
MIB, GIB = 1 << 20, 1 << 30
FOLDER = "C:\\Users\\Jürgen\\AppData\\Local\\DiffusionForce\\env"
PLAN = EnvironmentPlan(
    folder=FOLDER,
    backend="cu130",
    reason="GPU 0 (RTX 5080, Blackwell) and GPU 1 (RTX 4060 Ti, Ada): the build for CUDA 13.0 knows both.",
    torch_version="2.13.0",
    python_version="3.12.9",
    download_bytes=round(2.8 * GIB),
    needed_bytes=8 * GIB,
    free_bytes=212 * GIB,
    drive="C:",
)
MISSING = EnvironmentStatus(state="missing", folder=FOLDER)
READY = EnvironmentStatus(
    state="ready", outcome="built", folder=FOLDER, backend="cu130", torch_version="2.13.0", num_packages=94
)
DOWNLOADING = EnvironmentProgress(
    step="torch",
    package="torch",
    done_bytes=round(1.62 * GIB),
    total_bytes=round(2.58 * GIB),
    bytes_per_s=24 * MIB,
    done=14,
    total=32,
)
LOADING = EnvironmentProgress(step="check", package="transformers", done=8, total=18)
OFFLINE = UserError(
    "PyTorch could not be downloaded: the network, or the server, cannot be reached.",
    hint="Connect this computer to the internet and try again; what was downloaded is kept. Behind a proxy, set "
    "HTTPS_PROXY. Without internet, install from a folder of wheels.",
)
OLD_DRIVER = UserError(
    "The NVIDIA driver 572.16 is too old for GPU 0 (RTX 5080) with CUDA 13.0: it has to be 580 or newer.",
    hint="Install the newest driver from NVIDIA and start again; or choose the build for the processor, to try the "
    "demo.",
)
LOG = """$ uv venv --clear --python C:\\Program Files\\DiffusionForce\\python\\python.exe
Using CPython 3.12.9
Creating virtual environment at: C:\\Users\\Jürgen\\AppData\\Local\\DiffusionForce\\env
$ uv pip install --torch-backend cu130 torch==2.13.0 torchvision==0.28.0
Resolved 32 packages in 530ms
Downloading numpy (16.1MiB)
Downloading pillow (6.8MiB)
Downloading torchvision (7.3MiB)
Downloading torch (2.4GiB)
 Downloaded pillow
 Downloaded torchvision
 Downloaded numpy""".splitlines()
BEFORE = EnvironmentView(phase="idle", status=MISSING, plan=PLAN)
RUNNING = replace(BEFORE, phase="running", action="create", progress=DOWNLOADING)
VIEWS = {
    "before": BEFORE,
    "no-room": replace(BEFORE, plan=PLAN.model_copy(update={"free_bytes": 3 * GIB})),
    "old-driver": replace(BEFORE, plan=None, plan_problem=OLD_DRIVER),
    "running": RUNNING,
    "loading": replace(RUNNING, progress=LOADING),
    "stopped": replace(
        RUNNING, phase="idle", status=MISSING.model_copy(update={"state": "unfinished", "outcome": "stopped"})
    ),
    "failed": replace(RUNNING, phase="idle", problem=OFFLINE),
    "done": replace(RUNNING, phase="idle", status=READY, progress=LOADING),
    "damaged": replace(
        BEFORE,
        status=READY.model_copy(
            update={
                "state": "damaged",
                "outcome": "",
                "problems": ("numpy is damaged: numpy/__init__.py is missing or was changed.",),
            }
        ),
    ),
}
LOGGED = frozenset({"running", "loading", "stopped", "failed", "done"})


class Given(EnvironmentDesk):
    """Shows what it is given, as in the installed application, and looks at nothing."""

    @property
    def is_ours(self) -> bool:
        """It is."""
        return True

    def look(self) -> None:
        """Leave it as it is."""


def give(window: Window, name: str) -> None:
    """Let the window know a state of the environment."""
    window.environment = Given(window)
    window.environment.view = VIEWS[name]
    window.environment.lines.extend(LOG if name in LOGGED else [])


def _page(name: str, *, at_end: bool = False) -> Show:
    def show(window: Window, _runs: dict[str, Path]) -> None:
        give(window, name)
        window.go("environment")
        wait(300)
        if at_end:
            (area,) = window.place("environment").findChildren(QScrollArea)[:1]
            area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())

    return show


def _without_torch(window: Window) -> None:
    """Let nothing find PyTorch while this window is seen."""
    interpreter.has_torch = lambda: _HAS_TORCH() and not (shiboken6.isValid(window) and window.isVisible())


def _first_steps(name: str) -> Show:
    def show(window: Window, _runs: dict[str, Path]) -> None:
        _without_torch(window)
        give(window, name)
        window.go("welcome")
        page = window.place("welcome")
        assert isinstance(page, WelcomePage)
        wait(4000)

    return show


def _first_steps_done(window: Window, runs: dict[str, Path]) -> None:
    _first_steps("running")(window, runs)
    window.environment.view = VIEWS["done"]
    window.environment.changed.emit()


def _plan(window: Window, _runs: dict[str, Path]) -> None:
    _without_torch(window)
    give(window, "before")
    window.go("run")
    window.run_place.plan.choose_profile("pocket-demo")
    wait(1500)


def wait(milliseconds: int) -> None:
    """Let the window work for a while."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


_HAS_TORCH = interpreter.has_torch
SCREENS: dict[str, Show] = {
    **{f"environment-{name}": _page(name) for name in VIEWS},
    "environment-failed-log": _page("failed", at_end=True),
    "environment-first-steps": _first_steps("before"),
    "environment-first-steps-done": _first_steps_done,
    "environment-plan": _plan,
}
