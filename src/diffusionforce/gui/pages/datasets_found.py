"""What was found about the chosen file, each finding with its repair."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from diffusionforce.datasets.findings import KINDS
from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model.dataset_table import TONES, FindingLine, Row
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import add, clear, column, row


class FoundPart(QWidget):
    """Lists the findings of one file."""

    def __init__(self, desk: DatasetDesk) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._desk = desk
        self._found = column(gap=8)
        self.setLayout(self._found)

    def show_row(self, shown: Row) -> None:
        """Show the findings of another file, or the same one anew."""
        clear(self._found)
        for finding in shown.findings:
            kind = KINDS[finding.what]
            tone = TONES[kind.group]
            text = Label(f"{tr(finding.note or kind.heading(1))}. {tr(kind.meaning)}", "small", wrap=True)
            line = row(gap=8)
            line.addWidget(Icon(tone, tone, 16), 0, Qt.AlignmentFlag.AlignTop)
            add(line, (text, 1))
            parts = [line]
            if self._desk.can_repair and kind.repair and kind.repair != "write_caption":
                button = Button(kind.action, size="small")
                button.setAccessibleName(f"{kind.action}: {shown.path.name}")
                found = FindingLine(kind=kind, rows=(shown,), findings=(finding,))
                button.clicked.connect(lambda _checked=False, found=found: self._desk.repair(found))
                parts.append(row(24, button, None, gap=0))
            self._found.addLayout(column(*parts, gap=6))
        self.setVisible(bool(shown.findings))
