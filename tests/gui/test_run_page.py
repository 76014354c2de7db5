"""The Run place: planning, starting, stopping, and every end."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot
from tests.gui import recorded
from tests.support import rigs
from tests.support.trainer_process import trainer

from diffusionforce.gui.model.forecast_desk import ForecastStatus
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.pages.datasets import DatasetsPage
from diffusionforce.gui.pages.run_live import RunLivePage
from diffusionforce.gui.pages.run_notice import DetailCard
from diffusionforce.gui.pages.run_plan import RunPlanPage
from diffusionforce.gui.pages.run_tiles import RunTiles
from diffusionforce.gui.rig_watch import Vitals
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.job import Job
from diffusionforce.rig import Traffic
from diffusionforce.wire import Step, Stopped

WAIT_MS = 60_000


def plan_page(window: Window) -> RunPlanPage:
    return window.run_place.plan


def live_page(window: Window) -> RunLivePage:
    return window.run_place.live


def banner_text(window: Window) -> str:
    QApplication.processEvents()
    page = window.run_place.currentWidget()
    banners = [b for b in page.findChildren(Banner) if b.isVisible()]
    return " ".join(label.text() for banner in banners for label in banner.findChildren(Label))


def ready(qtbot: QtBot, page: RunPlanPage) -> None:
    qtbot.waitUntil(lambda: not page.plan.is_checking, timeout=WAIT_MS)


def test_a_fresh_window_is_ready_to_train_the_demo(window: Window, qtbot: QtBot):
    page = plan_page(window)
    ready(qtbot, page)
    assert page.plan.profile_name == "pocket-demo"
    assert page.start.isEnabled()
    assert page.plan.dataset is not None


def test_a_folder_without_captions_is_refused_in_the_page(window: Window, qtbot: QtBot, tmp_path: Path):
    recorded.picture(tmp_path / "bare" / "0.png", seed=0, share=1)
    page = plan_page(window)
    page.picks.dataset.folder_dropped.emit(str(tmp_path / "bare"))
    ready(qtbot, page)
    assert not page.start.isEnabled()
    assert "no captions" in page.start.toolTip()
    assert "no captions" in banner_text(window)


def test_a_profile_that_cannot_run_shows_its_facts_and_why(window: Window, qtbot: QtBot):
    page = plan_page(window)
    page.choose_profile("klein-9b-1024")
    ready(qtbot, page)
    qtbot.waitUntil(lambda: not page.plan.readiness.is_checking, timeout=WAIT_MS)
    assert "FLUX.2 Klein 9B" in page.picks.profile.accessibleName()
    assert "Musubi Tuner" in banner_text(window)
    assert not page.start.isEnabled()


def test_a_broken_profile_file_is_explained(window: Window, qtbot: QtBot, tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('schema_version = 1\ntitle = "x"\nmodell = 3\n', encoding="utf-8")
    plan_page(window).choose_profile(str(path))
    ready(qtbot, plan_page(window))
    assert "modell" in banner_text(window)


def test_a_later_choice_wins_over_a_slow_check(window: Window, qtbot: QtBot, tmp_path: Path, job: Job):
    page = plan_page(window)
    page.choose_dataset(str(tmp_path / "nowhere"))
    page.choose_dataset(str(job.dataset_dir))
    ready(qtbot, page)
    qtbot.wait(100)
    assert page.plan.dataset_problem is None
    assert page.plan.dataset is not None


def test_the_choices_are_remembered(make_window: Callable[..., Window], qtbot: QtBot, job: Job):
    first = make_window()
    plan_page(first).choose_dataset(str(job.dataset_dir))
    ready(qtbot, plan_page(first))
    first.close()
    second = make_window()
    ready(qtbot, plan_page(second))
    assert plan_page(second).plan.dataset_choice == str(job.dataset_dir)


def test_the_word_of_ones_own_pictures_is_shown_and_can_be_changed(window: Window, qtbot: QtBot, job: Job):
    # Symptom: one's own pictures were trained as LoRAnne, and the page did not say so.
    for caption in job.dataset_dir.glob("*.txt"):
        caption.write_text("Glorbix, asleep", encoding="utf-8")
    page = plan_page(window)
    page.choose_dataset(str(job.dataset_dir))
    ready(qtbot, page)
    assert page.run.trigger.text() == "Glorbix"
    qtbot.mouseClick(page.run.trigger, Qt.MouseButton.LeftButton)
    page.run.trigger.selectAll()
    qtbot.keyClicks(page.run.trigger, "Mina")
    qtbot.keyClick(page.run.trigger, Qt.Key.Key_Return)
    QApplication.processEvents()
    shown = [label.text() for label in page.findChildren(Label) if label.isVisible()]
    assert "2 of 2 captions do not contain Mina" in shown
    assert any("“Mina, waving" in text for text in shown)
    assert page.plan.job().profile.dataset.trigger == "Mina"
    qtbot.keyClick(page.run.trigger, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(page.run.trigger, Qt.Key.Key_Delete)
    qtbot.keyClick(page.run.trigger, Qt.Key.Key_Return)
    assert page.run.trigger.text() == "Glorbix"


def test_a_word_half_typed_is_used_by_the_start_and_forgotten_with_its_pictures(window: Window, qtbot: QtBot, job: Job):
    page = plan_page(window)
    page.choose_dataset(str(job.dataset_dir))
    ready(qtbot, page)
    page.start_asked.disconnect()
    page.run.trigger.setFocus()
    page.run.trigger.setText("Mina")
    with qtbot.waitSignal(page.start_asked) as asked:
        page._on_start()
    assert asked.args is not None
    assert asked.args[0].profile.dataset.trigger == "Mina"
    page.run.trigger.setText("Mina again")
    page.choose_dataset("demo:rolwayne")
    ready(qtbot, page)
    assert page.plan.trigger_choice == "" and page.run.trigger.text() == "Rolwayne"


def test_start_runs_the_trainer_to_its_end(window: Window, qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]):
    fake_trainer("")
    page = plan_page(window)
    page.choose_dataset(str(job.dataset_dir))
    page.run.steps.setValue(3)
    ready(qtbot, page)
    qtbot.mouseClick(page.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.session is not None, timeout=WAIT_MS)
    session = window.session
    assert session is not None
    assert window.run_place.currentWidget() is live_page(window)
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert "Training finished" in banner_text(window)
    assert session.root.parent.name == "runs"
    assert (session.root / "run.json").is_file()
    assert live_page(window).header.new_run.isVisible()
    assert not live_page(window).header.stop.isVisible()


def test_stop_asks_first_and_the_safe_button_has_the_focus(
    window: Window, qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("slow")
    window.start_run(long_job)
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.model.step > 1, timeout=WAIT_MS)
    live = live_page(window)
    qtbot.mouseClick(live.header.stop, Qt.MouseButton.LeftButton)
    assert "Stop this run?" in banner_text(window)
    assert not any(sign.isdigit() for sign in banner_text(window)), "the run goes on meanwhile, a number would be wrong"
    buttons = {b.accessibleName(): b for b in live.notice.findChildren(QPushButton)}
    assert live.notice.window().focusWidget() is buttons["Keep training"]
    qtbot.mouseClick(buttons["Keep training"], Qt.MouseButton.LeftButton)
    assert banner_text(window) == ""
    assert not session.model.stop_asked
    qtbot.mouseClick(live.header.stop, Qt.MouseButton.LeftButton)
    buttons = {b.accessibleName(): b for b in live.notice.findChildren(QPushButton)}
    with qtbot.waitSignal(session.ended, timeout=WAIT_MS):
        qtbot.mouseClick(buttons["Stop and save"], Qt.MouseButton.LeftButton)
        assert session.model.phase_words == "Stopping after this step"
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "stopped"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_trainer_shows_the_crashed_face(
    window: Window, qtbot: QtBot, job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("endless")
    window.start_run(job)
    session = window.session
    assert session is not None
    assert session.child is not None
    qtbot.waitUntil(lambda: bool(session.model.losses.held_out), timeout=WAIT_MS)
    os.kill(session.child.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert "The trainer crashed" in banner_text(window)
    assert "kept" in banner_text(window)
    assert live_page(window).header.chip.text == "Crashed"


def test_a_failure_shows_sentence_and_hint_and_hides_the_detail(window: Window, qtbot: QtBot, tmp_path: Path):
    window.open_run(recorded.run_folder(tmp_path / "run", end="failed").root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    assert "The disk is full" in banner_text(window)
    assert "files from step 200 are good" in banner_text(window)
    detail = live_page(window).findChild(DetailCard)
    assert detail is not None
    assert not detail.view.isVisible()
    qtbot.mouseClick(detail.fold, Qt.MouseButton.LeftButton)
    assert detail.view.isVisible()
    assert "No space left on device" in detail.report


def test_a_run_left_in_the_background_is_paused_and_stopped_from_a_window_that_opens_on_it(
    window: Window, qtbot: QtBot, long_job: Job
):
    # Symptom: the buttons of such a run were off, and it could only be ended by the system.
    with trainer(long_job, deeds="slow") as child:
        child.wait_for("step")
        window.open_run(long_job.run_dir)
        session, live = window.session, window.run_place.live
        assert session is not None
        qtbot.waitUntil(lambda: session.model.step > 0, timeout=WAIT_MS)
        qtbot.mouseClick(live.header.pause, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: live.header.chip.text == "Paused", timeout=WAIT_MS)
        assert live.header.pause.accessibleName() == "Go on" and not live.header.save.isEnabled()
        session.stop()
        messages, code = child.finish()
        assert code == 0 and isinstance(messages[-1], Stopped)
        qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.outcome is not None and session.model.outcome.kind == "stopped"


def test_tiles_chart_and_devices_show_the_run(window: Window, qtbot: QtBot, tmp_path: Path):
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    live = live_page(window)
    assert live.tiles.seen.value.text() == "600"
    assert live.tiles.held_out.context.text() == "37 % below the start"
    assert "never trained on" in live.tiles.held_out.toolTip()
    unmeasured = RunModel()
    unmeasured.feed(Step(step=1, num_steps=9, loss=0.1, learning_rate=1e-4, seconds=1.0, eta_s=8.0))
    tiles = RunTiles()
    tiles.show_model(unmeasured, compact=False)
    assert tiles.held_out.context.text() == "not measured in this run"
    window.resize(1100, 720)
    # Symptom: in a narrow window the loss of a run that had ended was "still falling".
    qtbot.waitUntil(lambda: live.compact and live.tiles.loss.context.text() == "down 5 %", timeout=WAIT_MS)
    assert live.tiles.held_out.context.text() == "37 % below the start"
    assert live.tiles.rate.value.text() == "0.002"
    assert live.tiles.rate.context.text() == "constant"
    assert [card.accessibleName().split(":")[0] for card in live._device_cards] == [
        "GPU 0 RTX 4070 Ti SUPER",
        "GPU 1 RTX 3060",
    ]
    assert "Smoothed loss" in live.loss.chart.accessibleDescription()


@pytest.mark.parametrize(("rate", "told"), [(8.22e-8, "≈ 0"), (0.0005, "0.0005"), (0.0, "0")])
def test_a_learning_rate_next_to_nothing_is_no_row_of_noughts(qtbot: QtBot, tmp_path: Path, rate: float, told: str):
    # Symptom: a run that ended well had a learning rate of 0.0000000822.
    model, tiles = RunModel(recorded.job(tmp_path / "run")), RunTiles()
    qtbot.addWidget(tiles)
    model.feed(Step(step=300, num_steps=300, loss=0.1, learning_rate=rate, seconds=1.0, eta_s=0.0, devices=()))
    tiles.show_model(model, compact=False)
    assert tiles.rate.value.text() == told


def test_the_traffic_of_the_links_is_shown_while_a_run_goes_on(window: Window, qtbot: QtBot, tmp_path: Path):
    window.run_place.show_report(rigs.report())
    window.open_run(recorded.run_folder(tmp_path / "run", end="running").root)
    live = live_page(window)
    qtbot.waitUntil(lambda: window.session is not None and window.session.model.step > 0, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: window.watch.watches_links, timeout=WAIT_MS)
    assert not live.links.isVisible()
    readings = tuple(Traffic(index=index, bytes_per_s=0.4e9 * (index + 1)) for index in (0, 1))
    window.run_place.show_vitals(
        Vitals(cards=(), cpu_load=0.0, ram_used_bytes=1, ram_total_bytes=2, traffic=readings),
    )
    assert live.links.isVisible()
    assert live.links.accessibleName().startswith("GPU 0 4.0 × ")
    assert "0.8 of " in live.links.accessibleName()
    session = window.session
    assert session is not None
    session.model.end(Outcome(kind="stopped", sentence="", step=1))
    live.refresh()
    assert not live.links.isVisible(), "what goes over them later is not the run's"


def test_the_log_is_searched_with_the_keyboard(window: Window, qtbot: QtBot, tmp_path: Path):
    window.open_run(recorded.run_folder(tmp_path / "run", end="done").root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    live = live_page(window)
    qtbot.waitUntil(lambda: "held-out loss" in live.log._view.toPlainText(), timeout=WAIT_MS)
    view, search = live.log._view, live.log.search
    window.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert search.line.hasFocus() and not search.before.isVisible()
    qtbot.keyClicks(search.line, "HELD-out")
    number = view.toPlainText().count("held-out")
    assert number > 1 and search.found.text() == f"{number} of {number}", "the newest is found first"
    newest = view.textCursor().position()
    qtbot.keyClick(search.line, Qt.Key.Key_Return)
    assert search.found.text() == f"{number - 1} of {number}"
    assert view.textCursor().position() < newest
    qtbot.keyClick(search.line, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert view.textCursor().position() == newest
    live.session.model.write_log("held-out once more")
    live.refresh()
    assert search.found.text() == f"{number} of {number + 1}"
    assert view.textCursor().position() == newest, "what is logged meanwhile does not take the place away"
    qtbot.keyClicks(search.line, " that is nowhere")
    assert search.found.text() == "not there" and not search.before.isEnabled()
    qtbot.keyClick(search.line, Qt.Key.Key_Escape)
    assert not search.found.text() and not view.extraSelections()


# Symptom: "Open file" opened an empty file, as a run that has nothing to complain of prints nothing.
def test_the_file_of_the_log_is_opened_only_where_something_is_in_it(window: Window, qtbot: QtBot, tmp_path: Path):
    root = recorded.run_folder(tmp_path / "run", end="done").root
    window.open_run(root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    live = live_page(window)
    assert live.log.open_file.isEnabled()
    (root / "log.txt").write_bytes(b"")
    live.refresh()
    assert not live.log.open_file.isEnabled()
    assert "nothing so far" in live.log.open_file.toolTip()


@pytest.mark.parametrize(
    ("log", "full_log", "opened"), [("a word", "more", "log.txt"), ("", "a word", "log.1.txt"), ("", "", "")]
)
def test_the_banner_of_a_failed_run_opens_a_log_that_has_words_or_none(
    log: str, full_log: str, opened: str, window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Symptom: "Open log" of a run that had failed opened an empty file.
    root = recorded.run_folder(tmp_path / "run", end="failed", upto=20).root
    (root / "log.txt").write_text(log, encoding="utf-8")
    (root / "log.1.txt").write_text(full_log, encoding="utf-8")
    urls: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: urls.append(url.fileName()))
    window.open_run(root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    live = live_page(window)
    qtbot.waitUntil(lambda: bool(live.notice.findChildren(Banner)), timeout=WAIT_MS)
    for button in live.notice.findChildren(Button):
        if button.accessibleName() == "Open log":
            button.click()
    assert urls == ([opened] if opened else [])


def test_a_folder_that_holds_no_run_is_said_in_a_banner(window: Window, tmp_path: Path):
    window.open_run(tmp_path)
    texts = [label.text() for banner in window.findChildren(Banner) for label in banner.findChildren(Label)]
    assert any("not a run folder" in text for text in texts)
    assert window.session is None


def test_a_run_is_planned_with_the_own_dataset_that_was_opened_last(window: Window, qtbot: QtBot, job: Job):
    # Symptom: somebody who came with a folder of their own got the demo set, which was planned with once.
    page = plan_page(window)
    page.choose_dataset("demo:rolwayne")
    ready(qtbot, page)
    window.go("datasets")
    datasets = window.place("datasets")
    assert isinstance(datasets, DatasetsPage)
    datasets.choose(str(job.dataset_dir))
    qtbot.waitUntil(lambda: bool(window.preferences.opened_dataset), timeout=WAIT_MS)
    window.use_profile("pocket-demo")
    ready(qtbot, page)
    assert page.plan.dataset_choice == str(job.dataset_dir)
    page.picks.dataset_chosen.emit("demo:loranne")
    window.go("datasets")
    window.use_profile("pocket-demo")
    assert page.plan.dataset_choice == "demo:loranne", "what was chosen in the plan since then stays"


def test_the_time_of_a_run_is_told_by_earlier_ones(window: Window, qtbot: QtBot, home: Path):
    page = plan_page(window)
    ready(qtbot, page)

    def time_told() -> str:
        labels = [label.text() for label in page.run.findChildren(Label)]
        return labels[labels.index("Time") + 1] if "Time" in labels else ""

    page.forecaster.close()
    page.plan.memory, page.plan.has_no_card = ForecastStatus(), True
    page._show()
    assert time_told() == "about 5 min on two cores"
    recorded.run_folder(home / "runs" / "2026-01-02-100000-pocket-demo", end="done")
    page._look_back()
    qtbot.waitUntil(lambda: time_told() == "about 2 min, as before", timeout=WAIT_MS)


def test_the_menus_of_a_plan_mark_its_choices_and_begin_with_the_own_datasets(window: Window, job: Job):
    window.preferences.remember_folder(str(job.dataset_dir))
    page = plan_page(window)
    page.choose_dataset("demo:rolwayne")
    for pick, wanted in ((page.picks.dataset, "Rolwayne demo set"), (page.picks.profile, page.plan.profile)):
        title = wanted if isinstance(wanted, str) or wanted is None else wanted.title
        pick.menu.aboutToShow.emit()
        assert [action.text() for action in pick.menu.actions() if action.isChecked()] == [title]
    names = [action.text() for action in page.picks.dataset.menu.actions()]
    assert names.index(job.dataset_dir.name) < names.index("LoRAnne demo set")
