from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import torch

from diffusionforce.pipeline.nesting import map_tensors


class Pair(NamedTuple):
    left: torch.Tensor
    right: int


@dataclass
class Group:
    shift: torch.Tensor
    name: str


def test_tensors_are_replaced_at_any_depth_and_types_are_kept():
    one = torch.ones(1)
    value = ([one, (one, None)], {"pair": Pair(one, 3), "group": Group(one, "first")}, OrderedDict(x=one))
    changed = map_tensors(value, lambda tensor: tensor + 1)
    assert changed[0][0].item() == changed[0][1][0].item() == changed[2]["x"].item() == 2
    assert changed[1]["pair"] == Pair(torch.tensor([2.0]), 3) and isinstance(changed[1]["pair"], Pair)
    assert isinstance(changed[1]["group"], Group) and changed[1]["group"].name == "first"
    assert isinstance(changed[2], OrderedDict)


def test_what_does_not_change_is_not_rebuilt():
    value = [(torch.ones(1),), {"a": Group(torch.ones(1), "x")}, 5]
    assert map_tensors(value, lambda tensor: tensor) is value
