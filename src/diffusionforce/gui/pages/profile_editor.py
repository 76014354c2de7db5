"""One profile: its settings in a form, the forecast that follows them, and the line that saves them."""

from collections.abc import Iterator

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from diffusionforce.gui.forecaster import Forecaster
from diffusionforce.gui.model import forecast_strip
from diffusionforce.gui.model.language import key_names, tr
from diffusionforce.gui.model.profile_draft import ProfileDraft
from diffusionforce.gui.model.profile_shelf import ShelfItem
from diffusionforce.gui.pages.page import Header
from diffusionforce.gui.pages.profile_form import NARROW_PX, ProfileForm
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.forecast_strip import ForecastStrip
from diffusionforce.gui.widgets.labels import Elided, Icon
from diffusionforce.gui.widgets.layout import clear, column, holder, row, scrolling
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.gui.widgets.search_line import SearchLine
from diffusionforce.gui.widgets.setting_controls import REDO_KEYS, UNDO_KEYS
from diffusionforce.job import with_absolute_weights

MAX_PX = 1100
SCROLL_PX = 16
SEARCH_PX, SEARCH_COMPACT_PX, SEARCH_MIN_PX = 210, 170, 110


class TitleLine(QLineEdit):
    """The title of a profile while it is changed: Return takes it, Escape leaves it as it was."""

    given_up = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Give up with Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.given_up.emit()
            return
        super().keyPressEvent(event)


