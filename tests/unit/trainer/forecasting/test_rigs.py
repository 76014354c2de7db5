"""The cards that a forecast is made for."""

from dataclasses import replace

import pytest

from diffusionforce.errors import DeviceError
from diffusionforce.job.profile import MemorySettings
from diffusionforce.pipeline.schedule.generators import interleaved
from diffusionforce.pipeline.schedule.simulation import Costs
from diffusionforce.rig import GIB, Card
from diffusionforce.trainer.forecasting import rigs
from diffusionforce.trainer.forecasting.rigs import Rig, rig_here, rig_imagined
from diffusionforce.ugpum.forecast import Layout

FIRST = Card(
    index=0,
    uuid="GPU-aaaa-1",
    name="NVIDIA GeForce RTX 5080",
    pci_address="00000000:01:00.0",
    total_bytes=16 * GIB,
    free_bytes=14 * GIB,
    used_bytes=2 * GIB,
    compute_capability=(12, 0),
    driver_version="580.65",
    pcie_generation=1,
    pcie_generation_max=5,
    pcie_width=16,
    display_attached=True,
)
SECOND = replace(
    FIRST, index=1, uuid="GPU-bbbb-2", name="NVIDIA GeForce RTX 4060 Ti", pcie_generation_max=4, pcie_width=8
)
NOBODYS = replace(FIRST, index=2, uuid="GPU-cccc-3", name="NVIDIA Thing 9000", pcie_width=None)


