"""The form of a profile: a card for each table, fields in columns, and what is rarely changed folded under Advanced.

A field costs some milliseconds, and there are fifty. So they are built in pieces, from the top of the page down; what
is on its way comes within the time in which one looks.
"""

from collections.abc import Iterator, Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.profile_draft import ProfileDraft
from diffusionforce.gui.model.profile_texts import fields_by_name
from diffusionforce.gui.model.setting_fields import SettingField
from diffusionforce.gui.model.setting_notes import note
from diffusionforce.gui.model.setting_words import SECTIONS
from diffusionforce.gui.pieces import Pieces
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import column, holder
from diffusionforce.gui.widgets.notices import Empty
from diffusionforce.gui.widgets.setting_box import SettingBox
from diffusionforce.wire.forecast import Forecast

COLUMNS = 3
# Below this width three columns leave no room for the words under a field.
NARROW_PX = 620


class FieldGrid(QGridLayout):
    """Fields in columns; wide ones take a row."""

    def __init__(self) -> None:
        super().__init__()
        self.setHorizontalSpacing(16)
        self.setVerticalSpacing(10)
        self._shown: list[SettingBox] = []
        self._fillers: list[QWidget] = []
        self._columns = self._at = 0

    def arrange(self, boxes: list[SettingBox], columns: int) -> None:
        """Put boxes into the grid, and only those."""
        num_there = len(self._shown)
        if columns != self._columns or boxes[:num_there] != self._shown:
            self._begin(columns)
            num_there = 0
        self._shown = list(boxes)
        for box in boxes[num_there:]:
            if box.is_wide and self._at % columns:
                self._at += columns - self._at % columns
            span = columns if box.is_wide else 1
            self.addWidget(box, self._at // columns, self._at % columns, 1, span)
            self._at += span
        self._fill_up()

    def _fill_up(self) -> None:
        """Keep columns without a field as wide as others, so that the fields of all cards stand under each other."""
        self._drop_fillers()
        for at in range(self._at, self._columns if self._shown else 0):
            filler = QWidget()
            filler.setFixedHeight(0)
            self._fillers.append(filler)
            self.addWidget(filler, 0, at)

    def _drop_fillers(self) -> None:
        for filler in self._fillers:
            self.removeWidget(filler)
            filler.deleteLater()
        self._fillers = []

    def _begin(self, columns: int) -> None:
        self._drop_fillers()
        self._columns, self._at = columns, 0
        while self.count():
            self.takeAt(0)
        for i in range(COLUMNS):
            self.setColumnStretch(i, 1 if i < columns else 0)


class ProfileForm(QWidget):
    """Shows a draft; reports what is typed.

    Attributes:
        boxes: The fields that were built. The advanced ones are three of four, and built when somebody unfolds them.
    """

    completed = Signal()
    """Every field that is to be in sight is built."""

    edited = Signal(str, str)
    left = Signal(str)
    reset_asked = Signal(str)

    def __init__(self, families: Mapping[str, str]) -> None:
        """Build the form.

        Args:
            families: Families of models and what people call them.
        """
        super().__init__()
        self.setObjectName("clear")
        self._columns, self._wanted = COLUMNS, ""
        self._families = families
        # The title stands over the form, and is changed by renaming.
        self._fields = {name: field for name, field in fields_by_name().items() if name != "title"}
        self.boxes: dict[str, SettingBox] = {}
        self._draft: ProfileDraft | None = None
        self._forecast: Forecast | None = None
        self._can_edit = False
        self._changed: set[str] = set()
        self._cards = {section: Card(title, gap=8) for section, title in SECTIONS.items()}
        self._grids = {section: FieldGrid() for section in SECTIONS}
        self._folded_titles = {section: Label(title, "caption") for section, title in SECTIONS.items()}
        self._folded_grids = {section: FieldGrid() for section in SECTIONS}
        self.fold = Button("Show", "chev-right", kind="ghost", size="small")
        self.fold.setCheckable(True)
        self.fold.clicked.connect(self._on_fold)
        self._advanced = self._advanced_card()
        self.nothing = Empty("search", "No setting is called that", "Try another word: lr, vram, cfg, seed.")
        self.nothing.hide()
        self._pieces = Pieces(self)
        self._pieces.turned.connect(self._arrange)
        self._pieces.finished.connect(self.completed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        for section, card in self._cards.items():
            card.add(self._grids[section])
            layout.addWidget(card)
        layout.addWidget(self._advanced)
        layout.addWidget(self.nothing, 1)
        layout.addStretch(1)
        self._arrange()

    def _advanced_card(self) -> Card:
        card = Card("Advanced", gap=8)
        card.header.addWidget(self.fold)
        body = column(gap=8)
        for section in SECTIONS:
            self._folded_titles[section].setContentsMargins(0, 6, 0, 0)
            body.addWidget(self._folded_titles[section])
            body.addLayout(self._folded_grids[section])
        self._advanced_body = holder(body)
        return card.add(self._advanced_body)

    def _box(self, name: str) -> SettingBox:
        """Return a field, built when it is first needed, and showing the draft."""
        if name not in self.boxes:
            field = self._fields[name]
            box = self.boxes[name] = SettingBox(field, choices=_choices(field, self._families))
            box.setParent(self)
            box.edited.connect(self.edited)
            box.left.connect(self.left)
            box.reset_asked.connect(self.reset_asked)
            if self._draft is not None:
                self._show_box(box, self._draft)
        return self.boxes[name]

    def look_for(self, wanted: str) -> None:
        """Leave only the settings in sight that somebody looks for."""
        self._wanted = wanted.strip()
        self._arrange()

    def set_folded(self, folded: bool) -> None:
        """Fold the advanced settings, or show them."""
        self.fold.setChecked(not folded)
        self._on_fold()

    @property
    def is_folded(self) -> bool:
        """Whether the advanced settings are folded."""
        return not self.fold.isChecked()

    def set_narrow(self, narrow: bool) -> None:
        """Use fewer columns in a narrow window."""
        self._columns = COLUMNS - 1 if narrow else COLUMNS
        self._arrange()

    def _on_fold(self) -> None:
        shown = self.fold.isChecked()
        self.fold.set_text(tr("Hide") if shown else tr("Show"), icon="chev-down" if shown else "chev-right")
        self.fold.setAccessibleName(tr("Hide the advanced settings") if shown else tr("Show the advanced settings"))
        self._arrange()

    @property
    def _is_open(self) -> bool:
        return self.fold.isChecked() or bool(self._wanted)

    def _found(self) -> list[SettingField]:
        """Return the settings that are looked for; all where nothing is."""
        return [field for field in self._fields.values() if not self._wanted or field.matches(self._wanted)]

    def _to_show(self) -> list[str]:
        return [field.name for field in self._found() if field.words.essential or self._is_open]

    @property
    def is_complete(self) -> bool:
        """Whether every field that is to be in sight is built."""
        return next(self._lacking(), None) is None

    def _lacking(self) -> Iterator[str]:
        return (name for name in self._to_show() if name not in self.boxes)

    def _build_lacking(self) -> Iterator[None]:
        """Build what is to be in sight, which may become more or less while it is built."""
        while (name := next(self._lacking(), None)) is not None:
            self._box(name)
            yield

    def _arrange(self) -> None:
        """Place the fields that are built, and have those built that lack."""
        found, is_open = self._found(), self._is_open
        wanted = self._to_show()
        shown = {name: self.boxes[name] for name in wanted if name in self.boxes}
        if len(shown) < len(wanted) and self._pieces.is_complete:
            self._pieces.start(self._build_lacking())
        for name, box in self.boxes.items():
            box.setVisible(name in shown)
        for section in SECTIONS:
            here = [box for box in shown.values() if _section(box.field) == section]
            essential = [box for box in here if box.field.words.essential]
            more = [box for box in here if not box.field.words.essential]
            self._grids[section].arrange(essential, self._columns)
            self._cards[section].setVisible(bool(essential))
            self._folded_grids[section].arrange(more, self._columns)
            self._folded_titles[section].setVisible(bool(more))
        self._advanced.setVisible(any(not field.words.essential for field in found))
        self._advanced_body.setVisible(is_open)
        self.fold.setVisible(not self._wanted)
        self.nothing.setVisible(not found)

    def show_draft(self, draft: ProfileDraft, *, can_edit: bool, forecast: Forecast | None) -> None:
        """Show texts, complaints and consequences of a draft."""
        self._draft, self._can_edit, self._forecast = draft, can_edit, forecast
        self._changed = set(draft.changed)
        for box in self.boxes.values():
            self._show_box(box, draft)
        self._show_advanced(draft)

    def _show_box(self, box: SettingBox, draft: ProfileDraft) -> None:
        name = box.field.name
        box.show_text(draft.text(name))
        box.allow(self._can_edit)
        box.show_state(
            problem=draft.problems.get(name, ""),
            caution=draft.cautions.get(name, ""),
            note=tr(note(box.field, draft.profile, self._forecast, original=draft.original)),
            changed_from=_in_words(box.field, draft.original_text(name)) if name in self._changed else None,
        )

    def _show_advanced(self, draft: ProfileDraft) -> None:
        names = [name for name, field in self._fields.items() if not field.words.essential]
        usual = sum(_is_default(self._fields[name], draft) for name in names)
        own = len(names) - usual
        said = tr("{number} settings, all at their defaults") if not own else tr("{number} settings, {own} set")
        wrong = sum(name in draft.problems for name in names)
        if wrong:
            said = tr("{number} settings, {wrong} to fix")
        said = said.format(number=len(names), own=own, wrong=wrong)
        self._advanced.note.set_text(said, tone="err" if wrong else "")

    def focus_on(self, name: str) -> None:
        """Bring a setting into sight and put the cursor there."""
        field = self._fields.get(name)
        if field is None:
            return
        if not field.words.essential and self.is_folded:
            self.set_folded(False)
        self._box(name).control.setFocus()

    def names(self) -> Iterator[str]:
        """Yield the names of the settings in the order of the page."""
        return iter(self._fields)


def _section(field: SettingField) -> str:
    return field.name if field.name in SECTIONS else field.section


def _choices(field: SettingField, families: Mapping[str, str]) -> Mapping[str, str]:
    if field.name == "model.family":
        return dict(sorted(families.items(), key=lambda pair: pair[1].lower()))
    return {value: tr(field.choice_words(value)) for value in field.choices}


def _is_default(field: SettingField, draft: ProfileDraft) -> bool:
    from_model = draft.default_text(field.name)
    return draft.text(field.name) == from_model


def _in_words(field: SettingField, text: str) -> str:
    if field.kind == "switch":
        return tr("On") if text == "true" else tr("Off")
    return tr(field.choice_words(text)) if field.kind == "choice" else text
