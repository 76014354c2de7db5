"""The parts of the base training that do not need a GPU."""

import sys
import time

import numpy as np
import pytest
import torch
from tests.support.pocket_models import tiny_transformer

from diffusionforce.engines.pocket.config import MAX_WORDS
from pocket.drawing import CAPTIONS_PER_PICTURE, DrawingRoom
from pocket.optimiser import BaseOptimiser, orthogonalised


def test_updates_become_nearly_orthogonal() -> None:
    matrices = torch.randn(3, 40, 24, generator=torch.Generator().manual_seed(1))
    matrices[0] *= 100
    values = torch.linalg.svdvals(orthogonalised(matrices))
    assert values.min() > 0.4
    assert values.max() < 1.4


def test_both_optimisers_follow_the_gradient() -> None:
    transformer = tiny_transformer().requires_grad_(True)
    before = {name: value.detach().clone() for name, value in transformer.named_parameters()}
    optimiser = BaseOptimiser(transformer.named_parameters(), fused=False)
    for parameter in transformer.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step(1e-3)
    for name, value in transformer.named_parameters():
        assert (value - before[name]).sum() < 0, name


@pytest.mark.skipif(sys.platform != "linux", reason="the base is trained on Linux: drawers are forked")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_drawers_fill_their_rings_and_wait() -> None:
    room = DrawingRoom(1, num_slots=4, size_px=16)
    room.start()
    try:
        _wait_for(room, 4)
        first = room.pictures[0, 0].copy()
        assert room.words.shape == (1, 4, CAPTIONS_PER_PICTURE, MAX_WORDS, 2)
        assert room.words[0].any(axis=(1, 2, 3)).all()
        assert room.pictures[0].astype(int).std(axis=(1, 2, 3)).min() > 0
        room.release(0, 1)
        _wait_for(room, 3, changed_from=first)
    finally:
        room.stop()


def _wait_for(room: DrawingRoom, count: int, *, changed_from: np.ndarray | None = None) -> None:
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        slots = room.waiting(0, at_most=9)
        is_changed = changed_from is None or (room.pictures[0, 0] != changed_from).any()
        if slots.stop - slots.start == count and is_changed:
            return
        time.sleep(0.01)
    raise AssertionError("the drawer did not draw")
