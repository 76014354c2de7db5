"""RAM that runs short, as the test makes it up."""

from collections import namedtuple

import pytest

from diffusionforce.trainer import scarcity
from diffusionforce.trainer.scarcity import GIB, LOOK_EVERY_S, ScarceRam
from diffusionforce.wire import Warn

Memory = namedtuple("Memory", "total available")


class Watched:
    """A computer of 16 GB whose free RAM the test sets, in GB."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.available = 8.0
        self.now_s = 0.0
        self.warned: list[Warn] = []
        self.num_saves = 0
        monkeypatch.setattr(scarcity.psutil, "virtual_memory", lambda: Memory(16 * GIB, int(self.available * GIB)))
        self.ram = ScarceRam(warn=self.warned.append, save=self._save, clock=lambda: self.now_s)

    def _save(self) -> None:
        self.num_saves += 1

    def look(self, available: float) -> int:
        self.available = available
        self.now_s += LOOK_EVERY_S
        self.ram.look()
        return len(self.warned)


def test_scarce_ram_is_told_once_and_what_there_is_is_saved(monkeypatch: pytest.MonkeyPatch):
    watched = Watched(monkeypatch)
    assert [watched.look(gib) for gib in (8, 0.7, 0.5, 0.3)] == [0, 0, 1, 1]
    assert watched.num_saves == 1
    assert watched.warned[0].sentence == "The computer runs short of RAM: 0.5 GB of 16 GB are left."


def test_it_is_told_again_only_after_there_was_much_more(monkeypatch: pytest.MonkeyPatch):
    watched = Watched(monkeypatch)
    assert [watched.look(gib) for gib in (0.5, 0.8, 0.5, 3, 0.5)] == [1, 1, 1, 1, 2]


def test_it_does_not_look_at_every_step(monkeypatch: pytest.MonkeyPatch):
    watched = Watched(monkeypatch)
    watched.look(8)
    watched.available = 0.1
    watched.ram.look()
    assert watched.warned == []
