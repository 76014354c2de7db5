"""The main screens look as they were approved: compared with pictures that people have looked at.

Renewed by `python tools/approve.py`, after which the pictures have to be looked at. What is compared are means over
squares of 9 pixels: edges of letters fall otherwise on other machines, which means do not show, while a widget that
is missing or has moved changes many squares.
"""

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from PySide6.QtCore import QBuffer, QIODevice, QPoint, QRect
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot
from tests.gui.test_look import SCREENS, wait_for
from tests.support import rigs

from diffusionforce.gui import background, theme
from diffusionforce.gui.model import language
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.rig_watch import RigWatch, Vitals
from diffusionforce.gui.shell import Window
from diffusionforce.rig import Reading

FOLDER = Path(__file__).parent / "approved"
RENEWED = os.environ.get("DIFFUSIONFORCE_APPROVE", "")
"""A folder to write the pictures to, instead of comparing them."""
SIZE_PX, KEPT_PX = (1440, 900), (640, 400)
SQUARE_PX, KEPT_SQUARE_PX = 9, 4
"""Of the window, and of the picture that is kept of it."""
MOST_LEVELS = 14
"""By which the mean of a square may differ, of 255, in the mean of red, green and blue."""
MOST_SQUARES = 8
"""That may differ by more: a date, but not a button nine pixels away. Paths are left out."""
MOST_BYTES = 60 * 1024
NUM_ALIKE = 4
"""Pictures in a row, a fifth of a second apart, after which nothing is taken to go on any more."""

APPROVED = (
    ("plan", "dark"),
    ("forecast pages", "dark"),
    ("forecast refused", "dark"),
    ("live", "dark"),
    ("done", "dark"),
    ("failed", "dark"),
    ("gallery", "dark"),
    ("compare", "dark"),
    ("broken dataset, captions", "dark"),
    ("broken dataset, shapes", "dark"),
    ("runs side by side", "dark"),
    ("rig", "dark"),
    ("own profile", "dark"),
    ("first steps, demo", "dark"),
    ("environment before", "dark"),
    ("environment on its way", "light"),
    ("forecast fits", "light"),
    ("done", "light"),
    ("gallery", "light"),
    ("rig", "light"),
)


class StillWatch(RigWatch):
    """Sees the same rig at the same moment, always."""

    def start(self) -> None:
        """Tell at once what there is to see."""
        self.report = rigs.report()
        cards = tuple(
            Reading(
                index=card.index,
                uuid=card.uuid,
                used_bytes=card.used_bytes,
                total_bytes=card.total_bytes,
                load=0.1,
                temperature_c=41,
                power_w=25,
            )
            for card in self.report.cards
        )
        gib = 1024**3
        self.vitals = Vitals(cards=cards, cpu_load=0.2, ram_used_bytes=12 * gib, ram_total_bytes=32 * gib)
        self.examined.emit(self.report)
        self.read.emit(self.vitals)

    def examine(self, *, ask_torch: bool) -> None:
        """See what was seen."""


@pytest.fixture
def still_window(qtbot: QtBot, home: Path) -> Iterator[Window]:
    QApplication.setCursorFlashTime(0)
    window = Window(Preferences(home / "window.ini"), watch=StillWatch())
    window.resize(*SIZE_PX)
    window.show()
    qtbot.waitExposed(window)
    yield window
    window.queue.hold(True)
    window.close()
    window.watch.deleteLater()
    window.deleteLater()
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    theme.apply(app, "dark")
    language.use("en")
    assert background.finish(30)
    qtbot.wait(10)


def grabbed(window: Window) -> Image.Image:
    """Return the picture of a window, in less than half its size."""
    # Texts that changed in this turn of the event loop would be cut off: they are laid out in the next.
    QApplication.sendPostedEvents()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    window.grab().save(buffer, "PNG")  # type: ignore[call-overload]
    whole = Image.open(BytesIO(bytes(buffer.data().data()))).convert("RGB")
    # Five bits a colour make the files small. A palette would be wrong where few pixels have a colour of their own.
    return ImageOps.posterize(whole.resize(KEPT_PX, Image.Resampling.BOX), 5)


