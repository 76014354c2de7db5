"""What keeps a run from going on stands above its progress, and goes when it goes on."""

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.pages.run_notice import RunNotice
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.wire import Paused, Stalled, Stopped


def test_trouble_is_shown_once_and_taken_back(qtbot: QtBot):
    notice, model = RunNotice(), RunModel()
    qtbot.addWidget(notice)

    def shown() -> list[str]:
        notice.show_model(model, compact=False)
        qtbot.wait(1)  # What was taken away goes in a turn of its own.
        return [banner.accessibleName() for banner in notice.findChildren(Banner)]

    assert shown() == []
    model.feed(Stalled(stalled=True, sentence="Step 3 has made no progress for 50 s.", hint="Where: log.txt."))
    assert shown() == ["The run seems to hang Step 3 has made no progress for 50 s. Where: log.txt."]
    assert len(shown()) == 1
    model.feed(Stalled(stalled=False, sentence="Step 3 goes on after 60 s without progress."))
    assert shown() == []
    model.feed(Paused(paused=True, sentence="The disk is nearly full: 3 MB free.", hint="Free 9 MB."))
    assert shown() == ["The run waits The disk is nearly full: 3 MB free. Free 9 MB."]
    notice.reset()
    model = RunModel()
    assert shown() == []


def test_ending_by_force_is_offered_once_a_stop_takes_too_long(qtbot: QtBot):
    notice, model = RunNotice(), RunModel()
    qtbot.addWidget(notice)
    model.stop_asked = True
    notice.show_model(model, compact=False)
    assert not notice.findChildren(Banner)
    model.stop_overdue = True
    for _ in range(2):
        notice.show_model(model, compact=False)
    (force,) = [one for one in notice.findChildren(Button) if one.accessibleName() == "End it now"]
    with qtbot.waitSignal(notice.force_confirmed, timeout=1000):
        qtbot.mouseClick(force, Qt.MouseButton.LeftButton)
    assert not force.isEnabled()
    model.feed(Stopped(step=3))
    notice.show_model(model, compact=False)
    qtbot.wait(1)
    assert [one.title.text() for one in notice.findChildren(Banner)] == [model.outcome.title if model.outcome else ""]
