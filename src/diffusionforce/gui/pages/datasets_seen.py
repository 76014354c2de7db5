"""What the model will see of the chosen file: the part that is trained on, its size, and of a clip its first frames."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QComboBox, QWidget

from diffusionforce.gui.dataset_desk import DatasetDesk
from diffusionforce.gui.model import training_size, words
from diffusionforce.gui.model.dataset_table import Row
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.thumbnails import LARGE_PX, Thumbnails
from diffusionforce.gui.trained_clip import TrainedClip
from diffusionforce.gui.widgets.crop_view import CropView
from diffusionforce.gui.widgets.labels import Elided, Label
from diffusionforce.gui.widgets.layout import column, row

NAME_PX = 80
VIEW_PX, VIEW_COMPACT_PX = 200, 160
ICONS = {"clip": "film", "caption": "log"}


class SeenPart(QWidget):
    """Shows one file."""

    size_changed = Signal()

    def __init__(self, desk: DatasetDesk, thumbnails: Thumbnails) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._desk, self._thumbnails = desk, thumbnails
        self._row: Row | None = None
        self.usual_size = training_size.USUAL
        """The size that is looked at, where a folder does not name its own."""
        self.sizes = QComboBox()
        self.sizes.setAccessibleName(tr("Training size"))
        self.sizes.currentIndexChanged.connect(self._on_size)
        self._own_size = Label("", "body2")
        self._file, self.cropped, self.frames = Elided(""), Label("", wrap=True), Label("", wrap=True)
        self._frames_name = _narrow(Label("Frames", "small"))
        self.crop = CropView()
        self._clip = TrainedClip(self)
        self._clip.changed.connect(self._show_picture)
        facts = column(
            row(_narrow(Label("File", "small")), (self._file, 1), gap=6),
            row(_narrow(Label("Trained at", "small")), self.sizes, self._own_size, None, gap=6),
            row(_narrow(Label("Cropped", "small")), (self.cropped, 1), gap=6),
            row(self._frames_name, (self.frames, 1), gap=6),
            gap=4,
        )
        self.setLayout(column(row(Label("What the model will see", "small"), None), self.crop, facts, gap=9))
        thumbnails.arrived.connect(self._on_arrived)

    def offer_sizes(self, size: tuple[int, int]) -> None:
        """Offer training sizes, with the profile's own chosen."""
        self.usual_size = size
        self.sizes.blockSignals(True)
        self.sizes.clear()
        for each in training_size.choices(size):
            self.sizes.addItem(training_size.words(each), each)
        self.sizes.blockSignals(False)

    def _on_size(self, index: int) -> None:
        chosen = self.sizes.itemData(index)
        if chosen:
            self.usual_size = (int(chosen[0]), int(chosen[1]))
            self.show_row(self._row)
            self.size_changed.emit()

    def show_row(self, shown: Row | None) -> None:
        """Show another file, or the same one anew."""
        self._row = shown
        if shown is None:
            self._clip.stop()
            return
        folder, intake = self._desk.view.folder_of(shown), self._desk.view.intake
        moves = shown.facts.media == "clip" and intake.takes_clips and bool(shown.facts.num_frames)
        num_frames = intake.frames_of(folder.frames)
        if moves and shown.facts.is_used:
            self._clip.play(shown.path, num_frames=num_frames, fps=intake.frames_per_second)
        else:
            self._clip.stop()
        self.sizes.setVisible(not folder.width)
        self._own_size.setVisible(bool(folder.width))
        self._own_size.set_text(f"{folder.width} × {folder.height}, by its folder" if folder.width else "")
        for part in (self._frames_name, self.frames):
            part.setVisible(moves)
        self.frames.set_text(_frames_words(shown, num_frames, intake.frames_per_second) if moves else "")
        self._show_facts(shown)
        self._show_picture()

    def _show_facts(self, shown: Row) -> None:
        framing = shown.framing(self._desk.view.size_of(shown, self.usual_size))
        cropped = noted("nothing")
        if framing is not None and framing.cropped_share >= 0.005:
            share = words.percent(framing.cropped_share)
            cropped = f"{share} at the sides" if framing.is_cut_at_sides else f"{share} above and below"
        if framing is not None and framing.is_blurry:
            blown_up = f", blown up {framing.scale:.1f} ×"
            cropped = tr(cropped) + tr(blown_up)
        turned = tr(", turned upright") if any(finding.what == "rotated" for finding in shown.findings) else ""
        kind = f"{shown.facts.format}, " if shown.facts.format else ""
        self._file.set_text(f"{kind}{shown.size_words}{turned}" if shown.size_words else tr("not readable"))
        self.cropped.set_text(cropped if framing is not None else "–")

    def _show_picture(self) -> None:
        shown = self._row
        if shown is None:
            return
        picture = self._clip.frame
        if picture is None and shown.is_readable:
            picture = self._thumbnails.get(shown.path, edge_px=LARGE_PX) or self._thumbnails.get(shown.path)
        is_seen = shown.facts.media == "picture" or (shown.facts.media == "clip" and shown.facts.is_used)
        framing = shown.framing(self._desk.view.size_of(shown, self.usual_size)) if is_seen else None
        spoken = f"{shown.path.name}, {shown.size_words}, cut off: {self.cropped.text()}"
        self.crop.show_picture(picture, framing, icon=ICONS.get(shown.facts.media, "image"), spoken=spoken)

    def _on_arrived(self, path: str) -> None:
        if self._row is not None and path == str(self._row.path):
            self._show_picture()

    def set_compact(self, compact: bool) -> None:
        """Lower the picture in a narrow window."""
        self.crop.setFixedHeight(VIEW_COMPACT_PX if compact else VIEW_PX)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing plays unseen."""
        self._clip.stop()
        super().hideEvent(event)


def _narrow(label: Label) -> Label:
    label.setFixedWidth(NAME_PX)
    return label


def _frames_words(shown: Row, num_frames: int, fps: float) -> str:
    """Return what of a clip is trained on: `the first 33 of 120, 2 s at 16 a second`."""
    facts = shown.facts
    if not facts.is_used:
        return f"{facts.num_frames:,}, {facts.fps:g} a second"
    seconds = f"{num_frames / fps:.1f} s"
    return f"the first {num_frames:,}, {seconds} at {fps:g} a second; the clip has {facts.num_frames:,}"