def settled(window: Window) -> Image.Image:
    """Return the picture of a window in which nothing goes on any more."""
    pictures = [grabbed(window)]

    def is_settled() -> bool:
        pictures.append(grabbed(window))
        # On a busy computer two pictures in a row may be alike before the first answer of a thread has come.
        last = pictures[-NUM_ALIKE:]
        return background.finish(0) and len(last) == NUM_ALIKE and all(picture == last[0] for picture in last)

    wait_for(is_settled, every_ms=200)
    return pictures[-1]


def path_places(window: Window) -> list[QRect]:
    """Return where a path of this test is written, which is another one each time."""
    labels = [label for label in window.findChildren(QLabel) if label.isVisible() and "pytest" in label.text()]
    return [QRect(label.mapTo(window, QPoint(0, 0)), label.size()) for label in labels]


def differing(picture: Image.Image, approved: Image.Image) -> list[tuple[int, int]]:
    """Return where pictures differ: the squares, as positions in the window."""
    size = (KEPT_PX[0] // KEPT_SQUARE_PX, KEPT_PX[1] // KEPT_SQUARE_PX)
    means = [np.asarray(one.resize(size, Image.Resampling.BOX), dtype=float) for one in (picture, approved)]
    levels = np.abs(means[0] - means[1]).mean(axis=2)
    return [(int(x) * SQUARE_PX, int(y) * SQUARE_PX) for y, x in np.argwhere(levels > MOST_LEVELS)]


@pytest.mark.parametrize(("screen", "scheme"), APPROVED)
def test_a_screen_looks_as_approved(screen: str, scheme: theme.Choice, still_window: Window, tmp_path: Path):
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    theme.apply(app, scheme)
    SCREENS[screen](still_window, tmp_path)
    plan = still_window.run_place.plan
    if plan.isVisible():
        wait_for(lambda: not plan.plan.is_checking and not plan.forecaster.status.is_checking)
    name = f"{screen.replace(', ', '-').replace(' ', '-')}-{scheme}.png"
    picture = settled(still_window)
    if RENEWED:
        picture.save(Path(RENEWED) / name, optimize=True)
        pytest.skip("the picture was renewed")
    told = f"look at {tmp_path / name} beside {FOLDER / name}; `python tools/approve.py` renews it"
    picture.save(tmp_path / name)
    places = path_places(still_window)
    squares = [
        square
        for square in differing(picture, Image.open(FOLDER / name))
        if not any(place.adjusted(-SQUARE_PX, -SQUARE_PX, 0, 0).contains(*square) for place in places)
    ]
    assert len(squares) <= MOST_SQUARES, f"{len(squares)} squares differ, the first at {squares[:3]}: {told}"


def test_letters_drawn_otherwise_are_forgiven():
    approved = Image.open(FOLDER / "done-dark.png")
    softer = ImageEnhance.Contrast(approved.filter(ImageFilter.GaussianBlur(0.4))).enhance(1.03)
    assert len(differing(softer, approved)) <= MOST_SQUARES


@pytest.mark.parametrize("moved_px", [9, None])
def test_a_button_that_moved_or_is_missing_is_seen(moved_px: int | None, still_window: Window, tmp_path: Path):
    SCREENS["done"](still_window, tmp_path)
    wait_for(lambda: background.finish(0))
    before = grabbed(still_window)
    button = still_window.run_place.live.header.new_run
    if moved_px is None:
        button.hide()
    else:
        button.move(button.x() - moved_px, button.y())
    assert len(differing(grabbed(still_window), before)) > MOST_SQUARES


def test_approved_pictures_are_small_and_all_in_use():
    names = {f"{screen.replace(', ', '-').replace(' ', '-')}-{scheme}.png" for screen, scheme in APPROVED}
    assert {path.name for path in FOLDER.iterdir()} == names
    assert all(path.stat().st_size < MOST_BYTES for path in FOLDER.iterdir())
