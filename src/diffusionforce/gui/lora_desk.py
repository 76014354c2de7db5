"""What the window does with LoRA files: has a child look into one, and puts a copy where ComfyUI finds it."""

import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model import lora_words
from diffusionforce.job import PART_SUFFIX
from diffusionforce.runs import storage_error
from diffusionforce.wire import Failed
from diffusionforce.wire.weights import LoraInfo, read_weights_record

MODULE = "diffusionforce.engines.musubi.weights_command"


class LoraDesk(QObject):
    """Looks into files and copies them, one after the other, off the window's thread.

    `described` brings the path and what is in it, `copied` the path and that of the copy, `failed` the path and why.
    """

    described = Signal(object, object)
    copied = Signal(object, object)
    failed = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: dict[Path, LoraInfo] = {}
        self._children: list[AnswerChild] = []

    def info(self, path: Path) -> LoraInfo | None:
        """Return what is known of a file."""
        return self._known.get(path)

    def describe(self, path: Path) -> None:
        """Look into a file."""
        known = self._known.get(path)
        if known is not None:
            self.described.emit(path, known)
        else:
            self._ask(["lora", "--", str(path)], path, self._on_described)

    def copy(self, path: Path, folder: Path, *, title: str, step: int) -> None:
        """Copy a file into a folder, under the names that ComfyUI knows."""

        def on_described(of: Path, info: LoraInfo) -> None:
            self._on_described(of, info)
            target = lora_words.copy_target(folder, title=title, step=step)
            if lora_words.needs_other_names(info):
                self._ask(["convert", "--", str(path), str(target)], path, lambda of, _: self.copied.emit(of, target))
            else:
                self._copy_as_it_is(path, target)

        known = self._known.get(path)
        if known is not None:
            on_described(path, known)
        else:
            self._ask(["lora", "--", str(path)], path, on_described)

    def close(self) -> None:
        """End what is under way."""
        for child in self._children:
            child.cancel()
        self._children.clear()

    def _on_described(self, path: Path, info: LoraInfo) -> None:
        self._known[path] = info
        self.described.emit(path, info)

    def _copy_as_it_is(self, path: Path, target: Path) -> None:
        background.run(
            self,
            lambda: _copy(path, target),
            done=lambda _: self.copied.emit(path, target),
            failed=lambda error: self.failed.emit(path, error),
        )

    def _ask(self, arguments: list[str], path: Path, then: Callable[[Path, LoraInfo], object]) -> None:
        child = AnswerChild(self)
        self._children.append(child)

        def on_answer(answer: bytes | UserError) -> None:
            if child in self._children:
                self._children.remove(child)
            child.deleteLater()
            record = _read(answer)
            if isinstance(record, LoraInfo):
                then(path, record)
            else:
                self.failed.emit(path, record)

        child.answered.connect(on_answer)
        child.start(MODULE, arguments)


def _read(answer: bytes | UserError) -> LoraInfo | UserError:
    if isinstance(answer, UserError):
        return answer
    try:
        record = read_weights_record(answer)
    except ValueError as error:
        return UserError("The answer about the file was not understood.", detail=str(error))
    if isinstance(record, Failed):
        return UserError(record.sentence, hint=record.hint, detail=record.detail)
    return record if isinstance(record, LoraInfo) else UserError("The answer was about something else.")


def _copy(source: Path, target: Path) -> None:
    """Copy a file, whole or not at all.

    Raises:
        UserError: The disk refuses, or the file is gone.
    """
    part = target.with_name(f"{target.name}{PART_SUFFIX}")
    try:
        shutil.copyfile(source, part)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise storage_error(error, target) from error
