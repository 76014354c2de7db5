"""Sample passes with blocks aside: the training before and after must not notice."""

import random
import weakref
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.support.small_dit import SmallDit, flow_loss, small_batch, small_dit

from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.aside import SampleRoom
from diffusionforce.pipeline.executor.step import StepExecutor
from diffusionforce.pipeline.pager.pager import CardPaging, Pager
from diffusionforce.pipeline.pager.slots import spread
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.recompute.graphs import BlockGraphs
from diffusionforce.pipeline.schedule.generators import Costs, interleaved
from diffusionforce.pipeline.splitter.model import Cut

CPU = torch.device("cpu")
STAGES = (0, 1, 0, 1)
SIZES = (2, 3, 2, 1)
BLOCKS = ((0, 1, 5, 6), (2, 3, 4, 7))
ORDER = interleaved(Costs.equal(STAGES), num_microbatches=2)
BATCHES = [small_batch(1, seed=seed) for seed in range(2)]
SIZE_OF_SAMPLE = 3
NUM_STEPS = 2
NO_MEMORY = torch.OutOfMemoryError(
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 24 GiB"
)


class Training:
    """A small run on two logical devices, with dropout from the common random numbers."""

    def __init__(
        self,
        *,
        num_aside: Sequence[int] = (2, 3),
        paged: Sequence[set[int]] = (set(), set()),
        graphs: BlockGraphs | None = None,
    ) -> None:
        self.model: SmallDit = small_dit(num_blocks=8, dropout=0.2)
        # Weights that do not lie in the usual order must do so again afterwards: other kernels may be chosen for them.
        with torch.no_grad():
            for block in self.model.blocks:
                weight = block.get_parameter("qkv.base.weight")
                weight.data = weight.data.t().contiguous().t()
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-2)
        plans = [
            CardPaging(device=CPU, blocks=blocks, paged=frozenset(away), num_slots=2)
            for blocks, away in zip(BLOCKS, paged, strict=True)
        ]
        self.pager = Pager(list(self.model.blocks), plans)
        cut = Cut(chunk_sizes=SIZES, card_of_chunk=STAGES, order=tuple(ORDER))
        self.pager.follow([cut.visits(0), cut.visits(1)])
        placement = Placement(devices=(CPU, CPU), chunk_sizes=SIZES, stage_of_chunk=STAGES)
        self.executor = StepExecutor(self.model.blocks, placement, recompute=True, graphs=graphs).install()
        self.room = SampleRoom(self.pager, num_aside=num_aside, wrappers=[self.executor], graphs=graphs)

    def step(self) -> tuple[list[float], list[torch.Tensor]]:
        """The losses of a step and the trained parameters after it."""
        self.optimizer.zero_grad(set_to_none=True)
        functions = [lambda batch=batch: flow_loss(self.model, batch) for batch in BATCHES]
        losses = self.executor.step(ORDER, microbatches=functions)
        self.optimizer.step()
        return [loss.item() for loss in losses], [parameter.detach().clone() for parameter in self.trained]

    def frozen(self) -> list[torch.Tensor]:
        """All frozen parameters and buffers of the blocks, as the modules hold them."""
        blocks = self.model.blocks
        return [t for t in [*blocks.parameters(), *blocks.buffers()] if not t.requires_grad]

    def close(self) -> None:
        self.executor.remove()
        self.pager.close()
        assert not any("forward" in vars(block) for block in self.model.blocks), "a wrapper was left behind"


def sample_of(model: SmallDit) -> torch.Tensor:
    """A sample pass: several evaluations, and whatever random numbers it likes."""
    x, timestep, text, _ = small_batch(SIZE_OF_SAMPLE, seed=99)
    model.eval()
    with torch.no_grad():
        for _ in range(3):
            x = x + 0.1 * model(x, timestep, text)
        x = x + 0.01 * torch.randn_like(x) + float(np.random.rand()) + random.random()
    model.train()
    return x


@pytest.fixture(scope="module")
def losses_without_samples() -> list[tuple[list[float], list[torch.Tensor]]]:
    torch.manual_seed(7)
    training = Training()
    torch.manual_seed(11)
    steps = [training.step() for _ in range(NUM_STEPS)]
    training.close()
    return steps


