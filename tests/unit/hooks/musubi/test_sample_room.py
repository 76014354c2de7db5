"""A pass of samples that does not fit is made once more with more blocks aside, and then given up."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from diffusionforce.hooks.musubi.sample_room import SamplePass
from diffusionforce.pipeline.shortage import Shortage

SHORTAGE = Shortage(device=torch.device("cuda", 0), wanted_bytes=1, message="")


class Room:
    """As many passes fail as are asked for, and each lets one block more step aside, while there are some."""

    def __init__(self, *, num_fails: int, num_blocks: int) -> None:
        self.num_fails, self._blocks = num_fails, list(range(num_blocks))
        self.aside: tuple[frozenset[int], ...] = (frozenset(),)

    def run(self, make: Any) -> Shortage | None:
        make()
        if self.num_fails == 0:
            return None
        self.num_fails -= 1
        if self._blocks:
            self.aside = (self.aside[0] | {self._blocks.pop()},)
        return SHORTAGE


@pytest.mark.parametrize(
    ("num_fails", "num_blocks", "num_passes", "is_left_out"),
    [(0, 4, 1, False), (1, 4, 2, False), (2, 4, 2, True), (1, 0, 1, True)],
)
def test_a_pass_is_made_once_more_where_more_blocks_can_step_aside(
    num_fails: int, num_blocks: int, num_passes: int, is_left_out: bool
) -> None:
    passes, left_out = list[int](), list[int]()

    class Trainer:
        def sample_images(self, *args: Any) -> None:
            args[5].eval()
            passes.append(args[3])

        def before_samples(self, *_: Any) -> None:
            pass

    trainer: Any = type("Composed", (SamplePass, Trainer), {"__init__": lambda self: None})()
    trainer.room = Room(num_fails=num_fails, num_blocks=num_blocks)
    listener = SimpleNamespace(on_samples_skipped=lambda step, shortage: left_out.append(step))
    trainer.assignment = SimpleNamespace(listener=listener)
    transformer = nn.Linear(1, 1).train()
    trainer.sample_images(None, None, None, 7, None, transformer, None, None)
    assert passes == [7] * num_passes and left_out == [7] * is_left_out
    assert transformer.training == is_left_out, "a pass that was made is the trainer's to end"
