"""The Rig place: cards that nobody here owns, the real speed test, and a report that names nobody."""

import getpass
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.support import rigs

from diffusionforce.gui.pages.rig import RigPage
from diffusionforce.gui.rig_watch import Vitals
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.notices import Finding
from diffusionforce.job import Job
from diffusionforce.rig import Reading, last_speed_test

WAIT_MS = 120_000


def page_of(window: Window, qtbot: QtBot) -> RigPage:
    window.go("rig")
    page = window.place("rig")
    assert isinstance(page, RigPage)
    qtbot.waitUntil(lambda: window.watch.report is not None and page._stack.currentIndex() == 1, timeout=WAIT_MS)
    return page


def with_cards(window: Window, qtbot: QtBot) -> RigPage:
    page = window.place("rig")
    assert isinstance(page, RigPage)
    page._asked = True  # Else this machine is looked at once more, and takes the place of the other.
    page = page_of(window, qtbot)
    page.test = rigs.speed_test()
    window.watch.report = rigs.report()
    page._on_examined(rigs.report())
    qtbot.wait(50)
    return page


def test_cards_links_and_advice_are_shown(window: Window, qtbot: QtBot):
    page = with_cards(window, qtbot)
    assert [view.accessibleName() for view in page.graphics] == ["GPU 0 RTX 4070 Ti SUPER", "GPU 1 RTX 3060"]
    assert "GPU 1 RTX 3060: 3.0 × 4 · 3.4 GB/s, card could do × 16" in page.map.accessibleDescription()
    advice = [finding.accessibleName() for finding in page.findChildren(Finding) if finding.isVisible()]
    assert any("is connected by 4 of its 16 PCIe lanes" in words for words in advice)
    assert any("computes at 44 % of GPU 0" in words for words in advice)
    fine = [label.accessibleName() for label in page.findChildren(Label) if label.accessibleName().startswith("Fine")]
    assert any("581.29" in words for words in fine)
    severities = [words.partition(":")[0] for words in advice]
    order = ["Problem", "Worth fixing", "Good to know"]
    assert severities == sorted(severities, key=order.index)
    shown = {label.text() for label in page.speed.findChildren(Label)}
    assert {"81 TFLOPS", "3.4 GB/s"} <= shown


def test_memory_and_temperature_follow_the_readings(window: Window, qtbot: QtBot):
    page = with_cards(window, qtbot)
    reading = Reading(
        index=1,
        uuid="GPU-b",
        used_bytes=8 * rigs.GIB,
        total_bytes=12 * rigs.GIB,
        load=0.9,
        temperature_c=71.0,
        power_w=1,
    )
    vitals = Vitals(cards=(reading,), cpu_load=0.1, ram_used_bytes=1, ram_total_bytes=2)
    page._on_read(vitals)
    assert page.graphics[1].memory.text() == "8.0 / 12 GB used" and page.graphics[1].temperature.text() == "71 °C"
    assert page.graphics[0].temperature.text() == "38 °C"


def test_the_real_speed_test_runs_and_is_remembered(window: Window, qtbot: QtBot, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    page = page_of(window, qtbot)
    assert page.speed.note.text() == ""
    qtbot.mouseClick(page.measure, Qt.MouseButton.LeftButton)
    assert page.speed.is_running and not page.measure.isEnabled()
    qtbot.waitUntil(lambda: page.test is not None, timeout=WAIT_MS)
    assert page.test == last_speed_test() and page.measure.isEnabled()
    assert "GFLOPS" in " ".join(finding.accessibleName() for finding in page.findChildren(Finding))


def test_a_test_can_be_cancelled_and_a_failure_is_said(window: Window, qtbot: QtBot, monkeypatch):
    page = page_of(window, qtbot)
    page.speed.start()
    page.speed.cancel()
    assert not page.speed.is_running and page.test is None
    monkeypatch.setattr("diffusionforce.gui.pages.rig_speed.MODULE", "diffusionforce.no_such_module")
    page.speed.start()
    qtbot.waitUntil(lambda: not page.speed.is_running, timeout=WAIT_MS)
    assert page.speed._problem.count() == 1


def test_nothing_is_measured_while_a_run_goes_on(
    window: Window, qtbot: QtBot, long_job: Job, fake_trainer: Callable[[str], None]
):
    fake_trainer("slow")
    page = page_of(window, qtbot)
    window.start_run(long_job)
    window.go("rig")
    assert not page.measure.isEnabled() and "slowed down" in page.measure.toolTip()


def test_the_report_can_be_copied_and_names_nobody(window: Window, qtbot: QtBot, home: Path):
    page = with_cards(window, qtbot)
    qtbot.mouseClick(page.copy, Qt.MouseButton.LeftButton)
    text = QApplication.clipboard().text()
    assert "GPU 1: NVIDIA GeForce RTX 3060" in text and "measured: 36.0 TFLOPS" in text
    user = getpass.getuser()
    assert user == "root" or user not in text