def assert_same(expected, found) -> None:
    for (losses, parameters), (other_losses, other_parameters) in zip(expected, found, strict=True):
        assert losses == other_losses
        assert all(torch.equal(one, other) for one, other in zip(parameters, other_parameters, strict=True))


@pytest.mark.parametrize(
    ("num_aside", "paged", "mode"),
    [
        ((2, 1), (set(), set()), torch.no_grad),
        ((0, 4), (set(), set()), torch.inference_mode),
        ((2, 1), ({0, 6}, {3}), torch.no_grad),
        ((2, 3), ({0, 6}, {3}), torch.inference_mode),
        ((1, 1), (set(), {2, 3, 7}), torch.no_grad),
        ((0, 0), (set(), {2, 3, 7}), torch.inference_mode),
    ],
)
def test_losses_and_weights_are_those_of_a_run_without_samples(losses_without_samples, paged, num_aside, mode):
    training = Training(num_aside=num_aside, paged=paged)
    np.random.seed(3)
    random.seed(3)
    torch.manual_seed(11)
    found, samples = [], list[torch.Tensor]()
    with mode():  # The first pass makes the slots and finds places in RAM.
        training.room.run(lambda: samples.append(sample_of(training.model)))
    for _ in range(NUM_STEPS):
        found.append(training.step())
        assert training.room.run(lambda: samples.append(sample_of(training.model))) is None
    assert_same(losses_without_samples, found)
    assert [count.late_loads for count in training.pager.counts] == [0, 0]
    assert len(samples) == NUM_STEPS + 1
    training.close()


def test_a_pass_gives_what_the_resident_model_gives():
    training = Training()
    torch.manual_seed(1)
    expected = training.model.eval()(*small_batch(2)[:3]).detach()
    found: list[torch.Tensor] = []
    with torch.no_grad():
        training.room.run(lambda: found.append(training.model(*small_batch(2)[:3])))
    assert torch.equal(found[0], expected)
    training.close()


def test_blocks_come_back_as_the_same_tensors_with_the_same_values_in_the_same_order():
    training = Training(num_aside=(3, 1), paged=(set(), {3}))
    before = [(id(t), t.device, t.stride(), t.detach().clone()) for t in training.frozen()]
    places = [t.data_ptr() for t in training.frozen()]
    seen: list[list[int]] = []
    training.room.run(lambda: seen.append([t.data_ptr() for t in training.frozen()]))
    assert sum(one != other for one, other in zip(places, seen[0], strict=True)) == 4 * len(places) // 8
    for tensor, (name, device, stride, value) in zip(training.frozen(), before, strict=True):
        assert (id(tensor), tensor.device, tensor.stride()) == (name, device, stride)
        assert torch.equal(tensor, value)
    # Locked memory is dear to get: a second pass uses the same.
    training.room.run(lambda: seen.append([t.data_ptr() for t in training.frozen()]))
    assert [a for a, b in zip(seen[0], places, strict=True) if a != b] == [
        a for a, b in zip(seen[1], places, strict=True) if a in seen[0] and a != b
    ]
    training.close()


def test_a_sample_without_memory_is_given_up_and_its_tensors_go_before_the_blocks_return(losses_without_samples):
    training = Training()
    made: list[weakref.ref[torch.Tensor]] = []
    alive_at_return: list[bool] = []
    come_back = training.pager.come_back

    def noting() -> None:
        alive_at_return.append(any(ref() is not None for ref in made))
        come_back()

    training.pager.come_back = noting

    def fail() -> None:
        held = torch.rand(1000)
        made.append(weakref.ref(held))
        x, timestep, text, _ = small_batch(2)
        handle = training.model.blocks[3].register_forward_pre_hook(raise_no_memory)
        try:
            training.model(x, timestep, text)
        finally:
            handle.remove()

    torch.manual_seed(11)
    found = []
    for _ in range(NUM_STEPS):
        found.append(training.step())
        shortage = training.room.run(fail)
        assert shortage is not None
        assert (shortage.device, shortage.wanted_bytes) == (torch.device("cuda", 1), 5 << 29)
    assert_same(losses_without_samples, found)
    assert alive_at_return == [False] * NUM_STEPS
    training.close()


