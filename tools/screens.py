"""Draw the window in its states, from the folder of a finished run: `python tools/screens.py OUT --run DIR`.

Every state comes from the same real run: its telemetry is cut where the run is to look live, or ended in another
way. The pictures are for looking at, by people; `tests/gui` checks what can be checked without eyes.
"""

import argparse
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.gui import recorded
from tests.support import broken_dataset, fake_forecasting, forecasts, rigs

import screens_environment
import screens_settings
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.gui import background, forecaster, standby, theme
from diffusionforce.gui.app import application
from diffusionforce.gui.model import language
from diffusionforce.gui.pages.datasets import DatasetsPage
from diffusionforce.gui.pages.gallery import COMPARE, FAVOURITES, STRIP
from diffusionforce.gui.pages.history import HistoryPage
from diffusionforce.gui.pages.rig import RigPage
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.sample_layout import Cell
from diffusionforce.job import read_job
from diffusionforce.runs import RunFolder, storage_error
from diffusionforce.wire import Checkpoint, Failed, Paused, Sample, Step, StreamDecoder, encode
from diffusionforce.wire.forecast import Forecast

LIVE_SHARE = 0.72
FULL_FOLDER = Path("/data/DiffusionForce/runs")
SIZES = ((1440, 900), (1100, 720))
SETTLE_MS = 300
MOST_LOOKS = 6
MOVING = frozenset({"datasets-checking"})
"""Screens that are over when nothing changes any more."""


def main() -> int:
    """Draw everything that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the pictures")
    parser.add_argument("--run", type=Path, required=True, help="folder of a finished run")
    parser.add_argument("--themes", default="dark,light")
    parser.add_argument("--only", default="", help="names of screens, separated by commas")
    parser.add_argument("--language", default="en", choices=list(language.LANGUAGES))
    parser.add_argument("--large", action="store_true", help="also draw everything at a scale of 150 %%")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.large and "QT_SCALE_FACTOR" not in os.environ:
        environment = {**os.environ, "QT_SCALE_FACTOR": "1.5"}
        command = [argument for argument in sys.argv if argument != "--large"]
        subprocess.run([sys.executable, *command], env=environment, check=True)
    language.use(arguments.language)
    draw(arguments.out, arguments.run, arguments.themes.split(","), [n for n in arguments.only.split(",") if n])
    return 0


def draw(out: Path, run: Path, themes: list[str], only: list[str]) -> None:
    """Draw the screens in each theme and size."""
    scale, spoken = os.environ.get("QT_SCALE_FACTOR", ""), language.current()
    with tempfile.TemporaryDirectory(prefix="diffusionforce-screens-") as home:
        os.environ["DIFFUSIONFORCE_HOME"] = home
        runs = derived_runs(run, Path(home) / "runs")
        app = application()
        for name in themes:
            theme.apply(app, "light" if name == "light" else "dark")
            for width, height in SIZES if not scale else SIZES[1:]:
                for screen, show in SCREENS.items():
                    if only and screen not in only:
                        continue
                    window = Window(Preferences(Path(home) / "window.ini"))
                    window.resize(width, height)
                    window.show()
                    show(window, runs)
                    if screen not in MOVING:
                        settle(window)
                    suffix = f"-{name}-{width}x{height}" + (f"@{scale}" if scale else "")
                    window.grab().save(str(out / f"{screen}{suffix}.png"))
                    close(window)
                    language.use(spoken)  # A screen may have chosen another.
        background.finish(10)


def settle(window: Window) -> None:
    """Wait until nothing changes in the window any more: what is read or decoded on threads is shown a turn later."""
    before = None
    for _ in range(MOST_LOOKS):
        wait(2 * SETTLE_MS)
        wait_until(lambda: background.finish(0))
        now = window.grab().toImage()
        if now == before:
            return
        before = now


def close(window: Window) -> None:
    """Close a window and let it be deleted."""
    window.close()
    window.deleteLater()
    QApplication.processEvents()


def derived_runs(run: Path, root: Path) -> dict[str, Path]:
    """Make a done, a live, a failed, a stopped and a crashed run of one finished run."""
    root.mkdir(parents=True)
    made: dict[str, Path] = {}
    for i, kind in enumerate(("stopped", "crashed", "failed", "live", "done")):
        path = root / f"{time.strftime('%Y-%m-%d')}-{10 + i:02d}0000-{RunFolder(run).read_state().profile_name}"
        shutil.copytree(run, path)
        made[kind] = path
        if kind != "done":
            cut_short(RunFolder(path), kind)
    return made


def cut_short(folder: RunFolder, kind: str) -> None:
    """Cut the telemetry of a run and end it in another way, or let it look as if it went on."""
    decoder = StreamDecoder()
    kept = []
    last = 0
    state = folder.read_state()
    for message in decoder.feed(folder.telemetry_path.read_bytes()):
        if isinstance(message, Step):
            if message.step > state.num_steps * LIVE_SHARE:
                break
            last = message.step
        kept.append(message)
    for path in [*folder.samples_dir.rglob("*.png"), *folder.checkpoints_dir.rglob("*.safetensors")]:
        told = {message.path for message in kept if isinstance(message, Sample | Checkpoint)}
        if path.relative_to(folder.root).as_posix() not in told:
            path.unlink()
    full = storage_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), FULL_FOLDER)
    if kind == "failed":
        kept.append(Failed(sentence=full.sentence, hint=full.hint, detail=full.detail, step=last))
    folder.telemetry_path.write_bytes(b"".join(encode(message) for message in kept))
    me = psutil.Process()
    changes: dict[str, object] = {"step": last, "lora": folder.newest_checkpoint(), "num_samples": folder.num_samples()}
    if kind in {"live", "crashed"}:
        alive = kind == "live"
        changes |= {"state": "running", "ended_at": "", "pid": me.pid if alive else 2**22 + 7}
        changes["process_started_s"] = me.create_time()
    else:
        changes["state"] = kind
    if kind == "failed":
        changes |= {"sentence": full.sentence, "hint": full.hint}
    folder.write_state(state.model_copy(update=changes))


def wait(milliseconds: int) -> None:
    """Let the window work for a while. `QTest.qWait` would keep its threads from working meanwhile."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def wait_until(is_so: Callable[[], bool], *, limit_s: float = 10.0) -> None:
    """Let the window work until something is so, or the time is up."""
    end_s = time.monotonic() + limit_s
    while not is_so() and time.monotonic() < end_s:
        wait(50)


