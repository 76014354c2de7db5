"""First steps: four steps that can be left at any time, each made of real parts of the window."""

from collections.abc import Iterator

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from diffusionforce.gui.environment_desk import EnvironmentDesk
from diffusionforce.gui.model import language
from diffusionforce.gui.model.first_run import STEPS
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pages.welcome_choices import DatasetStep, ModelStep
from diffusionforce.gui.pages.welcome_demo import DemoStep
from diffusionforce.gui.pages.welcome_rig import RigStep
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.pieces import IN_SIGHT
from diffusionforce.gui.preferences import STEPS_SEEN_KEY, Preferences
from diffusionforce.gui.rig_watch import RigWatch
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.labels import Label
from diffusionforce.gui.widgets.layout import add, column, holder, row, scrolling
from diffusionforce.gui.widgets.nav import Logo
from diffusionforce.gui.widgets.step_item import StepItem

SIDE_PX, SIDE_COMPACT_PX = 300, 244
MARGIN_PX, MARGIN_COMPACT_PX = 64, 32
MAX_PX = 1040
BAR_PX = 20
"""At the right of a step, for the bar that it is scrolled with."""
HEADS = (
    ("Welcome", "First a look at this computer: what it can train, and what stands in the way."),
    (
        "See it work first",
        "A tiny model learns to draw a character on this computer. Nothing is downloaded, and nothing leaves it.",
    ),
    ("Choose a model", "Built-in profiles have settings that work. You can change them later, and choose another."),
    ("Your first dataset", "Pictures of what the LoRA is to learn. You can also leave this for later."),
)


