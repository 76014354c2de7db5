"""A finding as a row of a list: what it is, which files, and the buttons that help. It is as high as its words need."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from diffusionforce.gui.model.dataset_table import FindingLine
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Icon, Wrapped
from diffusionforce.gui.widgets.layout import add, column, row
from diffusionforce.gui.widgets.notices import SEVERITIES

ROW_PX = 52


class FindingRow(QWidget):
    """One kind of finding."""

    repair_asked = Signal()
    show_asked = Signal()

    def __init__(self, line: FindingLine, *, action: str = "") -> None:
        """Show a line; `action` names its repair, empty for none."""
        super().__init__()
        self.setObjectName("clear")
        self.line = line
        heading, text = tr(line.heading), line.text
        self.setAccessibleName(f"{tr(SEVERITIES[line.tone])}: {heading}. {text}")
        self.show_files = Button("Show", size="small")
        self.show_files.setAccessibleName(tr(f"Show: {line.heading}"))
        self.show_files.clicked.connect(self.show_asked)
        self.repair = Button(action, size="small")
        self.repair.setAccessibleName(f"{action}: {line.heading}")
        if not action:
            # Shown before it has a parent, it would be a window of its own for a moment.
            self.repair.hide()
        self.repair.clicked.connect(self.repair_asked)
        layout = row(gap=10, margins=(0, 7, 0, 7))
        layout.addWidget(Icon(line.tone, line.tone, 18), 0, Qt.AlignmentFlag.AlignTop)
        add(layout, (column(Wrapped(heading, "strong"), Wrapped(text, "small"), None, gap=1), 1))
        for button in (self.show_files, self.repair):
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(layout)
        self.setMinimumHeight(ROW_PX)