def raise_no_memory(*_: object) -> None:
    raise NO_MEMORY


def test_no_memory_for_the_slots_is_like_no_memory_for_the_sample(losses_without_samples, monkeypatch):
    training = Training()
    card, calls = training.pager._cards[1], list[int]()
    page = card.page

    def fail_once(packed) -> None:
        calls.append(len(packed))
        if len(calls) == 1:
            raise NO_MEMORY
        page(packed)

    monkeypatch.setattr(card, "page", fail_once)
    torch.manual_seed(11)
    assert training.room.run(lambda: calls.append(99)) is not None
    assert calls == [3, 0]
    assert_same(losses_without_samples, [training.step() for _ in range(NUM_STEPS)])
    training.close()


@pytest.mark.parametrize("error", [DeviceError("A sample cannot be made."), KeyboardInterrupt(), ZeroDivisionError()])
def test_other_exceptions_pass_when_the_blocks_are_back(losses_without_samples, error: BaseException):
    training = Training(paged=({1}, set()))

    def fail() -> None:
        training.model(*small_batch(2)[:3])
        random.random()
        raise error

    torch.manual_seed(11)
    places = [t.stride() for t in training.frozen()]
    with pytest.raises(type(error)) as caught:
        training.room.run(fail)
    assert caught.value is error
    assert [t.stride() for t in training.frozen()] == places
    assert_same(losses_without_samples, [training.step() for _ in range(NUM_STEPS)])
    training.close()


def test_graphs_are_released_when_blocks_move_and_only_then():
    class Counted(BlockGraphs):
        num_released = 0

        def release(self) -> None:
            self.num_released += 1
            super().release()

    released: list[int] = []
    for num_aside in ((0, 0), (0, 1)):
        graphs = Counted()
        training = Training(num_aside=num_aside, graphs=graphs)
        training.step()
        training.room.run(lambda training=training: sample_of(training.model))
        training.step()
        training.close()
        released.append(graphs.num_released)
    assert released == [0, 1]


def test_more_blocks_than_a_card_has_cannot_step_aside():
    with pytest.raises(DeviceError, match="3 blocks are to step aside, but only 2"):
        Training(num_aside=(3, 0), paged=({0, 1}, set()))


@pytest.mark.parametrize(("num", "expected"), [(0, set()), (1, {4}), (2, {2, 6}), (8, set(range(8)))])
def test_blocks_that_step_aside_are_spread_over_the_card(num: int, expected: set[int]):
    assert spread(range(8), num) == expected


@pytest.mark.parametrize(
    ("num_aside", "paged", "num_blocks_wanted", "expected"),
    [
        ((0, 0), (set(), set()), 0.5, [4, 4]),  # Two slots, and twice what was lacking.
        ((1, 0), (set(), {2}), 0.5, [3, 2]),
        ((1, 1), (set(), set()), 99, [4, 4]),
        ((2, 4), (set(), set()), None, [4, 4]),
    ],
)
def test_after_a_shortage_more_blocks_step_aside(num_aside, paged, num_blocks_wanted, expected):
    training = Training(num_aside=num_aside, paged=paged)
    block_bytes = training.pager.paged_bytes(0)
    wanted = f" Tried to allocate {int(num_blocks_wanted * block_bytes)} bytes." if num_blocks_wanted else ""

    def fail() -> None:
        raise torch.OutOfMemoryError(f"CUDA out of memory.{wanted}")

    assert training.room.run(fail) is not None
    assert [len(blocks) for blocks in training.room.aside] == expected
    assert training.room.run(lambda: sample_of(training.model)) is None
    training.close()


def test_blocks_for_which_ram_has_no_place_stay(monkeypatch: pytest.MonkeyPatch):
    training = Training(num_aside=(1, 1))
    available = 6 * training.pager.paged_bytes(0)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=available))
    training.room.run(lambda: raise_error(torch.OutOfMemoryError("CUDA out of memory.")))
    assert [len(blocks) for blocks in training.room.aside] == [3, 1]  # Half of RAM takes three more, two at a time.
    training.close()


def raise_error(error: Exception) -> None:
    raise error
