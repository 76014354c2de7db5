"""A choice as a card: what is chosen, the facts about it, and a menu with the other choices."""

from pathlib import Path

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QPaintEvent, QPixmap
from PySide6.QtWidgets import QAbstractButton, QMenu, QSizePolicy

from diffusionforce.gui import icons, paint, theme
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.widgets.focus import shows_ring


class PickCard(QAbstractButton):
    """A card that opens a menu. A folder dropped on it is reported, where the card takes folders."""

    folder_dropped = Signal(str)

    def __init__(self, label: str, icon: str, *, takes_folders: bool = False) -> None:
        super().__init__()
        self._label, self._icon = label, icon
        self._name, self._facts, self._mark, self._mark_tone = "", "", "", ""
        self._picture: QPixmap | None = None
        self._dropping = False
        self.menu = QMenu(self)
        self.setAcceptDrops(takes_folders)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover, True)
        self.setFixedHeight(64)
        self.setMinimumWidth(180)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._open_menu)

    def show_choice(
        self, name: str, facts: str, *, mark: str = "", tone: str = "text2", picture: QPixmap | None = None
    ) -> None:
        """Show what is chosen.

        Args:
            name: Name of the choice; empty when nothing is chosen.
            facts: One line of facts, or what to do when nothing is chosen.
            mark: Icon before the facts.
            tone: Tone of the mark.
            picture: Picture instead of the icon.
        """
        facts = tr(facts)
        self._name, self._facts, self._mark, self._mark_tone, self._picture = name, facts, mark, tone, picture
        self.setAccessibleName(f"{self._label}: {name or tr('not chosen')}. {facts}")
        self.setToolTip(f"{name}\n{facts}" if name else facts)
        self.update()

    def sizeHint(self) -> QSize:
        """Return a size that shows usual names whole."""
        return QSize(320, 64)

    def _open_menu(self) -> None:
        self.menu.setMinimumWidth(min(self.width(), 420))
        self.menu.popup(self.mapToGlobal(self.rect().bottomLeft()))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint picture or icon, label, name, facts and the arrow."""
        painter, hovered = paint.begin(self), self.underMouse() or self._dropping
        rect = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        edge = "focus" if self._dropping else "edge" if hovered or not self._name else "line"
        fill = "hover" if hovered else "card"
        paint.box(painter, rect, radius=10, fill=fill, line=edge, dashed=not self._name or self._dropping)
        frame = QRectF(12, 10, 44, 44)
        if self._picture is not None:
            paint.cover(painter, frame, self._picture)
        else:
            paint.box(painter, frame, radius=6, fill="raised")
            icons.paint(painter, self._icon, frame.adjusted(11, 11, -11, -11), theme.current().text2)
        width = self.width() - 68 - 38
        paint.text(painter, QRectF(68, 7, width, 16), self._label, font=theme.font(11), colour="text3")
        shown = self._name or ("Drop the folder here" if self._dropping else f"Choose a {self._label.lower()}")
        paint.text(painter, QRectF(68, 22, width, 19), shown, font=theme.font(13, 600), colour="text")
        left = 68.0
        if self._mark:
            icons.paint(painter, self._mark, QRectF(68, 42, 14, 14), theme.colour(self._mark_tone).name())
            left = 87.0
        box = QRectF(left, 40, self.width() - left - 38, 18)
        paint.text(painter, box, self._facts, font=theme.font(12), colour="text2")
        icons.paint(painter, "chev-down", QRectF(self.width() - 30, 24, 16, 16), theme.current().text2)
        if shows_ring(self):
            paint.ring(painter, self.rect(), 10)
        painter.end()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Welcome a dragged folder."""
        if is_folder(event):
            self._dropping = True
            self.update()
            event.acceptProposedAction()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """Forget the dragged folder."""
        self._dropping = False
        self.update()

    def dropEvent(self, event: QDropEvent) -> None:
        """Report the dropped folder."""
        self._dropping = False
        self.update()
        path = dropped_path(event)
        if path:
            event.acceptProposedAction()
            self.folder_dropped.emit(path)


def is_folder(event: QDropEvent) -> bool:
    """Tell whether what is dragged is a folder of this machine."""
    path = dropped_path(event)
    return bool(path) and Path(path).is_dir()


def dropped_path(event: QDropEvent) -> str:
    """Return the local path of the first thing that is dragged, empty for anything else."""
    urls = event.mimeData().urls()
    return urls[0].toLocalFile() if urls and urls[0].isLocalFile() else ""