class WelcomePage(Page):
    """Leads through the first steps."""

    start_asked = Signal(object)
    gallery_asked = Signal()
    rig_asked = Signal()
    left = Signal(str, str)

    def __init__(
        self, preferences: Preferences, store: PictureStore, watch: RigWatch, environment: EnvironmentDesk
    ) -> None:
        super().__init__()
        self._preferences, self._store, self._watch, self._environment = preferences, store, watch, environment
        self.body.setContentsMargins(0, 0, 0, 0)
        self._at = 0
        self._is_free = True
        self._profile = ""

    def build(self) -> Iterator[bool | None]:
        """Build the frame with the first step, then the steps that nobody sees yet."""
        self._build_frame()
        self.rig = RigStep(self._watch, self._environment)
        self._stack.addWidget(_scrolling(self.rig))
        self.open(0)
        yield
        yield from self.rig.build()
        yield IN_SIGHT
        self.demo = DemoStep(self._store)
        self._stack.addWidget(_scrolling(self.demo))
        yield
        self.model = ModelStep(self._watch)
        self._stack.addWidget(holder(column(self.model, margins=(0, 0, BAR_PX, 0))))
        yield
        self.dataset = DatasetStep()
        self._stack.addWidget(_scrolling(self.dataset))
        self.steps = (self.rig, self.demo, self.model, self.dataset)
        self._connect()

    def _build_frame(self) -> None:
        """Build the list of the steps and the frame around the one in sight."""
        self.items = [
            StepItem(i + 1, tr(step.title), tr(step.note), is_last=i == len(STEPS) - 1) for i, step in enumerate(STEPS)
        ]
        self._title, self._text = Label("", "hero"), Label("", "body2", wrap=True)
        self._stack = QStackedWidget()
        self.skip = Button("Skip, open the app", kind="ghost")
        self.back = Button("Back", "chev-left")
        self.next = Button("Next", "arrow", kind="primary", size="big")
        self._side = QFrame()
        self._side.setObjectName("side")
        side = QVBoxLayout(self._side)
        side.setContentsMargins(28, 30, 24, 24)
        side.setSpacing(0)
        side.addWidget(Logo())
        side.addSpacing(36)
        for item in self.items:
            side.addWidget(item)
        side.addStretch(1)
        text = tr("You can leave this at any time. It is under Settings, First steps.")
        side.addWidget(Label(text, "muted", wrap=True))
        foot = row(self.skip, None, self.back, self.next, gap=8, margins=(0, 0, BAR_PX, 0))
        inner = QWidget()
        inner.setObjectName("clear")
        inner.setMaximumWidth(MAX_PX + BAR_PX)
        lead = row((self._text, 1), BAR_PX, gap=0)
        inner.setLayout(column(self._title, lead, 8, (self._stack, 1), foot, gap=10))
        self._right = QHBoxLayout()
        self._right.addWidget(inner, 1000)
        self._right.addStretch(1)
        self._fit()
        both = QHBoxLayout()
        both.setSpacing(0)
        add(both, self._side, (holder(self._right, name="page"), 1))
        self.body.addLayout(both)
        for i, item in enumerate(self.items):
            item.clicked.connect(lambda _checked=False, at=i: self.open(at))
        self.skip.clicked.connect(self._on_skip)
        self.back.clicked.connect(lambda: self.open(self._at - 1))
        self.next.clicked.connect(self._on_next)

    def _connect(self) -> None:
        self.rig.checked.connect(self._on_checked)
        self._environment.changed.connect(self._weigh)
        self.demo.start_asked.connect(self.start_asked)
        self.demo.gallery_asked.connect(self.gallery_asked)
        self.demo.rig_asked.connect(self.rig_asked)
        self.demo.finished.connect(lambda: self._mark(1, tr("trained")))
        self.model.chosen.connect(self._on_model)
        self.dataset.chosen.connect(lambda _path: self._mark(3, tr("chosen")))

    def open(self, at: int) -> None:
        """Show a step."""
        self._at = max(0, min(at, len(STEPS) - 1))
        if self._at:
            self.complete()
        title, text = HEADS[self._at]
        self._title.set_text(tr(title))
        self._text.set_text(tr(text))
        self._stack.setCurrentIndex(self._at)
        self.items[self._at].setChecked(True)
        self.back.setVisible(self._at > 0)
        is_last = self._at == len(STEPS) - 1
        following = STEPS[min(self._at + 1, len(STEPS) - 1)].title
        words = tr("Finish") if is_last else tr("Next: {step}").format(step=_lowered(tr(following)))
        self.next.set_text(words, icon="check" if is_last else "arrow")
        self._weigh()
        if self.isVisible() and self.is_complete:
            self._tell_step()

    def _weigh(self) -> None:
        """Let what comes next have the one button that stands out: the set-up, then the demo, else the next step."""
        asks_for_setup = self._at == 0 and self._environment.is_needed
        asks_for_demo = self._at == 1 and self.demo.session is None
        self.next.set_kind("" if asks_for_demo or asks_for_setup else "primary")
        if self.is_complete:
            self._allow_demo()

    def _tell_step(self) -> None:
        step = self.steps[self._at]
        if isinstance(step, RigStep | DemoStep | ModelStep):
            step.shown()

    def shown(self) -> None:
        """Look at what the step shows."""
        self._weigh()
        self._tell_step()

    def show_session(self, session: RunSession) -> None:
        """Follow the run of the demo."""
        self.demo.show_session(session)
        self._weigh()

    def allow_demo(self, allowed: bool) -> None:
        """Let the demo be started, or not, because another run goes on."""
        self._is_free = allowed
        self._allow_demo()

    def _allow_demo(self) -> None:
        if self._environment.is_needed:
            self.demo.allow(False, reason=tr("The training environment comes first: it is one step back."))
        else:
            self.demo.allow(self._is_free, reason=tr("A run is going on."))

    def _mark(self, at: int, note: str) -> None:
        self.items[at].set_done(True)
        self.items[at].set_note(note)

    def _on_checked(self, verdict: str) -> None:
        self._mark(0, _lowered(tr(verdict)))

    def _on_model(self, name: str) -> None:
        if self._at == 2:
            self._profile = name

    def _on_next(self) -> None:
        if self._at == 2 and self.model.name:
            self._profile = self.model.name
            self._mark(2, self.model.name)
        if self._at < len(STEPS) - 1:
            self.open(self._at + 1)
        elif self.dataset.folder:
            self._leave("datasets", self.dataset.folder)
        else:
            self._leave("run", "")

    def _on_skip(self) -> None:
        self._profile = ""
        self._leave("run", "")

    def _leave(self, place: str, folder: str) -> None:
        self._preferences.set_text(STEPS_SEEN_KEY, "seen")
        if self._profile:
            self._preferences.profile = self._profile
        self._preferences.save()
        self.left.emit(place, folder)
        self._profile = ""  # The next time somebody goes through the steps is another time.

    @property
    def profile(self) -> str:
        """The profile that was chosen; empty where none was."""
        return self._profile

    def set_compact(self, compact: bool) -> None:
        """Take less room in a narrow window."""
        super().set_compact(compact)
        if self.body.count():
            self._fit()

    def _fit(self) -> None:
        compact = self.compact
        self._side.setFixedWidth(SIDE_COMPACT_PX if compact else SIDE_PX)
        margin = MARGIN_COMPACT_PX if compact else MARGIN_PX
        self._right.setContentsMargins(margin, 36, margin - BAR_PX, 22)


def _scrolling(widget: QWidget) -> QWidget:
    """Return a step that scrolls beside the column in which everything stands, so that nothing moves when it does."""
    area = scrolling(holder(column(widget, margins=(0, 0, 8, 0))), name="clear")
    # With nothing to scroll the bar is not to be seen; its room is there all the same.
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    return area


def _lowered(text: str) -> str:
    # In German a noun keeps its capital.
    return text[:1].lower() + text[1:] if language.current() == "en" else text
