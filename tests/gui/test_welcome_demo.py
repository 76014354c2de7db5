"""The demo of the first steps by itself: what stands beside its button."""

from pytestqt.qtbot import QtBot

from diffusionforce.gui.pages.welcome_demo import DemoStep
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.labels import Label


def told(step: DemoStep) -> list[str]:
    return [label.text() for label in step.findChildren(Label) if not label.isHidden()]


# Symptom: the reason why the button was off was only in its tool tip.
def test_why_the_demo_cannot_be_started_stands_beside_its_button(qtbot: QtBot):
    step = DemoStep(PictureStore())
    qtbot.addWidget(step)
    assert "A run is going on." not in told(step)
    step.allow(False, reason="A run is going on.")
    assert "A run is going on." in told(step)
    assert not step.start.isEnabled()
    step.allow(True, reason="A run is going on.")
    assert "A run is going on." not in told(step)
