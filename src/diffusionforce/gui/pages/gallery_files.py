"""The LoRA files of a run: step, size, what is in them, the way to ComfyUI, another name, and the way to the trash."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QAction, QDesktopServices, QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QFrame, QLineEdit, QMenu, QPlainTextEdit, QVBoxLayout

from diffusionforce.errors import UserError
from diffusionforce.gui.lora_desk import LoraDesk
from diffusionforce.gui.model import lora_words, words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.run_model import RunModel, SavedLora
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import add, clear, holder, row, scrolling
from diffusionforce.runs import lora_files
from diffusionforce.wire.weights import LoraInfo


class NameLine(QLineEdit):
    """The name of a file while it is changed: Return takes it, Escape and a click elsewhere leave it as it was."""

    given_up = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Give up with Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.given_up.emit()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Give up where somebody turns to something else."""
        super().focusOutEvent(event)
        if event.reason() not in {Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason}:
            self.given_up.emit()


class LoraBox(QFrame):
    """One file.

    Args:
        lora: The file as the trainer told of it.
        path: Where it is.
        note: What is special about it.
        comfy_reason: Why it cannot go to ComfyUI; empty if it can.
        going_reason: Why it has to keep its name; empty if it may have another.
    """

    copy_asked = Signal()
    details_asked = Signal()
    named = Signal(str)
    """It is to have this name."""
    delete_asked = Signal()

    def __init__(self, lora: SavedLora, path: Path, *, note: str, comfy_reason: str, going_reason: str) -> None:
        super().__init__()
        self.setObjectName("sub")
        self.lora, self.path = lora, path
        name = f"step {lora.step:,}"
        self.setAccessibleName(tr(f"LoRA file of {name}"))
        self.copy = Button("Copy to ComfyUI", "copy", size="small")
        self.copy.setAccessibleName(tr(f"Copy to ComfyUI: {name}"))
        self.copy.clicked.connect(self.copy_asked)
        self.copy.allow(not comfy_reason, reason=comfy_reason)
        more = Button("", "more", kind="ghost", size="small", tip=f"More for {name}")
        menu = self.menu = QMenu(more)
        menu.setToolTipsVisible(True)
        entries: list[tuple[str, Callable[[], object]]] = [
            (tr("What is in it"), self.details_asked.emit),
            (tr("Copy its path"), lambda: QApplication.clipboard().setText(str(path))),
            (tr("Show in folder"), lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))),
            (tr("Rename"), self.rename),
            (tr("Delete"), self.delete_asked.emit),
        ]
        self.actions_by_words: dict[str, QAction] = {}
        for text, act in entries:
            action = self.actions_by_words[text] = menu.addAction(text)
            action.triggered.connect(lambda _checked=False, act=act: act())
        renaming = self.actions_by_words[tr("Rename")]
        renaming.setEnabled(not going_reason)
        renaming.setToolTip(going_reason)
        menu.insertSeparator(renaming)
        more.clicked.connect(lambda: menu.popup(more.mapToGlobal(more.rect().bottomLeft())))
        self._name = Elided(note or path.name, "small")
        self.line = NameLine(path.stem)
        self.line.setAccessibleName(tr("Name of the file"))
        self.line.returnPressed.connect(lambda: self.named.emit(self.line.text()))
        self.line.given_up.connect(self.end_rename)
        self.line.hide()
        self._status = QVBoxLayout()
        self._status.setSpacing(4)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(6)
        head = row(Label(f"Step {lora.step:,}", "strong"), None, Label(words.size(lora.size_bytes), "muted"))
        add(layout, head, self._name, self.line, row(self.copy, None, more), self._status)

    def rename(self) -> None:
        """Let the name be changed, where it stands."""
        self._name.hide()
        self.line.setText(self.path.stem)
        self.line.show()
        self.line.selectAll()
        self.line.setFocus()

    def end_rename(self) -> None:
        """Show the name as it is."""
        self.line.hide()
        self._name.show()

    def say(self, tone: str, text: str, *, show: Path | None = None) -> None:
        """Show a line under the buttons, in place of what was there. `tone` is that of a banner, or `busy`."""
        clear(self._status)
        line = row(gap=6)
        icon, ink = ("clock", "text2") if tone == "busy" else (tone, tone)
        add(line, Icon(icon, ink, 14), (Label(text, "small", wrap=True), 1))
        self._status.addLayout(line)
        if show is not None:
            button = Button("Show", kind="ghost", size="small")
            button.setAccessibleName(tr(f"Show {show.name}"))
            button.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(show.parent))))
            self._status.addLayout(row(button, None))

    def show_info(self, info: LoraInfo) -> None:
        """Show what is in the file."""
        clear(self._status)
        for name, value in lora_words.about(info):
            label = Label(name, "small")
            label.setFixedWidth(62)
            self._status.addLayout(row(label, (Elided(tr(value), "small"), 1)))
        tone, text = lora_words.comfy_verdict(info)
        self._status.addLayout(row(Icon(tone, tone, 14), (Label(text, "small", wrap=True), 1), gap=6))
        if info.metadata:
            view = QPlainTextEdit(lora_words.metadata_lines(info))
            view.setObjectName("detail")
            view.setReadOnly(True)
            view.setAccessibleName(tr("Metadata of the file"))
            view.setFixedHeight(110)
            self._status.addWidget(view)