def _plan(window: Window, _runs: dict[str, Path]) -> None:
    window.run_place.plan.choose_profile("pocket-demo")


def _plan_refused(window: Window, _runs: dict[str, Path]) -> None:
    window.run_place.plan.choose_profile("klein-9b-1024")
    window.run_place.plan.choose_dataset("demo:rolwayne")


def _plan_problem(window: Window, runs: dict[str, Path]) -> None:
    window.run_place.plan.choose_profile("pocket-demo")
    window.run_place.plan.choose_dataset(str(runs["done"]))


def _plan_forecast(
    answer: Forecast | Failed, *, delay_s: float = 0.0, phase: int | None = None
) -> Callable[[Window, dict[str, Path]], None]:
    """Return what shows a plan with a forecast that is given, not made: no cards are needed to draw it."""

    def show(window: Window, runs: dict[str, Path]) -> None:
        path = runs["done"].parents[1] / "forecast.json"
        path.write_text(answer.model_dump_json(), encoding="utf-8")
        standby.may_stand_by = lambda: False
        forecaster.forecast_command = lambda job: fake_forecasting.command(path, job, delay_s=delay_s)
        page = window.run_place.plan
        profile = answer.profile_name if isinstance(answer, Forecast) else "pocket-demo"
        page.choose_profile(profile)
        page.choose_dataset("demo:rolwayne")
        wait_until(lambda: page.plan.dataset is not None)
        wait(SETTLE_MS)
        if phase is not None:
            page.forecast.phases.choose(phase)
            page.forecast.phases.chosen.emit(phase)

    return show


