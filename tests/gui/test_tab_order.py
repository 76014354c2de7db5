"""Tab goes through the window as it is laid out, also through what came later; arrow keys go through the places."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from diffusionforce.errors import UserError
from diffusionforce.gui.model.readiness import ReadinessView
from diffusionforce.gui.shell import Window

WAIT_MS = 20_000


def stops(window: Window, qtbot: QtBot) -> list[QWidget]:
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
    window.setFocus()
    found: list[QWidget] = []
    while True:
        qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        here = QApplication.focusWidget()
        assert here is not None
        if here in found:
            return found
        found.append(here)


def test_a_banner_that_came_later_is_visited_where_it_stands(window: Window, qtbot: QtBot):
    # Symptom: its button was the last of all stops.
    plan = window.run_place.plan
    plan.choose_profile("klein-9b-1024")
    problem = UserError("The engine is not installed.")
    plan.plan.readiness = ReadinessView(lack="engine", problem=problem)
    plan.notices.show_plan(plan.plan)
    QApplication.processEvents()
    names = [widget.accessibleName() for widget in stops(window, qtbot)]
    picks = next(index for index, name in enumerate(names) if name.startswith("Output"))
    assert picks < names.index("Install the engine") < names.index("Steps of this run")
    assert names[0] == "Run", "the places are one stop"
    assert "Datasets" not in names


def test_what_is_visited_stands_from_left_to_right_and_from_top_to_bottom(window: Window, qtbot: QtBot):
    window.go("settings")
    window.place("settings")
    QApplication.processEvents()
    places = [widget.mapTo(window, QPoint(0, widget.height() // 2)) for widget in stops(window, qtbot)]
    assert len(places) > 5
    rows = [place.y() for place in places[1:]]
    assert rows == sorted(rows)


def test_tab_goes_back_too(window: Window, qtbot: QtBot):
    found = stops(window, qtbot)
    qtbot.keyClick(found[0], Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    assert QApplication.focusWidget() is found[-1]


def test_arrow_keys_go_from_place_to_place(window: Window, qtbot: QtBot):
    first = stops(window, qtbot)[0]
    first.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(first, Qt.Key.Key_Down)
    assert window.sidebar.item("datasets").isChecked()
    assert QApplication.focusWidget() is window.sidebar.item("datasets")
