"""The film strip: one prompt over the steps, large above and small below, played like a film of the training."""

from pathlib import Path

from PySide6.QtCore import QRectF, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QPaintEvent, QPixmap
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from diffusionforce.gui import paint, theme
from diffusionforce.gui.clip_player import ClipPlayer
from diffusionforce.gui.clips import ClipStore
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.film_strip import FilmStrip, StripPicture
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import column, row
from diffusionforce.gui.widgets.sample_grid import step_words

EDGE_PX, FRAME_MS = 1024, 400


class Stage(QWidget):
    """The large picture."""

    def __init__(self) -> None:
        super().__init__()
        self._picture: QPixmap | None = None
        self._words = ""
        self.setMinimumSize(200, 160)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Preview of the chosen step"))

    def show_picture(self, picture: QPixmap | None, words: str) -> None:
        """Show a picture, or words in its place."""
        # While the next one is read, the one before stays: a film must not flicker.
        self._picture = picture if picture is not None or words else self._picture
        self._words = words
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint it as large as it can be."""
        painter, area = paint.begin(self), QRectF(self.rect())
        if self._picture is None or self._words:
            paint.text(painter, area, self._words, font=theme.font(13), colour="text3", align=paint.CENTRE)
        else:
            frame = paint.contained(area, self._picture.width(), self._picture.height())
            painter.setClipPath(paint.rounded(frame, 8))
            painter.drawPixmap(frame, self._picture, QRectF(self._picture.rect()))
        painter.end()


class FilmStripPane(QWidget):
    """Shows one prompt of a table."""

    def __init__(self, store: PictureStore, clips: ClipStore) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._store = store
        self._table, self._root = SampleTable(), Path()
        self._revision = -1
        self._row = 0
        self._player = ClipPlayer(clips, self, edge_px=640)
        self._player.changed.connect(self._show_stage)
        self.prompts = QComboBox()
        self.prompts.setAccessibleName(tr("Prompt"))
        self.prompts.setMinimumWidth(260)
        self.prompts.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.prompts.activated.connect(self.choose_row)
        self.play = Button("Play the training", "play")
        self.play.clicked.connect(self.toggle)
        self._step, self._seed = Label("", "strong"), Elided("", "muted")
        self.stage = Stage()
        self.strip = FilmStrip(store)
        self.strip.chosen.connect(lambda _index: self._show_stage(takes=True))
        self.strip.row_moved.connect(lambda by: self.choose_row(self._row + by))
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._on_tick)
        head = row((self.prompts, 1), self._step, (self._seed, 1), self.play, gap=12)
        self.setLayout(column(head, (self.stage, 1), self.strip, gap=10))
        self.setFocusProxy(self.strip)
        store.arrived.connect(self._on_arrived)

    @Slot(str)
    def _on_arrived(self, _path: str) -> None:
        if self.isVisible():
            self._show_stage()

    @property
    def is_playing(self) -> bool:
        """Whether the film runs."""
        return self._timer.isActive()

    def show_table(self, table: SampleTable, root: Path) -> None:
        """Take another table, or the same one after it has grown."""
        is_other = table is not self._table or root != self._root
        if not is_other and table.revision == self._revision:
            return
        was_last = self.strip.index >= len(self._steps()) - 1
        self._table, self._root, self._revision = table, root, table.revision
        self._fill_prompts()
        self.choose_row(0 if is_other else self._row)
        if is_other or was_last:
            self.strip.choose(len(self._steps()) - 1)

    def _steps(self) -> list[int]:
        if self._row >= len(self._table.rows):
            return []
        return sorted(self._table.rows[self._row].paths)

    def _fill_prompts(self) -> None:
        prompts = [sample_row.prompt for sample_row in self._table.rows]
        if prompts != [self.prompts.itemText(i) for i in range(self.prompts.count())]:
            self.prompts.clear()
            self.prompts.addItems(prompts)

    def choose_row(self, index: int) -> None:
        """Show another prompt, at the same step where it has one."""
        before = self._steps()[self.strip.index] if self.strip.index < len(self._steps()) else None
        self._row = max(0, min(len(self._table.rows) - 1, index))
        self.prompts.setCurrentIndex(self._row)
        steps = self._steps()
        paths = [self._table.path(self._root, self._row, step) for step in steps]
        labels = [step_words(step) if step else tr("Before") for step in steps]
        self.strip.show_pictures([StripPicture(path=p, label=w) for p, w in zip(paths, labels, strict=True)])
        if steps:
            self.strip.choose(steps.index(before) if before in steps else len(steps) - 1)
        self._show_stage(takes=True)

    def _show_stage(self, *, takes: bool = False) -> None:
        steps = self._steps()
        if not steps:
            self.stage.show_picture(None, "No previews of this prompt yet")
            return
        step = steps[min(self.strip.index, len(steps) - 1)]
        path = self._table.path(self._root, self._row, step)
        if takes:
            self._player.choose(path)
        picture = None
        if path is not None:
            picture = self._player.frame(path) or self._store.get(path, edge_px=EDGE_PX)
        broken = path is None or self._store.is_broken(path, edge_px=EDGE_PX)
        self.stage.show_picture(picture, "The file is gone" if broken and picture is None else "")
        seed = self._table.rows[self._row].seed
        self._step.set_text(step_words(step))
        self._seed.set_text(tr(f"{self.strip.index + 1} of {len(steps)} · seed {seed}"))

    def toggle(self) -> None:
        """Let the film run from its start, or stop it."""
        if self.is_playing:
            self._timer.stop()
        elif len(self._steps()) > 1:
            if self.strip.index >= len(self._steps()) - 1:
                self.strip.choose(0)
            self._timer.start()
        words, icon = ("Pause", "pause") if self.is_playing else ("Play the training", "play")
        self.play.set_text(words, icon=icon)

    def _on_tick(self) -> None:
        if self.strip.index >= len(self._steps()) - 1:
            self.toggle()
        else:
            self.strip.choose(self.strip.index + 1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Run or stop the film with Space."""
        if event.key() == Qt.Key.Key_Space:
            self.toggle()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing plays unseen."""
        if self.is_playing:
            self.toggle()
        self._player.transport.pause()
        super().hideEvent(event)
