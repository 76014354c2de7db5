"""One setting in a form: label, whether it differs, the field, and a line that says what the value means.

The line shows what is wrong, what is unusual, or the consequence, in this order. Which kind of field it is follows
from the kind of the setting.
"""

from collections.abc import Mapping

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QMenu, QPlainTextEdit, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.setting_fields import SettingField
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import Icon, Label, Wrapped, set_property
from diffusionforce.gui.widgets.layout import column, holder, row
from diffusionforce.gui.widgets.setting_controls import FIELD_PX, ChoiceField, LineField, TextField
from diffusionforce.gui.widgets.toggle import Toggle

HEAD_PX = 22
MIN_WIDTH_PX = 150


class SettingBox(QWidget):
    """A setting with its field.

    Attributes:
        field: Which setting.
        control: The widget that is typed into.
    """

    edited = Signal(str, str)
    left = Signal(str)
    reset_asked = Signal(str)

    def __init__(self, field: SettingField, *, choices: Mapping[str, str]) -> None:
        """Make the box.

        Args:
            field: The setting.
            choices: Values and their words, for a choice.
        """
        super().__init__()
        self.setObjectName("clear")
        self.field = field
        self._is_showing = False
        self.control = self._make_control(choices)
        self.control.setAccessibleName(tr(field.words.label))
        self.control.setToolTip(_tip(field))
        self.control.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.control.customContextMenuRequested.connect(self._open_menu)
        label = Label(tr(field.words.label), "small")
        label.setBuddy(self.control)
        label.setToolTip(_tip(field))
        self.chip = Chip(tr("changed"), "accent")
        self.chip.hide()
        self.reset = Button("", "undo", kind="ghost", size="small", tip="Take the built-in value again")
        self.reset.setAccessibleName(f"{tr('Take the built-in value again')}: {tr(field.words.label)}")
        self.reset.setProperty("scale", "tiny")
        self.reset.clicked.connect(lambda: self.reset_asked.emit(field.name))
        self.reset.hide()
        head = holder(row(label, self.chip, None, self.reset, gap=8))
        # As high with the chip as without, so that nothing jumps when it comes.
        head.setFixedHeight(HEAD_PX)
        self._icon = Icon("err", "err", 14)
        self._icon.hide()
        self.note = Wrapped("", "muted")
        foot = row(gap=6)
        foot.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        foot.addWidget(self.note, 1)
        # Beside a field whose words take two lines this one keeps its own together at the top.
        self.setLayout(column(head, self.control, 1, foot, None, gap=3))
        self.setMinimumWidth(MIN_WIDTH_PX)

    @property
    def is_wide(self) -> bool:
        """Whether it takes the whole width of a form."""
        return self.field.kind in {"lines", "pairs", "options"} or self.field.name == "description"

    def _make_control(self, choices: Mapping[str, str]) -> QWidget:
        match self.field.kind:
            case "switch":
                return self._make_switch()
            case "choice":
                return self._make_choice(choices)
            case "lines" | "pairs" | "options":
                return self._make_text()
            case "text" if self.is_wide:
                return self._make_text()
            case _:
                line = LineField(self.field)
                line.textEdited.connect(self._on_edited)
                line.left.connect(lambda: self.left.emit(self.field.name))
                return line

    def _make_switch(self) -> QWidget:
        toggle = Toggle(tr(self.field.words.label))
        toggle.clicked.connect(lambda on: self._on_chosen("true" if on else "false"))
        return toggle

    def _make_choice(self, choices: Mapping[str, str]) -> QWidget:
        box = ChoiceField()
        box.setFixedHeight(FIELD_PX)
        # As wide as its column, not as its longest word.
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(6)
        for value, words in choices.items():
            box.addItem(words, value)
        box.activated.connect(lambda: self._on_chosen(str(box.currentData())))
        return box

    def _make_text(self) -> QWidget:
        text = TextField()
        if self.field.kind == "options":
            text.setObjectName("detail")
        text.textChanged.connect(lambda: self._on_edited(text.toPlainText()))
        text.left.connect(lambda: self.left.emit(self.field.name))
        return text

    def _on_edited(self, text: str) -> None:
        if not self._is_showing:
            self.edited.emit(self.field.name, text)

    def _on_chosen(self, text: str) -> None:
        self.edited.emit(self.field.name, text)
        self.left.emit(self.field.name)

    def show_text(self, text: str) -> None:
        """Show a text that was not typed here; the cursor stays where somebody types."""
        self._is_showing = True
        match self.control:
            case Toggle():
                self.control.setChecked(text == "true")
            case QComboBox():
                self._show_choice(self.control, text)
            case QPlainTextEdit():
                if self.control.toPlainText() != text:
                    self.control.setPlainText(text)
            case QLineEdit():
                if self.control.text() != text:
                    self.control.setText(text)
                    self.control.setCursorPosition(0)
        self._is_showing = False

    @staticmethod
    def _show_choice(box: QComboBox, value: str) -> None:
        if box.findData(value) < 0:
            box.addItem(value, value)
        box.setCurrentIndex(box.findData(value))

    def show_state(self, *, problem: str, caution: str, note: str, changed_from: str | None) -> None:
        """Show what is wrong, unusual or meant, and whether the value differs from the built-in one.

        Args:
            problem: What is wrong with the value; empty for nothing.
            caution: What is unusual about it.
            note: What it means.
            changed_from: The built-in value in words where this one differs; None where it does not.
        """
        tone = "err" if problem else "warn" if caution else ""
        self._icon.setVisible(bool(tone))
        self._icon.set(tone or "info", tone or "text3")
        said = problem or caution or note
        self.note.set_text(said, tone=tone)
        self.control.setAccessibleDescription(said)
        set_property(self.control, "error", "1" if problem else "")
        self.chip.setVisible(changed_from is not None)
        self.reset.setVisible(changed_from is not None and self.control.isEnabled())
        if changed_from is not None:
            self.chip.setToolTip(tr("Built-in value: {value}").format(value=changed_from or tr("empty")))

    def allow(self, allowed: bool) -> None:
        """Let it be typed into, or only be read."""
        if isinstance(self.control, QLineEdit | QPlainTextEdit):
            self.control.setReadOnly(not allowed)
            set_property(self.control, "locked", "" if allowed else "1")
        else:
            self.control.setEnabled(allowed)

    def _open_menu(self) -> None:
        control = self.control
        is_text = isinstance(control, QLineEdit | QPlainTextEdit)
        menu = control.createStandardContextMenu() if is_text else QMenu(self)
        menu.addSeparator()
        action = menu.addAction(tr("Take the built-in value again"))
        action.setEnabled(not self.reset.isHidden())
        action.triggered.connect(lambda: self.reset_asked.emit(self.field.name))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.control.mapToGlobal(self.control.rect().bottomLeft()))

    def changeEvent(self, event: QEvent) -> None:
        """Show again how the way back looks when the field is switched on or off."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange:
            self.reset.setVisible(not self.chip.isHidden() and self.isEnabled())


def _tip(field: SettingField) -> str:
    lines = [tr(field.help), field.range_words and f"{tr('Allowed')}: {field.range_words}", field.name]
    return "\n".join(filter(None, lines))