def _measured(window: Window, runs: dict[str, Path]) -> None:
    """Show a run on two cards against its forecast; such a run cannot be had without cards, so it is made up."""
    path = runs["done"].parents[1] / "measured" / "pocket-demo"
    if not path.exists():
        path.parent.mkdir()
        recorded.run_folder(path)
    window.open_run(path)


def _no_forecast(window: Window, _runs: dict[str, Path]) -> None:
    window.run_place.plan.choose_profile("klein-9b-1024")


def _run(kind: str) -> Callable[[Window, dict[str, Path]], None]:
    def show(window: Window, runs: dict[str, Path]) -> None:
        window.open_run(runs[kind])
        session = window.session
        if session is None:
            return
        wait_until(lambda: session.is_over or session.model.live)
        if kind == "live":
            # As it looks in the window that started it.
            session.is_own = True

    return show


def _stopping(window: Window, runs: dict[str, Path]) -> None:
    _run("live")(window, runs)
    wait(SETTLE_MS)
    window.run_place.live.notice.ask_stop()


def _gallery(kind: str) -> Callable[[Window, dict[str, Path]], None]:
    def show(window: Window, runs: dict[str, Path]) -> None:
        _run(kind)(window, runs)
        window.go("gallery")
        wait(SETTLE_MS)
        window.gallery.grid.choose(Cell(0, 9 if kind == "done" else 1))

    return show


def _large(window: Window, runs: dict[str, Path]) -> None:
    _gallery("done")(window, runs)
    window.gallery.grid.choose(Cell(0, 9))
    window.gallery.grid.opened.emit()


def _strip(window: Window, runs: dict[str, Path]) -> None:
    _gallery("done")(window, runs)
    window.gallery.tabs.choose(STRIP)
    window.gallery._on_tab(STRIP)


def _favourites(window: Window, runs: dict[str, Path]) -> None:
    _gallery("done")(window, runs)
    gallery = window.gallery
    for cell in (Cell(0, 3), Cell(1, 2), Cell(2, 3)):
        if gallery._favourites is not None and len(gallery._favourites) < 3:
            gallery._toggle_mark(cell)
    gallery.tabs.choose(FAVOURITES)
    gallery._on_tab(FAVOURITES)


def _prompts(window: Window, runs: dict[str, Path]) -> None:
    _gallery("live")(window, runs)
    window.gallery.pane.bar.edit.click()


def _files(window: Window, runs: dict[str, Path]) -> None:
    _gallery("done")(window, runs)
    gallery = window.gallery
    if gallery._favourites is not None and not len(gallery._favourites):
        gallery._toggle_mark(Cell(0, 1))
    gallery.files.show_details(gallery.files.boxes[0])
    wait_until(lambda: gallery.files.desk.info(gallery.files.boxes[0].path) is not None)


def _compare(window: Window, runs: dict[str, Path]) -> None:
    _gallery("done")(window, runs)
    window.gallery.tabs.choose(COMPARE)
    window.gallery.tabs.chosen.emit(COMPARE)
    window.gallery.compare.choose(row=0)


def _gallery_empty(window: Window, runs: dict[str, Path]) -> None:
    os.environ["DIFFUSIONFORCE_HOME"] = str(runs["done"] / "nowhere")
    window.go("gallery")
    window.place("gallery")
    os.environ["DIFFUSIONFORCE_HOME"] = str(runs["done"].parents[1])


def _compare_near(window: Window, runs: dict[str, Path]) -> None:
    _compare(window, runs)
    wait(SETTLE_MS)
    slider = window.gallery.compare.slider
    slider.zoom_by(3.0)


def _past(question: str) -> Callable[[Window, dict[str, Path]], None]:
    """Return what shows the history with a question about its newest run."""

    def show(window: Window, _runs: dict[str, Path]) -> None:
        window.go("history")
        page = window.place("history")
        assert isinstance(page, HistoryPage)
        wait_until(lambda: bool(page.past_rows))
        entries = page.past_rows[0].menu.actions()
        # By place, because words are in the language of the window: the last deletes, the fourth from the end names.
        entries[-1 if question == "delete" else -4].trigger()

    return show


