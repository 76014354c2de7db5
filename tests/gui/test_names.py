"""Names that are too long for their place: what tells one from another stays in sight."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from diffusionforce.gui.model import language
from diffusionforce.gui.model.devices import DeviceView
from diffusionforce.gui.model.language import unbroken
from diffusionforce.gui.pages.run_tiles import RunTiles
from diffusionforce.gui.widgets.bars import MemoryBar, ProgressBar
from diffusionforce.gui.widgets.device_card import DeviceCard
from diffusionforce.gui.widgets.labels import Elided
from diffusionforce.gui.widgets.list_item import ITEM_PX, LINE_PX, ListItem
from diffusionforce.wire import DeviceReading

ITEM_WIDTH_PX = 180


@pytest.fixture
def around(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(600, 400)
    made.show()
    return made


def shown(name: str, around: QWidget) -> ListItem:
    item = ListItem(name, "needs a graphics card", mark="lock", wraps=True)
    item.setParent(around)
    item.resize(ITEM_WIDTH_PX, item.height())
    item.show()
    return item


# Symptom: in a small window the last two were both "FLUX.2 Klein 9B, 1024 …".
@pytest.mark.parametrize(
    "name", ["Gouache_landscapes_by_the_sea", "FLUX.2 Klein 9B, 1024 px", "FLUX.2 Klein 9B, 1024 px, mine"]
)
def test_a_long_name_takes_a_second_line(name: str, around: QWidget):
    item = shown(name, around)
    first, second = item.name_lines()
    assert second
    assert f"{first}{second}".replace(" ", "") == unbroken(name).replace(" ", "")
    assert item.height() == ITEM_PX + LINE_PX


def test_a_short_name_takes_one_line(around: QWidget):
    item = shown("Pocket demo", around)
    assert item.name_lines() == ("Pocket demo", "")
    assert item.height() == ITEM_PX


def test_the_longest_names_keep_their_end(around: QWidget):
    item = shown("A profile of mine with a name as long as names may ever become, number " + "7", around)
    first, second = item.name_lines()
    assert first.startswith("A profile")
    assert second.endswith("number 7")
    assert "…" in second


def test_a_name_goes_back_to_one_line_where_there_is_room(around: QWidget):
    item = shown("FLUX.2 Klein 9B, 1024 px, mine", around)
    item.resize(400, item.height())
    assert item.name_lines()[1] == ""
    assert item.height() == ITEM_PX


# Symptom: a screen reader said "Progress 99%", "CPU memory 3% used" and "Busy 98 %" in a German window.
def test_progress_and_devices_are_spoken_in_the_language_of_the_window(qtbot: QtBot):
    language.use("de")
    try:
        bar = ProgressBar()
        bar.show_share(0.99)
        view = DeviceView(index=0, device="cpu", label="CPU", total_bytes=100 << 30, peak_bytes=4 << 30)
        view.reading = DeviceReading(device="cpu", memory_bytes=3 << 30)
        card = DeviceCard(view, fallback_total_bytes=1)
        for widget in (bar, card):
            qtbot.addWidget(widget)
        assert bar.accessibleName() == "Fortschritt 99 %"
        assert [bar.accessibleName() for bar in card.findChildren(MemoryBar)] == ["Speicher von CPU: 3 % belegt"]
        assert "Spitze 4" in card.accessibleName()
        assert "Peak" not in card.accessibleName()
    finally:
        language.use("en")


# Symptom: "Verlust auf Zurückgehalte…" and "Prozessor, 1 von 2 Kern…" in a window of 1100 pixels.
def test_german_names_fit_into_a_narrow_run_page(qtbot: QtBot):
    language.use("de")
    try:
        view = DeviceView(index=0, device="cpu", label="CPU", name="Processor, 1 of 2 cores", total_bytes=235 << 27)
        view.reading = DeviceReading(device="cpu", memory_bytes=6 << 27)
        tiles, card = RunTiles(), DeviceCard(view, fallback_total_bytes=1)
        for widget, width_px in ((tiles, 988), (card, 316)):
            qtbot.addWidget(widget)
            widget.resize(width_px, 100)
            widget.grab()  # Lays it out.
        names = [tiles.held_out.name, *card.findChildren(Elided)]
        assert [name.shown() for name in names] == ["Verlust, zurückgehalten", "Prozessor, 1/2 Kerne"]
    finally:
        language.use("en")