class LoraFilesCard(Card):
    """Lists the files, the newest first."""

    copy_asked = Signal(object, int)
    rename_asked = Signal(object, str)
    """The `LoraBox` of a file, and the name that it is to have."""
    delete_asked = Signal(object)
    """The path of a file that is to go to the trash."""

    def __init__(self, trash: RunTrash) -> None:
        super().__init__("LoRA files", gap=8)
        self._trash = trash
        self.desk = LoraDesk(self)
        self.desk.described.connect(self._on_described)
        self.desk.copied.connect(self._on_copied)
        self.desk.failed.connect(self._on_failed)
        self.boxes: list[LoraBox] = []
        self._list = QVBoxLayout()
        self._list.setSpacing(8)
        self._list.setContentsMargins(0, 0, 0, 0)
        self._known: tuple[object, ...] = ()
        self._wants_details: Path | None = None
        self._keys_icon, self._keys = Icon("info", "info", 14), Label("", "small", wrap=True)
        inner = QVBoxLayout()
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addLayout(self._list)
        inner.addStretch(1)
        self._foot = holder(row(self._keys_icon, (self._keys, 1), gap=8))
        self._foot.hide()
        self.add((scrolling(holder(inner), name="clear"), 1), self._foot)

    def show_files(self, model: RunModel, root: Path) -> None:
        """Show the files that are there; a file that was removed to keep the newest few is left out."""
        # The disk is asked only when something has been saved, not with every step.
        known = (root, len(model.losses.held_out), model.outcome is None, *model.saved)
        if known == self._known:
            return
        self._known = known
        paths = {lora: lora_files.present_path(root, lora.path) for lora in reversed(model.saved)}
        files = tuple(lora for lora, path in paths.items() if path.is_file() and not self._trash.holds(path))
        clear(self._list)
        self.boxes = []
        self._foot.hide()
        best = best_step(model, files)
        is_pocket = model.job is not None and model.job.profile.model.engine == lora_words.POCKET
        for i, lora in enumerate(files):
            notes = [tr("newest")] if i == 0 else []
            notes += [tr("lowest held-out loss")] if lora.step == best and len(files) > 1 else []
            given = [paths[lora].stem] if paths[lora] != root / lora.path else []
            box = LoraBox(
                lora,
                paths[lora],
                note=", ".join(given + notes),
                comfy_reason=lora_words.NOT_FOR_COMFY if is_pocket else "",
                going_reason=tr("It keeps its name as long as the run goes on.") if model.outcome is None else "",
            )
            box.named.connect(lambda name, box=box: self.rename_asked.emit(box, name))
            box.delete_asked.connect(lambda box=box: self.delete_asked.emit(box.path))
            box.copy_asked.connect(lambda box=box: self.copy_asked.emit(box.path, box.lora.step))
            box.details_asked.connect(lambda box=box: self.show_details(box))
            self.boxes.append(box)
            self._list.addWidget(box)
        if not files:
            self._list.addWidget(Label(_none_words(model), "body2", wrap=True))
        elif model.outcome is not None and not is_pocket:
            self.desk.describe(paths[files[0]])

    def look_again(self) -> None:
        """Have the disk asked again when the files are shown next: one has another name, or is gone."""
        self._known = ()

    def say(self, path: Path, tone: str, text: str) -> None:
        """Show a line in the box of a file."""
        box = self._box(path)
        if box is not None:
            box.say(tone, text)

    def show_details(self, box: LoraBox) -> None:
        """Look into a file and show what is in it."""
        self._wants_details = box.path
        box.say("busy", "Looking into the file")
        self.desk.describe(box.path)

    def copy(self, path: Path, folder: Path, *, title: str) -> None:
        """Copy a file to ComfyUI's folder."""
        box = self._box(path)
        if box is not None:
            box.copy.allow(False, reason="The file is being copied.")
            box.say("busy", "Copying to ComfyUI")
            self.desk.copy(path, folder, title=title, step=box.lora.step)

    def _box(self, path: Path) -> LoraBox | None:
        return next((box for box in self.boxes if box.path == path), None)

    def _on_described(self, path: Path, info: LoraInfo) -> None:
        box = self._box(path)
        if box is not None and path == self._wants_details:
            self._wants_details = None
            box.show_info(info)
        if self.boxes and path == self.boxes[0].path:
            tone, text = lora_words.keys_verdict(info)
            self._keys_icon.set(tone, tone)
            self._keys.set_text(text)
            self._foot.show()

    def _on_copied(self, path: Path, target: Path) -> None:
        box = self._box(path)
        if box is not None:
            box.copy.allow(True)
            box.say("ok", f"Copied to ComfyUI as {target.name}", show=target)

    def _on_failed(self, path: Path, error: UserError) -> None:
        box = self._box(path)
        if box is not None:
            box.copy.allow(True)
            box.say("err", f"{error.sentence} {error.hint}".strip())


def _none_words(model: RunModel) -> str:
    """Return why a run has no file."""
    if model.outcome is None:
        return "None yet. The first file is written at the next save, or when you stop."
    if not model.saved:
        return "This run ended before a file was written."
    return "This run has no LoRA files any more. What you delete goes to the trash of the system."


def best_step(model: RunModel, files: tuple[SavedLora, ...]) -> int | None:
    """Return the step of the file whose held-out loss is the lowest of those that were measured."""
    steps = {lora.step for lora in files}
    measured = [(loss, step) for step, loss in model.losses.held_out if step in steps]
    return min(measured)[1] if measured else None
