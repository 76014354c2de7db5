"""Pieces are built between the turns of the event loop, or at once for somebody who needs them now."""

import time
from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pages.welcome import WelcomePage
from diffusionforce.gui.pieces import BUILD_S, IN_SIGHT, Pieces
from diffusionforce.gui.shell import Window

NUM_PIECES = 12


def slow_pieces(built: list[int], *, in_sight_after: int = 0) -> Iterator[bool | None]:
    """Build pieces of which each takes all the time of a turn."""
    for number in range(1, NUM_PIECES + 1):
        time.sleep(BUILD_S)
        built.append(number)
        yield IN_SIGHT if number == in_sight_after else None


def test_the_event_loop_turns_between_two_pieces(qtbot: QtBot):
    parent, built, seen = QObject(), [], []
    pieces = Pieces(parent)
    pieces.turned.connect(lambda: QTimer.singleShot(0, parent, lambda: seen.append(len(built))))
    with qtbot.waitSignal(pieces.finished):
        pieces.start(slow_pieces(built))
        assert not built and not pieces.is_complete
    assert pieces.is_complete and len(built) == NUM_PIECES
    assert len(set(seen)) > NUM_PIECES / 2, "somebody else had a turn in between"


def test_what_is_needed_now_is_built_at_once(qtbot: QtBot):
    parent, built = QObject(), []
    pieces = Pieces(parent)
    pieces.start(slow_pieces(built, in_sight_after=3))
    pieces.finish_sight()
    assert built == [1, 2, 3] and not pieces.is_complete
    with qtbot.waitSignal(pieces.finished):
        pieces.finish()
    assert len(built) == NUM_PIECES


def test_a_piece_that_asks_for_the_rest_does_not_build_it_twice(qtbot: QtBot):
    parent, built = QObject(), []
    pieces = Pieces(parent)

    def asking() -> Iterator[None]:
        built.append("first")
        pieces.finish()
        yield
        built.append("second")

    with qtbot.waitSignal(pieces.finished):
        pieces.start(asking())
    assert built == ["first", "second"]


class SlowPage(Page):
    """A page that is not built in one turn."""

    def __init__(self) -> None:
        super().__init__()
        self.built: list[int] = []
        self.told: list[str] = []

    def build(self) -> Iterator[bool | None]:
        """Build nothing to be seen."""
        yield from slow_pieces(self.built)

    def shown(self) -> None:
        """Remember it."""
        self.told.append("shown")


def test_what_is_asked_of_a_page_waits_until_it_is_complete(window: Window, qtbot: QtBot):
    page = SlowPage()
    window.places.addWidget(page)
    window.places.setCurrentWidget(page)
    page.when_complete(lambda: page.told.append(f"asked of {len(page.built)}"))
    page.opened()
    assert 0 < len(page.built) < NUM_PIECES and not page.told
    qtbot.waitUntil(lambda: page.is_complete)
    assert page.told == [f"asked of {NUM_PIECES}", "shown"]


def test_somebody_new_waits_for_the_first_step_alone(window: Window, qtbot: QtBot):
    # The other steps were built before the window came, and nobody sees them then.
    window.hide()
    window.go("welcome")
    page = window.places.currentWidget()
    assert isinstance(page, WelcomePage) and not page.is_complete
    assert page.rig.setup.steps is not None, "what is in sight is there"
    window.show()
    qtbot.waitUntil(lambda: page.is_complete)


def test_a_window_closes_while_a_place_is_built(window: Window, qtbot: QtBot):
    for key in ("datasets", "settings", "environment", "gallery", "welcome"):
        window.go(key)
    window.resize(1100, 720)
    assert window.close()
    qtbot.wait(50)
