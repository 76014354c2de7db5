"""Other names for LoRA files, and their way to the trash; both can be taken back as long as the message stands."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.gallery_files import LoraBox, LoraFilesCard
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.widgets.toast import Toasts
from diffusionforce.runs import lora_files


class LoraCare(QObject):
    """Does what is asked of the files in a card.

    Args:
        files: The card.
        trash: Takes what is deleted.
        toasts: Says what was done.
    """

    changed = Signal()
    """A file has another name, or is out of sight."""

    def __init__(self, files: LoraFilesCard, trash: RunTrash, toasts: Toasts) -> None:
        super().__init__(files)
        self._files, self._trash, self._toasts = files, trash, toasts
        files.rename_asked.connect(self._rename)
        files.delete_asked.connect(self._delete)
        trash.changed.connect(self._look)

    def _look(self) -> None:
        self._files.look_again()
        self.changed.emit()

    def _rename(self, box: LoraBox, name: str) -> None:
        told, path = box.lora.path, box.path
        root = path.parent.parent

        def done(now: Path) -> None:
            self._look()
            if now != path:
                title = tr("Renamed to {name}").format(name=now.name)
                self._toasts.say("ok", title, action=tr("Undo"), do=lambda: self._undo(root, told, path))

        background.run(
            self,
            lambda: lora_files.rename_lora(root, told, name),
            done=done,
            failed=lambda error: self._refuse(path, error),
        )

    def _undo(self, root: Path, told: str, before: Path) -> None:
        background.run(
            self,
            lambda: lora_files.rename_lora(root, told, before.stem),
            done=lambda _: self._look(),
            failed=self._say_error,
        )

    def _say_error(self, error: UserError) -> None:
        self._toasts.say("err", error.sentence, error.hint)

    def _refuse(self, path: Path, error: UserError) -> None:
        self._files.say(path, "err", f"{tr(error.sentence)} {tr(error.hint)}".strip())

    def _delete(self, path: Path) -> None:
        background.run(
            self,
            lambda: lora_files.refuse_newest(path),
            done=lambda _: self._put_away(path),
            failed=lambda error: self._refuse(path, error),
        )

    def _put_away(self, path: Path) -> None:
        self._trash.put(path)
        title = tr("Deleted {title}").format(title=path.name)
        text = tr("It goes to the trash of the system in a moment.")
        toast = self._toasts.say("info", title, text, action=tr("Undo"), do=lambda: self._trash.bring_back(path))
        toast.left.connect(lambda: self._trash.finish(path))
