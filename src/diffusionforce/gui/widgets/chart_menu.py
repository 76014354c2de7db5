"""What can be done with a chart: a picture or a table of it for a file; over steps also scale and what is in sight."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QBuffer, QByteArray, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QImage, QImageWriter
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from diffusionforce.gui import background
from diffusionforce.gui.model.chart_table import write_file
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.model.step_span import LAST_STEPS
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.step_chart import StepChart

SCALE_KEY = "charts/scale"


class Chart(Protocol):
    """What can be saved of a chart."""

    def picture(self, title: str) -> QImage:
        """Return it under a title."""
        ...

    def table(self) -> str:
        """Return its numbers."""
        ...


class SavingMenu(QMenu):
    """The menu of a chart, and the button that opens it; a right click on the chart opens it, too."""

    saved = Signal(str)
    """A picture or a table lies there now."""

    failed = Signal(object)
    """A `UserError`: it could not be written."""

    def __init__(self, widget: QWidget, chart: Chart, *, name: Callable[[], tuple[str, str]], tip: str) -> None:
        """Make the menu.

        Args:
            widget: Where the chart is seen.
            chart: The chart, which is the widget as a rule.
            name: Returns what a saved chart is called: the title of a picture, and the usual name of a file without
                its ending.
            tip: What the menu is good for.
        """
        super().__init__(widget)
        self._widget, self._saves, self._name = widget, chart, name
        self.save_picture = self._add(tr("Save as a picture"), self._save_picture)
        self.save_table = self._add(tr("Save the numbers as a table"), self._save_table)
        self.button = Button("", "more", kind="ghost", size="small", tip=tip)
        self.button.clicked.connect(self._open_below)
        widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        widget.customContextMenuRequested.connect(lambda at: self.popup(widget.mapToGlobal(at)))

    def _add(
        self, words: str, do: Callable[[], object], *, checkable: bool = False, before: QAction | None = None
    ) -> QAction:
        action = QAction(words, self)
        action.setCheckable(checkable)
        action.triggered.connect(do)
        if before is None:
            self.addAction(action)
        else:
            self.insertAction(before, action)
        return action

    def _open_below(self) -> None:
        corner = self.button.mapToGlobal(QPoint(self.button.width(), self.button.height()))
        self.popup(corner - QPoint(self.sizeHint().width(), 0))

    def _save_picture(self) -> None:
        title, stem = self._name()
        image = self._saves.picture(title)
        self._save(tr("Save the chart"), f"{stem}.png", f"{tr('Pictures')} (*.png)", lambda: _png(image))

    def _save_table(self) -> None:
        _, stem = self._name()
        text = self._saves.table()
        self._save(tr("Save the numbers"), f"{stem}.csv", f"{tr('Tables')} (*.csv)", lambda: text.encode("utf-8"))

    def _save(self, question: str, usual: str, kinds: str, make: Callable[[], bytes]) -> None:
        """Ask where to, and write a file there on a thread."""
        chosen, _ = QFileDialog.getSaveFileName(self._widget, question, str(Path.home() / usual), kinds)
        if not chosen:
            return
        path = Path(chosen) if Path(chosen).suffix else Path(chosen).with_suffix(Path(usual).suffix)
        background.run(
            self, lambda: write_file(path, make()), done=lambda _: self.saved.emit(str(path)), failed=self.failed.emit
        )


class ChartMenu(SavingMenu):
    """The menu of a chart over steps."""

    def __init__(self, chart: StepChart, preferences: Preferences, *, name: Callable[[], tuple[str, str]]) -> None:
        """Make the menu.

        Args:
            chart: Whose it is.
            preferences: Remembers the scale, which is the same for all charts of losses.
            name: See `SavingMenu`.
        """
        super().__init__(chart, chart, name=name, tip=noted("Scale, steps and saving"))
        self._chart, self._preferences = chart, preferences
        first = self.save_picture
        self.log = self._add(tr("Logarithmic scale"), self._on_log, checkable=True, before=first)
        last = tr("The last {number} steps").format(number=LAST_STEPS)
        self.follow = self._add(last, self._on_follow, checkable=True, before=first)
        self.reset = self._add(f"{tr('All steps')}\t0", chart.reset, before=first)
        self.insertSeparator(first)
        chart.looked.connect(self._show)
        self.take_scale()

    def take_scale(self) -> None:
        """Take the scale that was chosen last, for this chart or another."""
        self._chart.set_log(self._preferences.text(SCALE_KEY) == "log")
        self._show()

    def _show(self) -> None:
        self.log.setChecked(self._chart.is_log)
        self.follow.setChecked(self._chart.span.follows)
        self.reset.setEnabled(self._chart.span.is_near)

    def _on_log(self) -> None:
        self._chart.set_log(self.log.isChecked())
        self._preferences.set_text(SCALE_KEY, "log" if self._chart.is_log else "")
        self._preferences.save()

    def _on_follow(self) -> None:
        if self.follow.isChecked():
            self._chart.follow()
        else:
            self._chart.reset()


def _png(image: QImage) -> bytes:
    """Return a picture as a PNG file."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"PNG")).write(image)
    return bytes(buffer.data().data())