@pytest.fixture(autouse=True)
def cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cards, and a PyTorch that can use them."""
    monkeypatch.setattr(rigs, "read_cards", lambda: (FIRST, SECOND, NOBODYS))
    monkeypatch.setattr(rigs.metadata, "version", lambda _name: "2.13.0+cu130")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")


def test_all_cards_are_taken_with_what_is_free_on_them() -> None:
    rig = rig_here()
    assert [card.device for card in rig.shown] == ["cuda:0", "cuda:1", "cuda:2"]
    first = rig.shown[0]
    assert (first.label, first.taken_bytes) == ("GPU 0 (RTX 5080)", 2 * GIB)
    assert first.budget_bytes == 14 * GIB - first.reserve_bytes
    assert 0.98 * first.budget_bytes < rig.cards[0].budget_bytes < first.budget_bytes, "the allocator leaves holes"
    assert [sheet.name if sheet else None for sheet in rig.sheets] == ["RTX 5080", "RTX 4060 Ti 16GB", None]
    assert rig.is_here and rig.on_cards and rig.ram_usable_bytes < rig.ram_total_bytes


def test_more_is_left_to_an_allocator_whose_pieces_do_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    growing = rig_here().cards[0].budget_bytes
    monkeypatch.delenv("PYTORCH_ALLOC_CONF")
    assert 0.93 * growing < rig_here().cards[0].budget_bytes < 0.97 * growing


def test_an_idle_cards_link_counts_by_what_it_can_do() -> None:
    """An idle card runs its link at the first generation, which once made paging look ten times too slow."""
    rig = rig_here()
    assert rig.cards[0].link_bytes_per_s == 50e9
    assert rig.cards[1].link_bytes_per_s == 12.5e9
    assert rig.cards[2].link_bytes_per_s == 0.0, "a card that does not tell its width pages nothing"


def test_devices_are_taken_in_the_order_of_the_profile() -> None:
    rig = rig_here(("cuda:1", "cuda:0"))
    assert [card.device for card in rig.shown] == ["cuda:1", "cuda:0"]
    assert rig.cards[0].label == "GPU 1 (RTX 4060 Ti)"


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        ("1,0", ["GPU-bbbb-2", "GPU-aaaa-1"]),
        ("GPU-cccc", ["GPU-cccc-3"]),
        ("1,7,0", ["GPU-bbbb-2"]),
    ],
)
def test_cards_that_cuda_hides_are_not_there(monkeypatch: pytest.MonkeyPatch, visible: str, uuids: list[str]) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    rig = rig_here()
    assert [name.split()[-3] for name in rig.names] == [uuid.removeprefix("GPU-") for uuid in uuids]
    assert [card.device for card in rig.shown] == [f"cuda:{index}" for index in range(len(uuids))]


def test_without_visible_cards_the_processor_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    rig = rig_here()
    assert not rig.on_cards and rig.shown[0].device == "cpu"
    assert rig.shown[0].budget_bytes < rig.shown[0].total_bytes == rig.ram_total_bytes


def test_on_the_processor_it_is_said_that_settings_for_cards_do_nothing() -> None:
    # A reserve and a budget were passed over without a word, however they were written.
    memory = MemorySettings(reserve_gb=(1.0, 2.0), budget_gb=(0.1,))
    assert rig_here(("cpu",), memory=memory).notes == (
        "What [memory] says is for cards, and does nothing on the processor.",
    )
    assert rig_here(("cpu",), memory=MemorySettings()).notes == ()


def test_a_pytorch_for_processors_leaves_the_cards_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rigs.metadata, "version", lambda _name: "2.13.0+cpu")
    rig = rig_here()
    assert not rig.on_cards
    assert "build of PyTorch" in rig.notes[0]


def test_a_card_that_is_not_there_is_named() -> None:
    with pytest.raises(DeviceError, match="cuda:5 is asked for, but the rig has 3 cards") as raised:
        rig_here(("cuda:5",))
    assert "cuda:2" in raised.value.hint


def test_the_users_limits_count() -> None:
    rig = rig_here(("cuda:0", "cuda:1"), memory=MemorySettings(budget_gb=(8.0,), reserve_gb=(2.0, 3.0)))
    assert [card.budget_bytes for card in rig.shown] == [8 * GIB, 8 * GIB]
    tight = rig_here(("cuda:0", "cuda:1"), memory=MemorySettings(reserve_gb=(2.0, 3.0)))
    assert [card.budget_bytes for card in tight.shown] == [12 * GIB, 11 * GIB]
    with pytest.raises(DeviceError, match=r"memory\.reserve_gb has 2 numbers"):
        rig_here(memory=MemorySettings(reserve_gb=(2.0, 3.0)))


def test_a_rig_out_of_the_catalogue_needs_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rigs, "read_cards", lambda: pytest.fail("nobody asks the driver"))
    rig = rig_imagined("RTX 5080, 4060 Ti @x4", ram_gib=32)
    assert [card.label for card in rig.shown] == ["GPU 0 (RTX 5080)", "GPU 1 (RTX 4060 Ti 16GB)"]
    assert rig.cards[1].link_bytes_per_s == 6.25e9
    assert rig.ram_total_bytes == 32 * GIB and "32 GB of RAM" in rig.notes[0]
    assert not rig.is_here
    # The first card is taken to have a screen.
    assert rig.shown[0].reserve_bytes - rig.shown[1].reserve_bytes == GIB // 2


def test_what_is_shown_of_a_card_is_what_the_plan_may_fill() -> None:
    # Symptom: a refusal asked for more than the table beside it lacked.
    rig = rig_imagined("4060 ti, 3090")
    assert [card.usable_bytes for card in rig.shown] == [card.budget_bytes for card in rig.cards]
    assert all(0 < card.lost_bytes < card.budget_bytes // 20 for card in rig.shown)
    assert rig.notes[-1].startswith('"4060 ti" is taken for the RTX 4060 Ti 16GB')


def test_a_profile_may_take_some_of_the_rigs_cards() -> None:
    some = rig_imagined("3 x 3090", devices=("cuda:2", "cuda:0"))
    assert [card.device for card in some.shown] == ["cuda:2", "cuda:0"]
    assert len(rig_imagined("2 x 3090", devices=("cpu",)).shown) == 2
    with pytest.raises(DeviceError, match="cuda:2 is asked for, but the rig has 2 cards"):
        rig_imagined("2 x 3090", devices=("cuda:2",))


def test_libraries_take_more_with_every_thread_and_most_at_home() -> None:
    rig = rig_here(("cuda:0", "cuda:1"))

    def constants(chunks: tuple[int, ...], num_microbatches: int) -> tuple[int, ...]:
        order = interleaved(Costs.equal(chunks), num_microbatches=num_microbatches)
        return rig.training_constants(Layout(chunk_sizes=(1,) * len(chunks), card_of_chunk=chunks, order=order))

    alone, few, many = constants((0,), 4), constants((0, 1), 1), constants((0, 1, 0, 1), 4)
    assert alone[1] == 0, "a card without blocks multiplies nothing"
    assert alone[0] < few[0] < many[0] and few[1] < many[1] < many[0]
    planned = [card.constant_bytes for card in rig.planning_cards(4)]
    assert all(most >= found for most, found in zip(planned, many, strict=True))


def test_what_is_known_to_be_taken_counts_everywhere() -> None:
    rig = rig_here(("cuda:0", "cuda:1"))
    more = rig.with_extra((100, 200)).with_extra((1, 2))
    layout = Layout(chunk_sizes=(1, 1), card_of_chunk=(0, 1), order=(("F", 0, 0), ("F", 1, 0)))
    for find in (Rig.training_constants, lambda one, plan: one.sampling_constants(plan, plan)):
        assert [a - b for a, b in zip(find(more, layout), find(rig, layout), strict=True)] == [101, 202]
    assert more.planning_cards(2)[1].constant_bytes - rig.planning_cards(2)[1].constant_bytes == 202


def test_what_the_process_takes_of_ram_is_not_left_for_blocks() -> None:
    rig = rig_imagined("3090", ram_gib=32)
    assert rig.ram_usable_bytes == 24 * GIB
    assert rig.with_process(GIB).ram_usable_bytes == 24 * GIB, "that much was free beside what may be locked"
    assert rig.with_process(20 * GIB).ram_usable_bytes == rig.ram_free_bytes - 20 * GIB < 24 * GIB
    assert rig.with_process(64 * GIB).ram_usable_bytes == 0
