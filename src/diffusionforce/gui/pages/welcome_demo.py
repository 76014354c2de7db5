"""First steps, the demo: one click trains the tiny model, and the result is seen as before and after."""

from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui.model import first_run
from diffusionforce.gui.model.first_run import Stage
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.widgets.bars import ProgressBar
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.compare_slider import CompareSlider
from diffusionforce.gui.widgets.film_row import FilmRow
from diffusionforce.gui.widgets.labels import Icon, Label
from diffusionforce.gui.widgets.layout import clear, column, holder, row
from diffusionforce.gui.widgets.notices import Banner
from diffusionforce.gui.widgets.picture_strip import PictureStrip
from diffusionforce.gui.widgets.sample_grid import step_words

SLIDER_PX, EDGE_PX = 300, 1024
_STAGE_ICONS = {
    "done": ("ok", "ok"),
    "now": ("play", "focus"),
    "later": ("clock", "text3"),
    "stopped": ("stop", "text2"),
    "failed": ("err", "err"),
}
_BEFORE = "Press Train the demo now. A tiny model learns to draw a character from pictures that come with the app."


class DemoStep(QWidget):
    """Starts the demo and shows how it goes."""

    start_asked = Signal(object)
    gallery_asked = Signal()
    rig_asked = Signal()
    finished = Signal()

    def __init__(self, store: PictureStore) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._store = store
        self.session: RunSession | None = None
        self._row = 0
        self._stages_shown: tuple[Stage, ...] = ()
        self.start = Button("Train the demo now", "play", kind="primary", size="big")
        self.start.clicked.connect(self._on_start)
        self.stop = Button("Stop", "stop", kind="danger", size="small")
        self.stop.clicked.connect(self._on_stop)
        self.again = Button("Train it again", "refresh", size="small")
        self.again.clicked.connect(self._on_start)
        self._left = Label("", "body2")
        self.bar = ProgressBar(height=10, name=tr("Demo run"))
        self._stages = row(gap=18)
        self.film = FilmRow(store)
        self._lesson = PictureStrip(store)
        self._about = Label(tr(_BEFORE), "body2", wrap=True)
        self._reason = Label("", "strong", wrap=True)
        self._reason.hide()
        self._notice = column(gap=0)
        self.slider = CompareSlider()
        self.slider.setFixedSize(SLIDER_PX, SLIDER_PX)
        self.slider.prompt_moved.connect(self._on_prompt_moved)
        self._prompt, self._verdict = Label("", "strong", wrap=True), Label("", "body2", wrap=True)
        self.gallery = Button("Open in the gallery", "grid")
        self.gallery.clicked.connect(self.gallery_asked)
        store.arrived.connect(self._on_arrived)
        self._build()
        self._show()

    def _build(self) -> None:
        self.card = Card("Demo run", gap=12)
        self.card.header.addWidget(self._left)
        self.card.header.addWidget(self.stop)
        self.card.header.addWidget(self.again)
        self._going = holder(column(self.bar, self._stages, self.film, gap=12))
        lesson = Label(tr("What it learns from"), "small")
        about = holder(column(self._about, self._reason, gap=6))
        self._asking = holder(column(row((about, 1), self.start, gap=20), lesson, self._lesson, gap=10))
        self.card.add(self._notice, self._asking, self._going)
        told = column(
            Label(tr("Before and after"), "section"),
            self._prompt,
            self._verdict,
            Label(tr("Same prompt, same seed: only the training differs. Drag the handle."), "small", wrap=True),
            4,
            row(self.gallery, None),
            None,
            gap=8,
        )
        self._result = Card(gap=12)
        self._result.add(row(self.slider, (holder(told), 1), gap=20))
        self.setLayout(column(self.card, self._result, None, gap=14))

    def allow(self, allowed: bool, *, reason: str) -> None:
        """Let the demo be started, or not; why not stands beside the button, too."""
        self._reason.set_text(reason)
        self._reason.setVisible(not allowed)
        self.start.allow(allowed, reason=reason)
        self.again.allow(allowed, reason=reason)

    def shown(self) -> None:
        """Show what the demo learns from, the first time."""
        if self.session is None:
            self._lesson.show_pictures(first_run.demo_pictures())

    def _on_start(self) -> None:
        try:
            job = first_run.demo_job()
        except UserError as error:
            clear(self._notice)
            self._notice.addWidget(Banner("err", error.sentence, error.hint))
            return
        self.start_asked.emit(job)

    def _on_stop(self) -> None:
        if self.session is not None:
            self.session.stop()
            self.stop.allow(False, reason=tr("Stopping after this step"))

    def show_session(self, session: RunSession) -> None:
        """Follow the run of the demo."""
        self.session = session
        session.changed.connect(self._show)
        session.ended.connect(self._on_ended)
        self.stop.allow(True)
        self._show()

    @Slot()
    def _on_ended(self) -> None:
        self._show()
        outcome = self.session.model.outcome if self.session is not None else None
        if outcome is not None and outcome.kind == "done":
            self.finished.emit()

    @Slot()
    def _show(self) -> None:
        session = self.session
        is_over = session is not None and session.model.outcome is not None
        is_good = is_over and session is not None and session.model.samples.num_samples > 0
        self._going.setVisible(session is not None)
        self._asking.setVisible(session is None or bool(is_over and not is_good))
        self.bar.setVisible(not is_over)
        self.again.setVisible(bool(is_good))
        self.stop.setVisible(session is not None and not is_over)
        self._result.setVisible(bool(is_good and self._pair() is not None))
        if session is None:
            return
        self._show_progress(session)
        self._show_film(session)
        if is_over:
            self._show_end(session)
        else:
            clear(self._notice)

    def _show_progress(self, session: RunSession) -> None:
        model = session.model
        self._left.set_text(first_run.left_words(model))
        self.bar.show_share(model.share)
        stages = first_run.stages(model)
        if stages == self._stages_shown:
            return
        self._stages_shown = stages
        clear(self._stages)
        for stage in stages:
            icon, tone = _STAGE_ICONS[stage.state]
            role = "strong" if stage.state == "now" else "body2"
            self._stages.addLayout(row(Icon(icon, tone, 15), Label(stage.words, role), gap=6))
        self._stages.addStretch(1)

    def _show_film(self, session: RunSession) -> None:
        table = session.model.samples
        places = [(step_words(step), table.path(session.root, 0, step)) for step in table.steps]
        pending = step_words(table.pending_step) if table.pending_step is not None else ""
        self.film.show_places(places, pending=pending)
        self.film.setVisible(bool(places))

    def _show_end(self, session: RunSession) -> None:
        outcome = session.model.outcome
        assert outcome is not None
        clear(self._notice)
        if outcome.kind != "done":
            actions: tuple[Button, ...] = ()
            if outcome.kind != "stopped":
                rig = Button("Look at the rig", "rig", size="small")
                rig.clicked.connect(self.rig_asked)
                actions = (rig,)
            self._notice.addWidget(
                Banner(outcome.tone, outcome.title, f"{outcome.sentence} {outcome.hint}".strip(), actions=actions)
            )
        self._about.set_text(tr("Nothing was kept that could stand in the way of another try."))
        self.start.set_text(tr("Try again"), icon="refresh")
        self._show_pair()

    def _pair(self) -> tuple[Path, Path, int] | None:
        """Return the pictures before and after, and the step of the latter; None while there are none."""
        session = self.session
        if session is None:
            return None
        table = session.model.samples
        steps = table.done_steps
        if len(steps) < 2:
            return None
        before, after = (table.path(session.root, self._row, step) for step in (steps[0], steps[-1]))
        return (before, after, steps[-1]) if before is not None and after is not None else None

    def _show_pair(self) -> None:
        pair, session = self._pair(), self.session
        if pair is None or session is None:
            return
        before, after, step = pair
        pictures = self._store.get(before, edge_px=EDGE_PX), self._store.get(after, edge_px=EDGE_PX)
        self.slider.show_pair(*pictures, labels=(step_words(0), step_words(step)))
        self._prompt.set_text(f"“{session.model.samples.rows[self._row].prompt}”")
        self._verdict.set_text(first_run.result_words(session.model))

    @Slot(str)
    def _on_arrived(self, _path: str) -> None:
        if self._result.isVisible():
            self._show_pair()

    def _on_prompt_moved(self, move: int) -> None:
        if self.session is not None:
            self._row = (self._row + move) % max(1, len(self.session.model.samples.rows))
            self._show_pair()
