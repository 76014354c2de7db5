"""Starting a run again from its own page: with what would help, or shared out by what it taught."""

import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui.model import again
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.pages.run_notice import RunNotice
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.job import Job, read_job
from diffusionforce.runs import RunFolder, manifest_of, write_checkpoint
from diffusionforce.wire import Compared, Done, Failed, JobChange, Stopped

WAIT_MS = 60_000
CHANGES = tuple(
    JobChange(words=f"rank {rank} in place of 16 (fits as split)", settings={"lora.rank": rank}) for rank in (8, 4, 2)
)


def buttons(notice: RunNotice) -> list[Button]:
    return [one for one in notice.findChildren(Button) if one.accessibleName().startswith("Start again")]


def shown(qtbot: QtBot, *messages: Compared | Done | Failed | Stopped) -> RunNotice:
    notice, model = RunNotice(), RunModel()
    qtbot.addWidget(notice)
    for message in messages:
        model.feed(message)
    notice.show_model(model, compact=False)
    return notice


def test_what_would_help_is_a_button_that_gives_its_settings(qtbot: QtBot):
    notice = shown(qtbot, Failed(sentence="GPU 1 ran out of memory.", step=3, changes=CHANGES))
    found = buttons(notice)
    assert [one.accessibleName() for one in found] == [
        "Start again: rank 8 in place of 16",
        "Start again: rank 4 in place of 16",
    ]
    with qtbot.waitSignal(notice.again_asked) as caught:
        qtbot.mouseClick(found[1], Qt.MouseButton.LeftButton)
    assert caught.args == [{"lora.rank": 4}]


def test_a_run_that_was_not_as_forecast_may_be_started_again_as_measured(qtbot: QtBot):
    far, near = (
        Compared(step=2, devices=(), seen_s=2.0, causes=("Steps take longer.",)),
        Compared(step=2, devices=(), seen_s=1.0),
    )
    ends = (Stopped(step=3), Done(step=9, lora="a", seconds=9))
    for end in ends:
        assert [one.accessibleName() for one in buttons(shown(qtbot, far, end))] == [again.REBALANCE]
        assert not buttons(shown(qtbot, near, end)) and not buttons(shown(qtbot, end))


def test_the_job_is_the_runs_with_the_change_and_a_folder_of_its_own(tmp_path: Path, home: Path):
    folder = recorded.run_folder(tmp_path / "run", end="done")
    before = read_job(folder.job_path)
    job = again.job_again(folder.root, {"lora.rank": 4})
    assert job.profile.lora.rank == 4 and job.run_dir != folder.root and job.dataset_dir == before.dataset_dir
    assert again.job_again(folder.root, {}).profile == before.profile


def test_a_run_is_stopped_and_started_again_when_it_is_to_be_rebalanced(
    window: Window, qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("slow")
    window.start_run(long_job)
    first, live = window.session, window.run_place.live
    assert first is not None
    qtbot.waitUntil(lambda: first.model.step > 0, timeout=WAIT_MS)
    assert not live.measured.rebalance.isVisibleTo(live.measured), "nothing was learnt yet"
    first.model.feed(Compared(step=2, devices=(), seen_s=2.0, causes=("Steps take longer.",)))
    live.refresh()
    assert live.measured.rebalance.isVisibleTo(live.measured)
    live.measured.rebalance.click()
    qtbot.waitUntil(lambda: window.session is not first, timeout=WAIT_MS)
    second = window.session
    assert second is not None and first.model.outcome is not None and first.model.outcome.kind == "stopped"
    assert second.root != first.root
    assert read_job(RunFolder(first.root).job_path).profile == long_job.profile
    qtbot.waitUntil(lambda: second.model.step > 0, timeout=WAIT_MS)
    second.stop()
    qtbot.waitUntil(lambda: second.is_over, timeout=WAIT_MS)


def test_a_run_that_ended_early_goes_on_from_its_page_and_says_from_where(
    window: Window, qtbot: QtBot, tmp_path: Path, fake_trainer: Callable[[str], None]
):
    folder = recorded.run_folder(tmp_path / "run", end="stopped", upto=120)
    state = folder.checkpoints_dir / "a_step_000100-state"
    write_checkpoint(state, manifest_of(recorded.job(folder.root), step=100), {"state.safetensors": b""})
    fake_trainer("slow")
    window.open_run(folder.root)
    first, live = window.session, window.run_place.live

    def offered() -> list[Button]:
        return [one for one in live.notice.findChildren(Button) if one.accessibleName() == "Continue from step 100"]

    qtbot.waitUntil(lambda: bool(offered()), timeout=WAIT_MS)
    qtbot.mouseClick(offered()[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.session is not first, timeout=WAIT_MS)
    second = window.session
    assert second is not None and second is not first and second.root != folder.root
    assert second.model.job is not None and second.model.job.resume == state
    live.refresh()
    assert "continues from step 100" in live.header.note.toolTip() + live.header.note.text()
    assert any(label.text() == "Step 100 of 300" for label in live.notice.findChildren(Label))
    second.end_by_force()
    qtbot.waitUntil(lambda: second.is_over, timeout=WAIT_MS)


def test_a_run_that_is_done_or_saved_nothing_does_not_go_on(tmp_path: Path):
    model = RunModel(recorded.job(tmp_path))
    model.feed(Stopped(step=3))
    assert again.continuation(model, tmp_path) is None
    write_checkpoint(
        tmp_path / "checkpoints" / "a_step_000100-state",
        manifest_of(recorded.job(tmp_path), step=100),
        {"state.safetensors": b""},
    )
    assert again.continuation(model, tmp_path) is not None
    done = RunModel(recorded.job(tmp_path))
    done.feed(Done(step=300, lora="a", seconds=9))
    assert again.continuation(done, tmp_path) is None


def test_a_run_whose_folder_is_gone_says_so_where_it_is_seen(window: Window, qtbot: QtBot, tmp_path: Path):
    # Symptom: "Start again" did nothing that anybody saw; the reason stood in the log alone.
    folder = recorded.run_folder(tmp_path / "run", end="failed")
    window.open_run(folder.root)
    qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    shutil.rmtree(folder.root)
    window.run_place.live.notice.again_asked.emit({})
    banner = window.notices.findChild(Banner)
    assert banner is not None and banner.property("tone") == "err" and banner.isVisible()
