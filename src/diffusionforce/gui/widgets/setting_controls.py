"""The fields that a setting is typed into or chosen in: a line, a choice, several lines."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPlainTextEdit

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.setting_fields import NotReadableError, SettingField, read, written

UNDO_KEYS, REDO_KEYS = "Ctrl+Z", ("Ctrl+Shift+Z", "Ctrl+Y")
FIELD_PX = 32
LINE_PX = 17
MIN_LINES, MAX_LINES = 2, 10


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


def _step_of(value: float, *, whole: bool) -> float:
    """Return a step that changes a number by about a tenth."""
    if whole:
        return 10 ** max(0, len(str(abs(int(value)))) - 2)
    size = 1e-6
    while size * 100 <= abs(value):
        size *= 10
    return size
