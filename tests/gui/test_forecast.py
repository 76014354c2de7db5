"""The forecast in the plan: made in the background, shown, refused, given up, never in the way."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.conftest import Foretold
from tests.support import forecasts

from diffusionforce import wire
from diffusionforce.gui import forecaster, standby, theme, tokens
from diffusionforce.gui.pages.run_forecast import FORMER
from diffusionforce.gui.pages.run_plan import RunPlanPage
from diffusionforce.gui.rig_watch import Vitals
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.block_strip import BlockStrip
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.need_bar import NeedBarView, base_colour, fill_colour
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.gui.widgets.way_row import WayRow
from diffusionforce.rig import Reading
from diffusionforce.wire import Failed

WAIT_MS = 30_000


@pytest.fixture
def page(window: Window) -> RunPlanPage:
    return window.run_place.plan


def settle(qtbot: QtBot, page: RunPlanPage) -> None:
    """Wait until the dataset is read and the forecast has come, or has failed."""

    def is_settled() -> bool:
        status = page.forecaster.status
        return page.plan.dataset is not None and (status.current is not None or status.problem is not None)

    qtbot.waitUntil(is_settled, timeout=WAIT_MS)
    QApplication.processEvents()


def visible_texts(page: RunPlanPage) -> list[str]:
    return [label.text() for label in page.findChildren(Label) if label.isVisible()]


def bars(page: RunPlanPage) -> list[NeedBarView]:
    return [bar for bar in page.findChildren(NeedBarView) if bar.isVisible()]


def rows(page: RunPlanPage) -> list[WayRow]:
    return [row for row in page.findChildren(WayRow) if row.isVisible()]


def vitals(*used_gib: float) -> Vitals:
    cards = tuple(
        Reading(
            index=i,
            uuid=str(i),
            used_bytes=forecasts.gib(used),
            total_bytes=forecasts.gib(16),
            load=0.0,
            temperature_c=None,
            power_w=None,
        )
        for i, used in enumerate(used_gib)
    )
    return Vitals(cards=cards, cpu_load=0.0, ram_used_bytes=1, ram_total_bytes=2)


def test_the_plan_shows_what_each_card_will_hold_and_the_ways(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    settle(qtbot, page)
    assert [bar.accessibleName().split(":")[0] for bar in bars(page)] == [
        "GPU 0 RTX 5080 · 16 GB",
        "GPU 1 RTX 4060 Ti 16 GB",
        "RAM 64 GB",
    ]
    assert "Weights 11.20 GB" in bars(page)[0].toolTip()
    assert "13.4 GB needed · 512 MB to spare" in visible_texts(page)
    assert [row.line.is_recommended for row in rows(page)] == [True, False, False, False]
    assert page.forecast.cut.bar.accessibleDescription().startswith("GPU 0 · 24 blocks. GPU 1 · 16 blocks.")
    assert not page.findChildren(BlockStrip), "the bar with the cut shows the same"
    assert page.start.isEnabled()
    assert len(foretold.job_files) == 1


def test_the_words_of_a_way_are_whole_in_a_narrow_window(page: RunPlanPage, window: Window, qtbot: QtBot):
    # Symptom: "bf16, 4 micr…" beside a bar that says less than the seconds over it.
    settle(qtbot, page)
    window.resize(1100, 720)

    def are_whole() -> bool:
        labels = [label for row in rows(page) for label in row.findChildren(Elided)]
        return all(label.fontMetrics().horizontalAdvance(label.text()) <= label.width() for label in labels)

    qtbot.waitUntil(are_whole, timeout=WAIT_MS)


def test_the_phases_can_be_switched_with_mouse_and_keys(page: RunPlanPage, qtbot: QtBot):
    settle(qtbot, page)
    assert page.forecast.phase == "training"
    segments = {b.text(): b for b in page.forecast.phases._group.buttons()}
    qtbot.mouseClick(segments["Preparing"], Qt.MouseButton.LeftButton)
    QApplication.processEvents()
    assert page.forecast.phase == "caching"
    assert bars(page)[1].accessibleName().endswith("not used")
    segments["Preparing"].setFocus()
    qtbot.keyClick(segments["Preparing"], Qt.Key.Key_Right)
    assert page.forecast.phase == "training"


def test_ways_with_other_weights_unfold(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    eight_bits = forecasts.way("split", weights="fp8", step_s=2.8, needs=(9, 9), blocks=(20, 20))
    foretold.say(forecasts.forecast(ways=(*forecasts.forecast().ways, eight_bits)))
    settle(qtbot, page)
    assert len(rows(page)) == 4
    qtbot.mouseClick(page.ways._fold, Qt.MouseButton.LeftButton)
    QApplication.processEvents()
    assert len(rows(page)) == 5
    qtbot.mouseClick(page.ways._fold, Qt.MouseButton.LeftButton)
    QApplication.processEvents()
    assert len(rows(page)) == 4


def test_only_phases_that_were_forecast_can_be_chosen(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    told = forecasts.forecast()
    foretold.say(told.model_copy(update={"phases": told.phases[1:2]}))
    settle(qtbot, page)
    assert not page.forecast.phases.isVisible()
    foretold.say(told.model_copy(update={"phases": told.phases[1:]}))
    page.choose_dataset("demo:rolwayne")
    settle(qtbot, page)
    assert [b.text() for b in page.forecast.phases._group.buttons() if b.isVisible()] == ["Training", "Previews"]


def test_what_does_not_fit_cannot_start_and_says_what_would_help(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    foretold.say(forecasts.refused())
    settle(qtbot, page)
    assert not page.start.isEnabled()
    assert "needs 3.0 GB more" in page.start.toolTip()
    notice = " ".join(banner.accessibleName() for banner in page.findChildren(Banner) if banner.isVisible())
    assert "Training would run out of memory" in notice
    assert "Choose fp8 weights" in notice
    assert "Does not fit" in page.forecast._chip.text
    asked: list[object] = []
    page.start_asked.connect(asked.append)
    page._on_start()  # What the shortcut does.
    assert asked == []


def test_the_start_does_not_wait_for_the_forecast(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    foretold.delay_s = 60
    qtbot.waitUntil(lambda: bool(foretold.job_files), timeout=WAIT_MS)
    assert page.start.isEnabled()
    assert page.forecast._chip.text == "Checking"
    assert "Working out the memory" in visible_texts(page)


def test_a_forecast_that_fails_says_why_and_can_be_tried_again(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    foretold.say(Failed(sentence="The weights are not on this computer.", hint="Download them first."))
    settle(qtbot, page)
    assert "The weights are not on this computer. Download them first." in visible_texts(page)
    assert page.start.isEnabled()
    foretold.say(forecasts.forecast())
    qtbot.mouseClick(page.forecast._retry, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.forecaster.status.current is not None, timeout=WAIT_MS)
    assert bars(page)
    assert len(foretold.job_files) == 2


def test_a_process_that_says_nothing_is_a_failure(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    foretold.say("")
    settle(qtbot, page)
    assert any("ended without an answer" in text for text in visible_texts(page))


def test_a_program_that_cannot_be_started_is_a_failure(
    page: RunPlanPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(forecaster, "forecast_command", lambda _job: ["/nowhere/at/all"])
    settle(qtbot, page)
    assert any("could not start the forecast" in text for text in visible_texts(page))


def test_a_process_that_never_answers_is_given_up(
    page: RunPlanPage, qtbot: QtBot, foretold: Foretold, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(forecaster, "LIMIT_S", 0.5)
    foretold.delay_s = 60
    settle(qtbot, page)
    assert any("was given up" in text for text in visible_texts(page))
    assert children() == []


def children() -> list[psutil.Process]:
    """Return the forecasting processes of this test."""
    me = psutil.Process()
    return [child for child in me.children() if "fake_forecasting" in " ".join(child.cmdline())]


def test_another_choice_ends_the_process_of_the_former_one(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    foretold.delay_s = 60
    qtbot.waitUntil(lambda: len(children()) == 1, timeout=WAIT_MS)
    (former,) = children()
    foretold.delay_s = 0
    page.choose_dataset("demo:rolwayne")
    assert not former.is_running()
    settle(qtbot, page)
    assert len(foretold.job_files) == 2
    assert not foretold.job_files[0].parent.exists(), "its job file goes with it"


def test_a_burst_of_choices_starts_one_process(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    settle(qtbot, page)
    for choice in ("demo:rolwayne", "demo:loranne", "demo:rolwayne"):
        page.choose_dataset(choice)
        qtbot.wait(30)
    settle(qtbot, page)
    assert len(foretold.job_files) == 2


def test_a_choice_that_was_seen_before_is_shown_at_once(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    page.choose_dataset("demo:loranne")
    settle(qtbot, page)
    page.choose_dataset("demo:rolwayne")
    settle(qtbot, page)
    page.choose_dataset("demo:loranne")
    qtbot.waitUntil(lambda: page.plan.dataset is not None, timeout=WAIT_MS)
    assert page.forecaster.status.current is not None
    assert len(foretold.job_files) == 2


def test_the_former_forecast_stays_in_sight_while_another_is_made(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    settle(qtbot, page)
    foretold.delay_s = 60
    page.choose_dataset("demo:rolwayne")
    QApplication.processEvents()
    assert len(bars(page)) == 3
    qtbot.waitUntil(lambda: len(foretold.job_files) == 2, timeout=WAIT_MS)
    assert len(bars(page)) == 3
    assert page.forecast._chip.text == "Checking"
    assert FORMER in visible_texts(page)
    assert not any("Every phase fits" in text for text in visible_texts(page))


def test_steps_keep_the_forecast_and_memory_of_others_changes_it(
    window: Window, page: RunPlanPage, qtbot: QtBot, foretold: Foretold
):
    window.watch.read.disconnect()  # What this machine really has would come in between.
    window.watch.examined.disconnect()
    place = window.run_place
    place.show_vitals(vitals(1.0, 0.2))
    settle(qtbot, page)
    begun = len(foretold.job_files)
    page.run.steps.setValue(17)
    place.show_vitals(vitals(1.3, 0.2))
    qtbot.wait(forecaster.DEBOUNCE_MS + 100)
    assert len(foretold.job_files) == begun
    place.show_vitals(vitals(6.0, 0.2))
    assert page.forecaster.status.is_checking
    settle(qtbot, page)
    assert len(foretold.job_files) == begun + 1


def test_a_page_that_is_hidden_has_no_forecast_made(
    page: RunPlanPage, window: Window, qtbot: QtBot, foretold: Foretold
):
    foretold.delay_s = 60
    qtbot.waitUntil(lambda: len(children()) == 1, timeout=WAIT_MS)
    window.go("rig")
    assert children() == []
    window.run_place.show_vitals(vitals(6.0))
    qtbot.wait(forecaster.DEBOUNCE_MS + 100)
    assert children() == []
    foretold.delay_s = 0
    window.go("run")
    settle(qtbot, page)
    assert len(foretold.job_files) == 2


def test_closing_the_window_ends_the_process(make_window: Callable[..., Window], qtbot: QtBot, foretold: Foretold):
    foretold.delay_s = 60
    window = make_window()
    qtbot.waitUntil(lambda: len(children()) == 1, timeout=WAIT_MS)
    window.close()
    assert children() == []
    assert not foretold.job_files[0].exists()


def test_a_model_that_cannot_train_here_is_forecast_all_the_same(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    page.choose_profile("klein-9b-1024")
    page.choose_dataset("demo:loranne")
    settle(qtbot, page)
    assert bars(page)
    assert not page.start.isEnabled()


def test_the_window_stays_quick_while_forecasts_come_and_go(page: RunPlanPage, qtbot: QtBot, foretold: Foretold):
    settle(qtbot, page)
    turns_s: list[float] = []
    for i in range(30):
        began_s = time.thread_time()  # Of this thread alone, whatever else the machine does.
        page.look_at_cards([(0, forecasts.gib(i % 2 * 4)), (1, 0)])
        page.forecast._on_phase(i % 3)
        page.grab()
        turns_s.append(time.thread_time() - began_s)
        qtbot.wait(5)
    median_s = sorted(turns_s)[len(turns_s) // 2]
    sys.stdout.write(f"a choice and its picture: median {median_s * 1e3:.1f} ms, worst {max(turns_s) * 1e3:.1f} ms\n")
    assert median_s < 0.1


def test_the_place_of_a_new_run_is_claimed_when_it_starts(
    window: Window, qtbot: QtBot, home: Path, fake_trainer: Callable[[str], None]
):
    # Symptom: two windows that started in the same second trained into one folder.
    fake_trainer("")
    page = window.run_place.plan
    settle(qtbot, page)
    page.run.steps.setValue(12)
    suggested = page.plan.output_dir
    suggested.mkdir(parents=True)  # Somebody else was faster.
    (suggested / "theirs.txt").write_text("x", encoding="utf-8")
    job = page.plan.job()
    window.start_run(job)
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.root.parent == home / "runs"
    assert session.root != suggested
    assert (session.root / "run.json").is_file()
    assert [path.name for path in suggested.iterdir()] == ["theirs.txt"]


def test_a_place_that_cannot_be_made_is_said_in_a_banner(window: Window, qtbot: QtBot, home: Path):
    page = window.run_place.plan
    settle(qtbot, page)
    job = page.plan.job()
    home.rename(home.with_name("gone"))
    home.write_text("a file where the data folder should be", encoding="utf-8")
    window.start_run(job)
    assert window.session is None
    assert any("home" in banner.accessibleName() for banner in window.findChildren(Banner))
    home.unlink()
    home.with_name("gone").rename(home)


def test_a_job_that_is_refused_leaves_no_folder_behind(
    window: Window, qtbot: QtBot, home: Path, tmp_path: Path, fake_trainer: Callable[[str], None]
):
    fake_trainer("")
    page = window.run_place.plan
    settle(qtbot, page)
    job = page.plan.job().model_copy(update={"dataset_dir": tmp_path / "nowhere"})
    window.start_run(job)
    session = window.session
    assert session is not None
    assert session.root.is_dir(), "its place is claimed"
    qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    assert session.model.outcome is not None
    assert session.model.outcome.kind == "failed"
    assert not (home / "runs").exists()


@pytest.mark.parametrize("choice", ["dark", "light"])
def test_names_in_the_bars_can_be_read(qapp: QApplication, choice: theme.Choice):
    theme.apply(qapp, choice)
    try:
        for index in (0, 1, 2, 3):
            for kind in ("weights", "activations"):
                fill = fill_colour(kind, base_colour(index)).name()
                assert tokens.contrast(tokens.ink_on(fill), fill) >= 4.5, f"{kind} of card {index}"
    finally:
        theme.apply(qapp, "dark")


@pytest.mark.slow
@pytest.mark.parametrize("stays", [False, True])
def test_the_real_process_forecasts_the_demo(
    make_window: Callable[..., Window], qtbot: QtBot, foretold: Foretold, monkeypatch: pytest.MonkeyPatch, stays: bool
):
    if stays:
        monkeypatch.setattr(standby, "may_stand_by", lambda: True)
    else:
        monkeypatch.setattr(forecaster, "forecast_command", wire.forecast_command)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    page = make_window().run_place.plan
    qtbot.waitUntil(lambda: page.forecaster.status.current is not None, timeout=120_000)
    QApplication.processEvents()
    assert bars(page)
    assert all("to spare" in bar.accessibleName() or "not used" in bar.accessibleName() for bar in bars(page))
    assert page.start.isEnabled()
    assert foretold.job_files == []