def _history_empty(window: Window, runs: dict[str, Path]) -> None:
    os.environ["DIFFUSIONFORCE_HOME"] = str(runs["done"] / "nowhere")
    window.go("history")
    wait(SETTLE_MS)
    os.environ["DIFFUSIONFORCE_HOME"] = str(runs["done"].parents[1])


def _place(key: str) -> Callable[[Window, dict[str, Path]], None]:
    def show(window: Window, _runs: dict[str, Path]) -> None:
        window.go(key)
        window.place(key)

    return show


def _dataset(state: str) -> Callable[[Window, dict[str, Path]], None]:
    """Return what shows a dataset: the demo, or a folder with one of everything that goes wrong."""

    def show(window: Window, runs: dict[str, Path]) -> None:
        window.go("datasets")
        page = window.place("datasets")
        assert isinstance(page, DatasetsPage)
        pictures = runs["done"].parents[1] / "pictures"
        if state == "gone":
            page.choose(str(pictures / "moved away"))
            wait_until(lambda: page.desk.problem is not None)
            return
        if state == "demo":
            page.choose("demo:rolwayne")
        elif state in {"folders", "clip", "made-from"}:
            _show_set(page, pictures / state, state)
            return
        else:
            broken = pictures / "Gouache landscapes"
            page.choose(str(broken if broken.is_dir() else broken_dataset.make(broken)))
        wait_until(lambda: page.desk.table.is_checked)
        if state in {"shapes", "captions"}:
            page.files.tabs.choose(state)
            page.files.tabs.chosen.emit(state)
        if state == "checking":
            page.desk.check_again()
            page.desk.progressed.emit("Checking", 21, 39)
            QApplication.processEvents()
            return
        wait(SETTLE_MS)

    return show


def _show_set(page: DatasetsPage, root: Path, state: str) -> None:
    """Show two folders of which one has clips or control pictures, as a model sees them that takes these."""
    first, second = root / "Gouache landscapes", root / "Dances by the sea"
    if not root.is_dir():
        for folder in (first, second):
            folder.mkdir(parents=True)
            for seed in range(9):
                broken_dataset.save(folder / f"hills_{seed}.png", seed + len(folder.name), size=(640, 416))
        broken_dataset.clip(second / "dance.mp4", num_frames=60, size=(320, 192), fps=30)
        (second / "dance.txt").write_text("gouachestyle, hills that change with the light", encoding="utf-8")
        (first / "control").mkdir()
        for seed in range(8):
            broken_dataset.scene(seed + 60).convert("L").save(first / "control" / f"hills_{seed}.png")
    page.desk.use_profile("klein-9b-1024" if state == "made-from" else "wan21-14b")
    page.choose(str(first))
    wait_until(lambda: page.desk.table.is_checked)
    folders = [SetFolder(path=str(first), repeats=2), SetFolder(path=str(second), width=832, height=480, frames=17)]
    page.desk.change_folders(folders)
    wait_until(lambda: page.desk.table.is_checked)
    name = "dance.mp4" if state == "clip" else "hills_3.png"
    page.files.grid.choose(next(i for i, row in enumerate(page.files.grid.rows) if row.path.name == name))
    if state != "clip":
        page.header.folders.click()
    wait(2 * SETTLE_MS)


def _rig(window: Window, _runs: dict[str, Path]) -> None:
    window.go("rig")
    wait(9000)


def _queue(window: Window, runs: dict[str, Path]) -> None:
    """Show a run that goes on, two that wait, and those that were."""
    _run("live")(window, runs)
    job = read_job(runs["done"] / "job.toml")
    for title, steps in (("LoRAnne, longer", 900), ("Rolwayne with a rather long name that has to be shortened", 300)):
        training = job.profile.training.model_copy(update={"steps": steps})
        profile = job.profile.model_copy(update={"title": title, "training": training})
        window.queue.add(job.model_copy(update={"profile": profile, "run_dir": runs["done"].parent / "new"}))
    window.go("history")
    wait(SETTLE_MS)
    _forget_queue(runs)


