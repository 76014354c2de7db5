"""The pager on the CPU: same gradients as the resident model, and never a block before its copy has been waited for."""

from collections.abc import Callable

import pytest
import torch
from tests.support.gradients import gradient_differences
from tests.support.small_dit import SmallDit, flow_loss, small_batch, small_dit
from torch import nn

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.pager.slots import visits_of

CPU = torch.device("cpu")
GARBAGE = 0xFF
"""As floating-point bytes: not a number."""


class SlowLane:
    """A copy engine that delivers only when waited for, and leaves garbage in the slot until then."""

    def __init__(self) -> None:
        self.pending: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.in_use: set[int] = set()
        self.num_loads = 0

    def load(self, slot: int, memory: torch.Tensor, source: torch.Tensor) -> None:
        assert slot not in self.in_use, "a slot was overwritten while it was used"
        memory.fill_(GARBAGE)
        self.pending[slot] = (memory, source)
        self.num_loads += 1

    def begin_use(self, slot: int) -> None:
        if slot in self.pending:
            memory, source = self.pending.pop(slot)
            memory[: source.numel()].copy_(source)
        self.in_use.add(slot)

    def end_use(self, slot: int) -> None:
        self.in_use.discard(slot)


def trained_gradients(model: nn.Module, num_microbatches: int = 2) -> dict[str, torch.Tensor | None]:
    model.zero_grad(set_to_none=True)
    torch.manual_seed(9)
    for index in range(num_microbatches):
        flow_loss(model, small_batch(2, seed=index)).backward()
    return {
        name: None if parameter.grad is None else parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def one_card(model: SmallDit, paged: set[int], *, num_slots: int = 3) -> tuple[Pager, SlowLane]:
    lane = SlowLane()
    num_blocks = len(model.blocks)
    plan = CardPaging(device=CPU, blocks=tuple(range(num_blocks)), paged=frozenset(paged), num_slots=num_slots)
    pager = Pager(list(model.blocks), [plan], lanes=[lane])
    pager.follow([visits_of([("F", range(num_blocks)), ("B", range(num_blocks))])])
    return pager, lane


SHAPES: dict[str, Callable[[], SmallDit]] = {
    "no checkpointing": lambda: small_dit(),
    "checkpointing inside": lambda: small_dit(checkpointing=True),
    "checkpointing around": lambda: small_dit(around=True),
    "dropout": lambda: small_dit(checkpointing=True, dropout=0.3),
    "in place": lambda: small_dit(in_place=True),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("paged", [{0, 1, 2, 3, 4, 5}, {1, 3, 5}, {0}])
def test_gradients_equal_those_of_the_resident_model(shape: str, paged: set[int]):
    expected = trained_gradients(SHAPES[shape]())
    model = SHAPES[shape]()
    pager, _ = one_card(model, paged, num_slots=2)
    for _ in range(3):
        found = trained_gradients(model)
        assert not gradient_differences(expected, found, tolerance=0.0)
    pager.close()


def test_every_block_was_on_its_way_before_its_turn():
    model = small_dit(checkpointing=True)
    pager, lane = one_card(model, {0, 1, 2, 3, 4, 5})
    trained_gradients(model, num_microbatches=6)
    count = pager.counts[0]
    assert count.late_loads == 0
    assert count.loads == lane.num_loads
    # Twelve visits a micro-batch; the slots carry blocks over the two turns of each.
    assert count.loads <= 6 * 8 + 3
    pager.close()


def test_a_slot_is_free_again_when_a_resident_block_begins():
    model = small_dit()
    pager, lane = one_card(model, {0, 3})
    used_during: dict[int, list[set[int]]] = {1: [], 4: []}
    for block, seen in used_during.items():
        model.blocks[block].register_forward_pre_hook(lambda *_, seen=seen: seen.append(set(lane.in_use)))
        model.blocks[block].register_full_backward_hook(lambda *_, seen=seen: seen.append(set(lane.in_use)))
    trained_gradients(model, num_microbatches=1)
    assert used_during == {1: [set(), set()], 4: [set(), set()]}
    pager.close()


def test_outside_of_its_visit_a_paged_block_is_seen_in_ram():
    # Whoever captures a block's kernels with the addresses of its weights must not take a slot for its home.
    model = small_dit()
    pager, _ = one_card(model, {0, 1})
    homes = {p.data_ptr() for p in model.blocks[0].parameters() if not p.requires_grad}
    seen: list[bool] = []
    model.blocks[0].register_forward_hook(
        lambda *_: seen.append(homes == {p.data_ptr() for p in model.blocks[0].parameters() if not p.requires_grad})
    )
    trained_gradients(model)
    assert seen == [True, True]
    pager.close()


def test_a_wrong_order_costs_loads_but_never_correctness():
    expected = trained_gradients(small_dit())
    model = small_dit()
    pager, _ = one_card(model, {0, 1, 2, 3, 4, 5})
    pager.follow([[5, 3, 1]])
    assert not gradient_differences(expected, trained_gradients(model), tolerance=0.0)
    assert pager.counts[0].late_loads > 1
    pager.close()


def test_two_cards_page_their_own_blocks():
    expected = trained_gradients(small_dit())
    model = small_dit()
    lanes = [SlowLane(), SlowLane()]
    plans = [
        CardPaging(device=CPU, blocks=(0, 1, 4), paged=frozenset({1, 4}), num_slots=2),
        CardPaging(device=CPU, blocks=(2, 3, 5), paged=frozenset({2, 3, 5}), num_slots=2),
    ]
    pager = Pager(list(model.blocks), plans, lanes=lanes)
    pager.follow([visits_of([("F", plan.blocks), ("B", plan.blocks)]) for plan in plans])
    assert not gradient_differences(expected, trained_gradients(model), tolerance=0.0)
    assert lanes[0].num_loads == 2, "two paged blocks in two slots are loaded once"
    assert lanes[1].num_loads > 3
    pager.close()


def test_samples_between_steps_keep_the_results_and_need_no_late_loads():
    model = small_dit()
    x, timestep, text, _ = small_batch(2)
    with torch.no_grad():
        expected = model(x, timestep, text)
    expected_gradients = trained_gradients(model)
    pager, _ = one_card(model, {0, 2, 3, 5})
    trained_gradients(model)
    with pager.forward_only(), torch.no_grad():
        for _ in range(3):
            assert torch.equal(model(x, timestep, text), expected)
    assert not gradient_differences(expected_gradients, trained_gradients(model), tolerance=0.0)
    assert pager.counts[0].late_loads == 0
    pager.close()


def test_eight_bit_weights_and_their_scales_move_as_they_are():
    class EightBit(nn.Module):
        scale: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randint(-127, 127, (5, 3), dtype=torch.int8), requires_grad=False)
            self.register_buffer("scale", torch.rand(5, 1))
            self.register_buffer("zero", torch.tensor(2, dtype=torch.int16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + x @ (self.weight * self.scale).mean(0).diag() + self.get_buffer("zero")

    torch.manual_seed(0)
    blocks = [EightBit() for _ in range(4)]
    whole = nn.Sequential(*blocks)
    x = torch.rand(2, 3)
    expected = whole(x)
    pager = Pager(
        blocks, [CardPaging(device=CPU, blocks=(0, 1, 2, 3), paged=frozenset({0, 1, 2, 3}))], lanes=[SlowLane()]
    )
    pager.follow([range(4)])
    assert torch.equal(whole(x), expected)
    pager.close()


def test_trained_parameters_stay_and_closing_gives_the_model_back():
    model = small_dit()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    trained = {name: parameter.data_ptr() for name, parameter in model.named_parameters() if parameter.requires_grad}
    pager, _ = one_card(model, {0, 1, 2})
    trained_gradients(model)
    assert {name: p.data_ptr() for name, p in model.named_parameters() if p.requires_grad} == trained
    pager.close()
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not any("forward" in vars(block) for block in model.blocks), "a wrapper was left behind"


def test_a_block_that_writes_to_its_buffer_cannot_be_paged():
    class Counting(nn.Module):
        calls: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x

    block = Counting()
    Pager([block], [CardPaging(device=CPU, blocks=(0,), paged=frozenset({0}))])
    with pytest.raises(DeviceError, match=r'Block 0 cannot be paged.*"calls"'):
        block(torch.zeros(1))


def test_weights_that_two_blocks_share_stay_resident():
    first, second = nn.Linear(3, 3).requires_grad_(False), nn.Linear(3, 3).requires_grad_(False)
    second.weight = first.weight
    resident = first.weight.data_ptr()
    pager = Pager([first, second], [CardPaging(device=CPU, blocks=(0, 1), paged=frozenset({0, 1}))])
    assert first.weight.data_ptr() == second.weight.data_ptr() == resident
    pager.close()


def test_blocks_that_were_paged_before_are_paged_whole_again():
    model = small_dit()
    first, _ = one_card(model, {0, 2})
    loaded_bytes = first.counts[0].loaded_bytes
    first.close()
    second, _ = one_card(model, {0, 2})
    assert second.counts[0].loaded_bytes == loaded_bytes > 0
    second.close()


def test_blocks_that_are_pieces_of_one_large_buffer_are_paged():
    blocks = [nn.Linear(8, 8).requires_grad_(False), nn.Linear(8, 8).requires_grad_(False)]
    buffer = torch.randn(2, 72)
    for block, piece in zip(blocks, buffer, strict=True):
        block.weight.data, block.bias.data = piece[:64].view(8, 8), piece[64:]
    pager = Pager(blocks, [CardPaging(device=CPU, blocks=(0, 1), paged=frozenset({0, 1}))])
    begin, end = buffer.data_ptr(), buffer.data_ptr() + buffer.numel() * buffer.element_size()
    assert not any(begin <= p.data_ptr() < end for block in blocks for p in block.parameters())
    pager.close()


@pytest.mark.parametrize(
    ("plans", "words"),
    [
        ([CardPaging(device=CPU, blocks=(0,), paged=frozenset({1}))], "not its own"),
        ([CardPaging(device=CPU, blocks=(0,)), CardPaging(device=CPU, blocks=(0,))], "on one only"),
    ],
)
def test_impossible_plans_are_refused(plans: list[CardPaging], words: str):
    with pytest.raises(DeviceError, match=words):
        Pager([nn.Identity(), nn.Identity()], plans)
