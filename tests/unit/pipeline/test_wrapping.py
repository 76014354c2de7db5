"""Forwards that are replaced and put back."""

import torch
from torch import nn

from diffusionforce.pipeline.wrapping import replace_forward

ONE = torch.ones(1)


def adding(block: nn.Module, number: float):
    inner = block.forward
    return replace_forward(block, lambda value: inner(value) + number)


def test_replacements_nest_and_are_undone_last_first():
    block = nn.Identity()
    undo = [adding(block, 1), adding(block, 10)]
    assert block(ONE) == 12
    undo.pop()()
    assert block(ONE) == 2
    undo.pop()()
    assert block(ONE) == 1
    assert "forward" not in vars(block), "the class's own forward is uncovered again"


def test_a_function_that_somebody_had_set_before_is_put_back():
    block = nn.Identity()
    before = block.forward = lambda input: input * 5
    put_back = adding(block, 1)
    assert block(ONE) == 6
    put_back()
    assert block.forward is before
