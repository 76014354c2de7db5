"""Paged blocks can be told from resident ones, and only they may be away from their device."""

import pytest
import torch
from tests.support.small_dit import SmallDit, small_dit
from torch import nn

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.pager.marks import is_paged, mark_paged
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.pager.store import PackedBlock
from diffusionforce.pipeline.placement import even_placement, verify_placement
from diffusionforce.pipeline.router import Router
from diffusionforce.pipeline.wrapping import replace_forward

CPU = torch.device("cpu")
PAGED = {1, 3}


@pytest.fixture
def model() -> SmallDit:
    return small_dit(num_blocks=4)


def pager_of(model: SmallDit) -> Pager:
    return Pager(list(model.blocks), [CardPaging(device=CPU, blocks=(0, 1, 2, 3), paged=frozenset(PAGED))])


def paged(model: SmallDit) -> set[int]:
    return {index for index, block in enumerate(model.blocks) if is_paged(block)}


def test_the_blocks_that_a_pager_brings_in_are_marked_until_it_is_closed(model: SmallDit):
    assert paged(model) == set()
    pager = pager_of(model)
    assert paged(model) == PAGED
    pager.step_aside([{0}])
    assert paged(model) == PAGED | {0}
    pager.come_back()
    assert paged(model) == PAGED
    pager.close()
    assert paged(model) == set()


def test_the_mark_is_seen_through_what_wraps_the_pager(model: SmallDit):
    pager_of(model)
    with Router(model.blocks, even_placement(4, ["cpu"])).install():
        assert paged(model) == PAGED


class Block(nn.Module):
    """Weights that may be paged, with something trained on top."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4), requires_grad=False)
        self.register_buffer("scale", torch.ones(1))
        self.trained = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@pytest.fixture
def blocks() -> list[Block]:
    """The first resident on a card that is played, the second paged."""
    resident, paged = Block().to("meta"), Block()
    packed = PackedBlock(paged)
    paged.trained = nn.Parameter(paged.trained.detach().to("meta"))

    def forward(x: torch.Tensor) -> torch.Tensor:
        return x

    mark_paged(forward, packed)
    replace_forward(paged, forward)
    return [resident, paged]


ON_A_CARD = even_placement(2, ["meta"])


def test_paged_tensors_and_no_others_may_be_away(blocks: list[Block]):
    assert verify_placement(blocks, ON_A_CARD, paged={1}) == {torch.device("meta"): 4 * (4 + 1 + 2) + 4 * 2}
    blocks[1].trained = nn.Parameter(torch.ones(2))
    with pytest.raises(DeviceError, match='Tensor "trained" of block 1 is on cpu, but the plan puts it on meta'):
        verify_placement(blocks, ON_A_CARD, paged={1})


@pytest.mark.parametrize(
    ("planned", "words"),
    [(set(), "Block 1 is paged, but the plan keeps it"), ({0, 1}, "Block 0 is to be paged, but it is not")],
)
def test_the_paged_blocks_must_be_those_of_the_plan(blocks: list[Block], planned: set[int], words: str):
    with pytest.raises(DeviceError, match=words):
        verify_placement(blocks, ON_A_CARD, paged=planned)


def test_a_block_in_ram_that_nothing_brings_in_is_found():
    with pytest.raises(DeviceError, match='Tensor "weight" of block 0 is on cpu'):
        verify_placement([Block(), Block()], ON_A_CARD)