def _forget_queue(runs: dict[str, Path]) -> None:
    (runs["done"].parents[1] / "queue.json").unlink(missing_ok=True)


def _compare_runs(window: Window, runs: dict[str, Path]) -> None:
    window.go("history")
    wait(SETTLE_MS)
    page = window.place("history")
    assert isinstance(page, HistoryPage)
    for line in page.past_rows:
        line.chosen.setChecked(line.run.root in {runs["done"], runs["stopped"]})
    page.compare.click()
    wait_until(lambda: not page.pane.is_reading)
    wait(SETTLE_MS)


def _paused(window: Window, runs: dict[str, Path]) -> None:
    _run("live")(window, runs)
    wait(SETTLE_MS)
    if window.session is not None:
        window.session.model.feed(Paused(paused=True, step=window.session.model.step))
        window.session.changed.emit()


def _rig_cards(*, tested: bool) -> Callable[[Window, dict[str, Path]], None]:
    """Return what shows a rig that is given, not looked at: no cards are needed to draw it."""

    def show(window: Window, _runs: dict[str, Path]) -> None:
        window.go("rig")
        page = window.place("rig")
        assert isinstance(page, RigPage)
        wait_until(lambda: window.watch.report is not None)
        window.watch.examined.disconnect(page._on_examined)
        window.watch.report = rigs.report()
        page.test = rigs.speed_test() if tested else None
        page._on_examined(rigs.report())
        if not tested:
            page.speed.start()
            wait_until(lambda: page.speed.bar.accessibleName() != "Speed test 0%", limit_s=20)

    return show


SCREENS: dict[str, Callable[[Window, dict[str, Path]], None]] = {
    "run-plan": _plan,
    "run-plan-refused": _plan_refused,
    "run-plan-problem": _plan_problem,
    "forecast-fits": _plan_forecast(forecasts.forecast()),
    "forecast-pages": _plan_forecast(forecasts.paging(), phase=2),
    "forecast-refused": _plan_forecast(forecasts.refused()),
    "forecast-processor": _plan_forecast(forecasts.without_cards()),
    "forecast-checking": _plan_forecast(forecasts.forecast(), delay_s=60),
    "forecast-error": _plan_forecast(
        Failed(
            sentence="The weights of FLUX.2 Klein 9B are not on this computer.",
            hint="Download them first: the forecast reads the shapes of the tensors from the file.",
        )
    ),
    "forecast-nothing": _no_forecast,
    "forecast-measured": _measured,
    "run-live": _run("live"),
    "run-stop-question": _stopping,
    "run-done": _run("done"),
    "run-stopped": _run("stopped"),
    "run-failed": _run("failed"),
    "run-crashed": _run("crashed"),
    "gallery-live": _gallery("live"),
    "gallery-done": _gallery("done"),
    "gallery-large": _large,
    "gallery-compare": _compare,
    "gallery-compare-near": _compare_near,
    "gallery-strip": _strip,
    "gallery-favourites": _favourites,
    "gallery-prompts": _prompts,
    "gallery-files": _files,
    "gallery-empty": _gallery_empty,
    "datasets": _dataset("demo"),
    "datasets-broken": _dataset("broken"),
    "datasets-shapes": _dataset("shapes"),
    "datasets-captions": _dataset("captions"),
    "datasets-checking": _dataset("checking"),
    "datasets-gone": _dataset("gone"),
    "datasets-folders": _dataset("folders"),
    "datasets-clip": _dataset("clip"),
    "datasets-made-from": _dataset("made-from"),
    "history": _place("history"),
    "history-delete": _past("delete"),
    "history-notes": _past("notes"),
    "queue": _queue,
    "compare-runs": _compare_runs,
    "run-paused": _paused,
    "history-empty": _history_empty,
    "rig": _rig,
    "rig-cards": _rig_cards(tested=True),
    "rig-testing": _rig_cards(tested=False),
    **screens_settings.SCREENS,
    **screens_environment.SCREENS,
}


if __name__ == "__main__":
    sys.exit(main())
