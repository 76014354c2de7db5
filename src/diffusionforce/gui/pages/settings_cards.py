"""The cards of the Settings place that work with something outside the window: key store, engine, environment."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.gui.model import hub_token
from diffusionforce.gui.model.hub_token import TokenState
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.engine_line import EngineLine
from diffusionforce.gui.preferences import TOKEN_KEPT_KEY, Preferences
from diffusionforce.gui.rig_watch import RigWatch
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import Stretched, add, column, hairline, row
from diffusionforce.rig import RigReport

FIELD_PX = 280


def setting(name: str, note: Label | str, *widgets: QWidget) -> QHBoxLayout:
    """Return a line of a card: name and note at the left, widgets at the right."""
    said = Label(tr(note), "small", wrap=True) if isinstance(note, str) else note
    layout = row((column(Label(tr(name), "strong"), said, gap=1), 1), gap=8)
    add(layout, *widgets)
    return layout


class Verdict(QWidget):
    """A line with an icon that says how something stands; takes no room while there is nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._icon, self.label = Icon("info", "info", 15), Label("", "small", wrap=True)
        parts: tuple[Stretched, ...] = (self._icon, (self.label, 1))
        self.setLayout(row(*parts, gap=8))
        self.hide()

    def say(self, tone: str, text: str) -> None:
        """Say how it stands; an empty text says nothing."""
        self._icon.set(tone, tone)
        self.label.set_text(text)
        self.setVisible(bool(text))


class HubCard(Card):
    """The token for Hugging Face: pasted, kept in the key store, tested, forgotten."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__("Hugging Face", gap=10)
        self._preferences = preferences
        self.state: TokenState | None = None
        self._asked = False
        self.note = Label(tr("Needed only for models with a licence page."), "small", wrap=True)
        self.token = QLineEdit()
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setPlaceholderText("hf_…")
        self.token.setAccessibleName(tr("Access token"))
        self.token.setFixedWidth(FIELD_PX)
        self.token.returnPressed.connect(self._keep)
        self.token.textChanged.connect(lambda _text: self._show_buttons())
        self.keep = Button("Keep")
        self.keep.clicked.connect(self._keep)
        self.test = Button("Test", "refresh")
        self.test.clicked.connect(self._test)
        self.forget = Button("Forget", kind="ghost")
        self.forget.clicked.connect(lambda: self._do(hub_token.forget, self._on_forgotten))
        self.verdict = Verdict()
        buttons = row(None, self.keep, self.test, self.forget, gap=8)
        self.add(setting("Access token", self.note, self.token), buttons, self.verdict)
        self._show_buttons()

    def shown(self) -> None:
        """Look at the key store, the first time; one that holds no token of ours is not opened."""
        if not self._asked:
            self._asked = True
            asks = bool(self._preferences.text(TOKEN_KEPT_KEY))
            self._do(lambda: hub_token.look(asks=asks), self._on_state)

    def _do(self, work: Callable[[], TokenState], done: Callable[[TokenState], None]) -> None:
        for button in (self.keep, self.test, self.forget):
            button.allow(False, reason=tr("One moment"))
        background.run(self, work, done=done, failed=self._on_failed)

    def _on_state(self, state: TokenState) -> None:
        self.state = state
        first = tr("Needed only for models with a licence page.")
        self.note.set_text(f"{first} {tr(state.sentence) if not state.store else state.sentence}")
        self._show_buttons()

    def _show_buttons(self) -> None:
        has_token = self.state is not None and self.state.is_in_use
        self.keep.allow(bool(self.token.text().strip()), reason=tr("Paste a token first."))
        self.test.allow(has_token, reason=tr("There is no token yet."))
        self.forget.setVisible(has_token)
        self.forget.allow(True)
        self.token.setPlaceholderText("●" * 16 if has_token else "hf_…")

    def _keep(self) -> None:
        token = self.token.text()
        if token.strip():
            self._do(lambda: hub_token.keep(token), self._on_kept)

    def _on_kept(self, state: TokenState) -> None:
        self.token.clear()
        self._preferences.set_text(TOKEN_KEPT_KEY, "kept" if state.is_kept else "")
        self._preferences.save()
        self._on_state(state)
        said = tr("Kept. Press Test to see whether it works.")
        self.verdict.say("ok" if state.is_kept else "info", said if state.is_kept else tr(state.sentence))

    def _on_forgotten(self, state: TokenState) -> None:
        self._preferences.set_text(TOKEN_KEPT_KEY, "")
        self._preferences.save()
        self._on_state(state)
        self.verdict.say("info", tr("Forgotten, here and in the key store."))

    def _test(self) -> None:
        self.verdict.say("info", tr("Asking Hugging Face"))
        self.test.allow(False, reason=tr("Asking Hugging Face"))
        background.run(self, hub_token.ask_hub, done=self._on_known, failed=self._on_failed)

    def _on_known(self, name: str) -> None:
        self._show_buttons()
        self.verdict.say("ok", tr("Works, as {name}.").format(name=name))

    def _on_failed(self, error: UserError) -> None:
        self._show_buttons()
        self.verdict.say("err", f"{error.sentence} {error.hint}".strip())


class UpdatesCard(Card):
    """Engine and environment: what is there, whether it is right, and the button that makes it so."""

    environment_asked = Signal()

    def __init__(self, watch: RigWatch, *, is_training: Callable[[], bool]) -> None:
        super().__init__("Engine and environment", gap=12)
        self._watch = watch
        self._has_looked = False
        self.engine = EngineLine(is_training=is_training)
        self._python, self.environment = Icon("info", "info", 16), Label("", "small", wrap=True)
        self.manage = Button("Training environment", "arrow")
        self.manage.clicked.connect(self.environment_asked)
        self.check = Button("Check again", "refresh")
        self.check.clicked.connect(self._check)
        watch.examined.connect(self._show_environment)
        environment = (column(Label(tr("Environment"), "strong"), self.environment, gap=1), 1)
        buttons = row(self.check, self.manage, gap=8)
        self.add(self.engine, hairline(), row(self._python, environment, buttons, gap=12))
        if watch.report is not None:
            self._show_environment(watch.report)

    def shown(self) -> None:
        """Look at the engine and the environment, the first time."""
        self.engine.shown()
        if not self._has_looked:
            self._has_looked = True
            self._check()

    def _check(self) -> None:
        self.check.allow(False, reason=tr("Asking PyTorch what it can do here"))
        self.environment.set_text(tr("Asking PyTorch what it can do here"))
        self._watch.examine(ask_torch=True)

    def _show_environment(self, report: RigReport) -> None:
        if report.torch is None:
            return
        self.check.allow(True)
        problems = [finding for finding in report.findings if finding.severity == "problem"]
        works = not report.torch.failure
        tone = "err" if problems or not works else "ok"
        self._python.set(tone, tone)
        version = f", PyTorch {report.torch.version}" if report.torch.version else ""
        facts = f"Python {report.machine.python_version}{version}"
        said = " ".join(f"{finding.sentence} {finding.hint}".strip() for finding in problems) or report.torch.failure
        self.environment.set_text(f"{facts}. {said or tr('Everything works.')}")
