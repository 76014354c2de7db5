import pytest
import torch
from tests.support.virtual_devices import place_virtually, virtual_device
from torch import nn

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.placement import Placement, even_placement, full_device, place_blocks, verify_placement

FIRST, SECOND = virtual_device(0), virtual_device(1)


def test_even_placement_gives_runs_of_blocks():
    placement = even_placement(7, [FIRST, SECOND])
    assert [list(chunk) for chunk in placement.chunks] == [[0, 1, 2, 3], [4, 5, 6]]
    assert placement.device_of_block == (FIRST,) * 4 + (SECOND,) * 3


def test_interleaved_chunks_alternate_between_devices():
    placement = even_placement(10, [FIRST, SECOND], chunks_per_stage=2)
    assert placement.stage_of_chunk == (0, 1, 0, 1)
    assert sorted(placement.chunk_sizes) == [2, 2, 3, 3]
    assert placement.blocks_of_stage(0) + placement.blocks_of_stage(1) != tuple(range(10))
    assert sorted(placement.blocks_of_stage(0) + placement.blocks_of_stage(1)) == list(range(10))


def test_one_device_may_hold_two_stages():
    placement = even_placement(4, ["cpu", "cpu"])
    assert placement.device_of_chunk == (torch.device("cpu"),) * 2


def test_cuda_without_an_index_means_the_first_card():
    assert full_device("cuda") == torch.device("cuda:0")
    assert even_placement(2, ["cuda"]).devices == (torch.device("cuda:0"),)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: even_placement(3, [FIRST, SECOND], chunks_per_stage=2), "3 blocks cannot fill 4 chunks"),
        (lambda: even_placement(3, []), "at least one device"),
        (lambda: Placement(devices=(), chunk_sizes=(1,), stage_of_chunk=(0,)), "at least one device"),
        (lambda: Placement(devices=(FIRST,), chunk_sizes=(1, 2), stage_of_chunk=(0,)), "2 chunks but 1 stages"),
        (lambda: Placement(devices=(FIRST,), chunk_sizes=(0, 2), stage_of_chunk=(0, 0)), "at least one block"),
        (lambda: Placement(devices=(FIRST,), chunk_sizes=(1, 2), stage_of_chunk=(0, 1)), "beyond the 1 devices"),
    ],
)
def test_impossible_placements_are_refused_with_their_numbers(make, words):
    with pytest.raises(DeviceError, match=words):
        make()


def test_place_blocks_moves_every_block():
    blocks = [nn.Linear(2, 2) for _ in range(2)]
    place_blocks(blocks, even_placement(2, ["meta", "cpu"]))
    assert [block.weight.device.type for block in blocks] == ["meta", "cpu"]


def test_verify_counts_bytes_per_device_once():
    blocks = [nn.Linear(4, 4, bias=False) for _ in range(3)]
    blocks[1].weight = blocks[0].weight
    blocks[0].register_buffer("table", torch.zeros(3, dtype=torch.float16))
    held_bytes = verify_placement(blocks, even_placement(3, ["cpu"]))
    assert held_bytes == {torch.device("cpu"): 2 * 64 + 6}


def test_verify_names_block_and_tensor_that_are_elsewhere():
    blocks = [nn.Linear(2, 2) for _ in range(2)]
    placement = even_placement(2, [FIRST, SECOND])
    for block, device in zip(blocks, placement.device_of_block, strict=True):
        place_virtually(block, device)
    verify_placement(blocks, placement)
    assert blocks[1].bias is not None
    blocks[1].bias = nn.Parameter(torch.zeros(2))
    with pytest.raises(DeviceError, match='Tensor "bias" of block 1 is on cpu, but the plan puts it on cpu:1'):
        verify_placement(blocks, placement)


def test_verify_reads_buffers_too():
    block = nn.BatchNorm1d(2).to("meta")
    block.running_mean = torch.zeros(2)
    with pytest.raises(DeviceError, match="running_mean"):
        verify_placement([block], even_placement(1, ["meta"]))


def test_the_number_of_blocks_must_be_the_placements():
    with pytest.raises(DeviceError, match="for 2 blocks, but the model has 1"):
        verify_placement([nn.Linear(1, 1)], even_placement(2, [FIRST, SECOND]))
