"""Has the engine looked at, installed and verified by a child process, one thing at a time."""

from PySide6.QtCore import QObject, Signal

from diffusionforce.errors import UserError
from diffusionforce.gui.answer_child import AnswerChild
from diffusionforce.gui.model import engine_state
from diffusionforce.gui.model.engine_state import EngineView
from diffusionforce.wire import module_command
from diffusionforce.wire.engine import EngineProgress, read_engine_record
from diffusionforce.wire.interpreter import repair_hint

_MODULE = "diffusionforce.engines.musubi.command"


def engine_command(action: str) -> list[str]:
    """Return the command line of the child: `status`, `install` or `verify`."""
    return module_command(_MODULE, action)


class EngineDesk(QObject):
    """Knows the state of the engine."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view: EngineView = engine_state.LOOKING
        self._action = ""
        self._child: AnswerChild | None = None
        self._is_settled = False

    @property
    def is_busy(self) -> bool:
        """Whether the child is at work."""
        return self._child is not None

    @property
    def action(self) -> str:
        """What was asked for last."""
        return self._action

    def ask(self, action: str) -> None:
        """Have something done: `status`, `install` or `verify`. What is being done already goes on."""
        if self._child is not None:
            return
        self._action, self._is_settled = action, False
        child = self._child = AnswerChild(self)
        child.said.connect(self._take)
        child.answered.connect(self._on_answered)
        self._show(engine_state.begun(action))
        child.run(engine_command(action))

    def cancel(self) -> None:
        """Give up what is being done. What was brought so far is kept for the next time."""
        if self._child is not None:
            self._child.cancel()
            self._end()

    def _take(self, line: bytes) -> None:
        try:
            record = read_engine_record(line)
        except ValueError:
            return
        self._is_settled = not isinstance(record, EngineProgress)
        self._show(engine_state.of_record(record, action=self._action))

    def _on_answered(self, answer: bytes | UserError) -> None:
        child = self._child
        self._end()
        if self._is_settled or child is None:
            self.changed.emit()
        elif isinstance(answer, UserError) and child.exit_code is None:
            self._show(engine_state.of_problem(answer))
        else:
            sentence = f"The engine could not be looked at: the process ended with code {child.exit_code}."
            self._show(engine_state.of_problem(UserError(sentence, hint=repair_hint(), detail=child.log)))

    def _end(self) -> None:
        if self._child is not None:
            self._child.deleteLater()
            self._child = None

    def _show(self, view: EngineView) -> None:
        self.view = view
        self.changed.emit()
