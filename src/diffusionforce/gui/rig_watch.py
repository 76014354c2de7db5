"""The machine as the window sees it: looked at once in full, then read once a second for the strip.

Both happen on threads, because a driver that is busy can take its time.
"""

from dataclasses import dataclass
from typing import Any

import psutil
from PySide6.QtCore import QObject, QTimer, Signal

from diffusionforce import rig
from diffusionforce.errors import UserError
from diffusionforce.gui import background
from diffusionforce.rig import Card, Reading, RigReport, Traffic
from diffusionforce.runs import data_dir

READ_MS = 1000
FIRST_READ_MS = 150


@dataclass(frozen=True, kw_only=True)
class Vitals:
    """The machine at one moment. `cpu_load` is a share from 0 to 1, `traffic` is there while links are watched."""

    cards: tuple[Reading, ...]
    cpu_load: float
    ram_used_bytes: int
    ram_total_bytes: int
    traffic: tuple[Traffic, ...] = ()


class RigWatch(QObject):
    """Looks at the machine for the whole window.

    Attributes:
        watches_links: Whether it also looks what goes over the cards' links, which takes the driver longer.
    """

    examined = Signal(object)
    read = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.report: RigReport | None = None
        self.vitals: Vitals | None = None
        self.watches_links = False
        self._is_reading = False
        self._timer = QTimer(self)
        self._timer.setInterval(READ_MS)
        self._timer.timeout.connect(self._read)

    def start(self) -> None:
        """Look at the machine, without asking PyTorch, and start reading."""
        psutil.cpu_percent()
        self._timer.start()
        # The first picture of the window comes first, so the wait begins with the event loop.
        QTimer.singleShot(0, self, lambda: QTimer.singleShot(FIRST_READ_MS, self, self._look))

    def _look(self) -> None:
        self.examine(ask_torch=False)
        self._read()

    def examine(self, *, ask_torch: bool) -> None:
        """Look at the machine in full; PyTorch is asked in a process of its own, which takes seconds."""
        background.run(
            self,
            lambda: rig.examine(ask_torch=ask_torch, disk_path=data_dir()),
            done=self._on_examined,
            failed=lambda _error: None,
        )

    def _on_examined(self, report: RigReport) -> None:
        self.report = report
        self.examined.emit(report)

    def _read(self) -> None:
        if not self._is_reading:
            self._is_reading, links = True, self.watches_links
            # Memory, too: on a busy system the kernel takes its time to add it up.
            background.run(
                self,
                lambda: (rig.meters.read(), rig.meters.traffic() if links else (), psutil.virtual_memory()),
                done=self._on_read,
                failed=self._on_unreadable,
            )

    def _on_read(self, answer: tuple[tuple[Reading, ...], tuple[Traffic, ...], Any]) -> None:
        self._is_reading = False
        cards, traffic, memory = answer
        self.vitals = Vitals(
            cards=cards,
            # psutil measures since the last call on the same thread, so this is always asked on the window's.
            cpu_load=psutil.cpu_percent() / 100,
            ram_used_bytes=memory.total - memory.available,
            ram_total_bytes=memory.total,
            traffic=traffic,
        )
        self.read.emit(self.vitals)

    def _on_unreadable(self, _error: UserError) -> None:
        self._is_reading = False


def card_name(card: Card) -> str:
    """Return a card's model without the maker's prefixes."""
    return card.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