class ProfileEditor(QWidget):
    """Shows a profile; reports what is wanted of it. What is typed goes into the draft at once."""

    changed = Signal()
    save_asked = Signal()
    use_asked = Signal()
    duplicate_asked = Signal()
    export_asked = Signal()
    show_asked = Signal()
    menu_asked = Signal(QWidget)
    renamed = Signal(str)

    def __init__(self, families: dict[str, str]) -> None:
        """Build the editor.

        Args:
            families: Families of models and what people call them.
        """
        super().__init__()
        self.setObjectName("page")
        self._item: ShelfItem | None = None
        self.draft: ProfileDraft | None = None
        self.forecaster = Forecaster(self)
        self.forecaster.changed.connect(self._on_forecast)
        self._families = families

    def build(self) -> Iterator[None]:
        """Build it in pieces, once it has its place in the window."""
        self._build_header()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 18, 8, 14)
        layout.setSpacing(12)
        layout.addLayout(row(self.header, SCROLL_PX))
        yield
        self._notice = column(gap=0)
        self.form = ProfileForm(self._families)
        inner = holder(column(self._notice, self.form, None, gap=12, margins=(0, 0, 4, 0)))
        inner.setMaximumWidth(MAX_PX)
        self.scroller = scrolling(inner, name="clear")
        # With nothing to scroll the bar is not to be seen; its room is there all the same, as beside what stands below.
        self.scroller.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        layout.addWidget(self.scroller, 1)
        yield
        self.strip = ForecastStrip()
        self._build_foot()
        for part in (self.strip, self._foot):
            # As wide as the form, and like it at the left of a wide window.
            part.setMaximumWidth(MAX_PX - SCROLL_PX)
            layout.addLayout(row((part, 1000), SCROLL_PX, None, gap=0))
        self._connect()

    def _build_header(self) -> None:
        self.header = Header("", "")
        self.finder = SearchLine(tr("Find a setting"))
        self.finder.setToolTip(key_names("Ctrl+F"))
        self.finder.setMinimumWidth(SEARCH_MIN_PX)
        self.duplicate = Button("", "copy", tip="Duplicate")
        self.export = Button("", "upload", tip="Export to a file")
        self.more = Button("", "more", tip="More")
        self.use = Button("Use in a run", "arrow", kind="primary")
        self.header.add_actions(self.finder, self.duplicate, self.export, self.more, self.use)
        self.title_line = TitleLine()
        self.title_line.setAccessibleName(tr("Name of the profile"))
        self.title_line.setMaxLength(80)
        self.title_line.setMinimumWidth(300)
        self.title_line.hide()
        self.header.chips.addWidget(self.title_line)

    def _build_foot(self) -> None:
        self._mark, self.status = Icon("ok", "ok", 15), Elided("", "body2")
        self.undo = Button("Undo", "undo", kind="ghost", tip="Ctrl+Z")
        self.revert = Button("Undo all", "undo", kind="ghost", tip="Everything as it was saved")
        self.save = Button("Save", kind="primary", tip="Ctrl+S")
        self._foot = holder(row(self._mark, (self.status, 1), self.undo, self.revert, self.save, gap=8))

    def _connect(self) -> None:
        self.finder.textChanged.connect(self.form.look_for)
        self.duplicate.clicked.connect(self.duplicate_asked)
        self.export.clicked.connect(self.export_asked)
        self.more.clicked.connect(lambda: self.menu_asked.emit(self.more))
        self.use.clicked.connect(self.use_asked)
        self.save.clicked.connect(self.save_asked)
        self.undo.clicked.connect(self._undo)
        self.revert.clicked.connect(self._revert)
        self.strip.retry_asked.connect(self.forecaster.again)
        self.form.edited.connect(self._on_edited)
        self.form.left.connect(lambda _name: self.draft.seal() if self.draft is not None else None)
        self.form.reset_asked.connect(self._on_reset)
        self.title_line.returnPressed.connect(self._on_title)
        self.title_line.editingFinished.connect(self._end_rename)
        self.title_line.given_up.connect(self._end_rename)
        for keys, do in (
            (UNDO_KEYS, self._undo),
            *((keys, self._redo) for keys in REDO_KEYS),
            ("Ctrl+S", lambda: self.save.click()),
            ("Ctrl+F", self._search),
            ("Ctrl+D", lambda: self.duplicate_asked.emit()),
            ("F2", self.rename),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(do)

    def show_item(self, item: ShelfItem, draft: ProfileDraft | None) -> None:
        """Show a profile; one that cannot be read has no draft."""
        self._item, self.draft = item, draft
        self._end_rename()
        is_readable = draft is not None
        for part in (self.form, self.strip, self.finder, self.duplicate, self.export, self.use):
            part.setVisible(is_readable)
        self._foot.setVisible(is_readable and item.is_own)
        self._show_notice()
        self.scroller.verticalScrollBar().setValue(0)
        self._show()

    def _show_notice(self) -> None:
        clear(self._notice)
        item = self._item
        if item is not None and item.problem is not None:
            show = Button("Show the file", "folder", size="small")
            show.clicked.connect(self.show_asked)
            self._notice.addWidget(Banner("err", item.problem.sentence, item.problem.hint, actions=(show,)))
        elif item is not None and not item.is_own:
            copy = Button("Duplicate to change it", "copy", size="small")
            copy.clicked.connect(self.duplicate_asked)
            text = item.profile.description if item.profile is not None else ""
            title = tr("Built in, so it stays as it is")
            self._notice.addWidget(Banner("info", title, text, icon="lock", actions=(copy,)))

    def _show(self) -> None:
        """Show the draft as it is now."""
        item, draft = self._item, self.draft
        if item is None or draft is None:
            self.header.set_title(item.title if item is not None else "", "")
            return
        note, short_note = self._header_notes(item, draft)
        self.header.set_title(item.title, note, short_note=short_note)
        self._ask_for_forecast()
        self._show_form()
        self._show_foot(draft)

    def _show_form(self) -> None:
        assert self._item is not None
        assert self.draft is not None
        status = self.forecaster.status
        self.form.show_draft(self.draft, can_edit=self._item.is_own, forecast=status.current)
        self.strip.show_view(forecast_strip.view_of(status, profile=self.draft.profile))

    def _header_notes(self, item: ShelfItem, draft: ProfileDraft) -> tuple[str, str]:
        """Return what is changed in a profile, in a sentence and in a few words."""
        if not item.is_own or draft.original is None:
            return f"{item.name}.toml", ""
        number = len(draft.changed)
        title = draft.original.title
        if not number:
            said, short = tr("The same as {title}, the built-in profile"), tr("The same as built in")
        elif number == 1:
            said, short = (
                tr("1 setting differs from {title}, the built-in profile"),
                tr("1 setting differs from built in"),
            )
        else:
            said = tr("{number} settings differ from {title}, the built-in profile")
            short = tr("{number} settings differ from built in")
        return said.format(number=number, title=title), short.format(number=number)

    def _show_foot(self, draft: ProfileDraft) -> None:
        wrong, edited = len(draft.problems), len(draft.edited)
        if wrong:
            self._mark.set("err", "err")
            said = tr("Not saved: fix 1 value") if wrong == 1 else tr("Not saved: fix {number} values")
            self.status.set_text(said.format(number=wrong), tone="err")
        elif edited:
            self._mark.set("info", "info")
            said = tr("1 change not saved") if edited == 1 else tr("{number} changes not saved")
            self.status.set_text(said.format(number=edited), tone="")
        else:
            self._mark.set("ok", "ok")
            self.status.set_text(tr("Saved"), tone="")
        self.undo.allow(draft.can_undo, reason=tr("Nothing to undo."))
        self.revert.allow(bool(edited or wrong), reason=tr("Everything is as it was saved."))
        reason = tr("Fix what is wrong first.") if wrong else ""
        self.save.allow(bool(edited) and not wrong, reason=reason or tr("Everything is saved."))
        self.use.allow(not wrong, reason=reason)

    def _ask_for_forecast(self) -> None:
        assert self._item is not None
        assert self.draft is not None
        profile = self.draft.profile
        if profile is None or not self.isVisible():
            return
        whole = with_absolute_weights(profile, base=self._item.path.parent)
        self.forecaster.want(forecast_strip.job_of(self._item.name, whole))

    def _on_forecast(self) -> None:
        if self.draft is not None:
            self._show_form()

    def _on_edited(self, name: str, text: str) -> None:
        if self.draft is None or self._item is None or not self._item.is_own:
            return
        self.draft.set_text(name, text)
        self._show()
        self.changed.emit()

    def _on_reset(self, name: str) -> None:
        if self.draft is not None:
            self.draft.reset(name)
            self._show()
            self.changed.emit()

    def _undo(self) -> None:
        if self.draft is not None:
            self._go_to(self.draft.undo())

    def _redo(self) -> None:
        if self.draft is not None:
            self._go_to(self.draft.redo())

    def _go_to(self, names: tuple[str, ...]) -> None:
        self._show()
        if len(names) == 1:
            self.form.focus_on(names[0])
        if names:
            self.changed.emit()

    def _revert(self) -> None:
        if self.draft is not None:
            self.draft.revert()
            self._show()
            self.changed.emit()

    def _search(self) -> None:
        self.finder.setFocus()
        self.finder.selectAll()

    def rename(self) -> None:
        """Let the title be changed, where it stands."""
        if self._item is None or not self._item.is_own or self._item.profile is None:
            return
        self.header.title.hide()
        self.title_line.setText(self._item.title)
        self.title_line.show()
        self.title_line.selectAll()
        self.title_line.setFocus()

    def _on_title(self) -> None:
        title = self.title_line.text().strip()
        self._end_rename()
        if title and self._item is not None and title != self._item.title:
            self.renamed.emit(title)

    def _end_rename(self) -> None:
        self.title_line.hide()
        self.header.title.show()

    def shown(self) -> None:
        """Have the forecast made again, now that somebody looks."""
        self._show()

    def rest(self) -> None:
        """Give up the forecast under way, because nobody looks."""
        self.forecaster.close()

    def set_compact(self, compact: bool) -> None:
        """Take less room in a narrow window."""
        self.finder.setMaximumWidth(SEARCH_COMPACT_PX if compact else SEARCH_PX)
        self.form.set_narrow(self.width() < NARROW_PX)
