"""One setting in a form: label, whether it differs, the field, and a line that says what the value means.

The line shows what is wrong, what is unusual, or the consequence, in this order. Which kind of field it is follows
from the kind of the setting.
"""

from collections.abc import Mapping

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QMenu, QPlainTextEdit, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.setting_fields import NotReadableError, SettingField, read, written
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.chip import Chip
from diffusionforce.gui.widgets.labels import Elided, Icon, Label, set_property
from diffusionforce.gui.widgets.layout import column, holder, row
from diffusionforce.gui.widgets.toggle import Toggle

UNDO_KEYS, REDO_KEYS = "Ctrl+Z", ("Ctrl+Shift+Z", "Ctrl+Y")
FIELD_PX, HEAD_PX = 32, 22
LINE_PX = 17
MIN_LINES, MAX_LINES = 2, 10
MIN_WIDTH_PX = 150


def is_undo(event: QEvent) -> bool:
    """Tell whether a field is asked to keep a key for itself with which the form undoes or does again."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    is_ours = QKeySequence(event.keyCombination()).toString() in {UNDO_KEYS, *REDO_KEYS}
    if is_ours:
        event.ignore()
    return is_ours


class LineField(QLineEdit):
    """One line of text, with a unit behind it; the up and down keys step a number."""

    left = Signal()

    def __init__(self, field: SettingField) -> None:
        super().__init__()
        self._field = field
        self._unit = QLabel(tr(field.words.unit), self)
        self._unit.setProperty("role", "muted")
        self._unit.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._unit.setVisible(bool(field.words.unit))
        self.setFixedHeight(FIELD_PX)
        self.editingFinished.connect(self.left)
        if field.words.unit:
            self.setTextMargins(0, 0, self._unit.sizeHint().width() + 6, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the unit at the end."""
        super().resizeEvent(event)
        size = self._unit.sizeHint()
        self._unit.setGeometry(self.width() - size.width() - 12, 0, size.width(), self.height())

    def event(self, event: QEvent) -> bool:
        """Leave undo to the form, which knows all fields."""
        return super().event(event) if not is_undo(event) else False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step a number with the up and down keys; leave everything else to the line."""
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()), 0)
        if not steps or self._field.kind not in {"whole", "number"} or self.isReadOnly():
            super().keyPressEvent(event)
            return
        try:
            value = read(self._field, self.text())
        except NotReadableError:
            return
        step = self._field.multiple_of or _step_of(value, whole=self._field.kind == "whole")
        new = value + steps * step
        self.setText(written(self._field, int(new) if self._field.kind == "whole" else round(new, 12)))
        self.textEdited.emit(self.text())


class ChoiceField(QComboBox):
    """A choice that the mouse wheel leaves alone, because it scrolls the page."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll."""
        event.ignore()


class TextField(QPlainTextEdit):
    """Several lines; Tab leaves it, and it grows with what stands in it."""

    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._height_px = 0
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.textChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        # A line that is broken counts as often as it is; before the first layout that is not known.
        wrapped = int(self.document().size().height()) if self.isVisible() else self.document().blockCount()
        height_px = min(MAX_LINES, max(MIN_LINES, wrapped)) * LINE_PX + 10
        if height_px != self._height_px:
            self._height_px = height_px
            # The style sheet of the application sets a smallest height, over whatever a widget says itself.
            self.setStyleSheet(f"min-height: {height_px}px; max-height: {height_px}px;")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit to lines that break elsewhere now."""
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """Leave undo to the form, which knows all fields."""
        return super().event(event) if not is_undo(event) else False

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell that the edit is over."""
        super().focusOutEvent(event)
        self.left.emit()


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
        self.note = Elided("", "muted")
        foot = row(self._icon, (self.note, 1), gap=6)
        self.setLayout(column(head, self.control, 1, foot, gap=3))
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


def _step_of(value: float, *, whole: bool) -> float:
    """Return a step that changes a number by about a tenth."""
    if whole:
        return 10 ** max(0, len(str(abs(int(value)))) - 2)
    size = 1e-6
    while size * 100 <= abs(value):
        size *= 10
    return size


def _tip(field: SettingField) -> str:
    lines = [field.help, field.range_words and f"{tr('Allowed')}: {field.range_words}", field.name]
    return "\n".join(filter(None, lines))
