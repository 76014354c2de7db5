"""What is read from the driver, with a driver that knows everything, refuses everything, or is not there."""

import time

from tests.support.fake_nvml import FakeCard, FakeNvml, process

from diffusionforce.rig import CardProcess, Traffic, meters, open_driver

GIB = 1024**3


def test_a_machine_without_a_driver_has_no_connection() -> None:
    assert open_driver(FakeNvml(absent=True)) is None


def test_a_card_is_read_with_units_converted() -> None:
    driver = open_driver(FakeNvml(FakeCard(link=(1, 4)), cuda=12080))
    assert driver is not None
    (card,) = driver.cards()
    assert (card.name, card.total_bytes, card.free_bytes, card.used_bytes) == (
        "NVIDIA GeForce RTX 4060 Ti",
        16 * GIB,
        15 * GIB,
        GIB,
    )
    assert (card.pcie_generation, card.pcie_width, card.pcie_generation_max, card.pcie_width_max) == (1, 4, 4, 8)
    assert (card.power_w, card.power_limit_w, card.load, card.temperature_c) == (30.5, 165.0, 0.25, 41.0)
    assert (card.driver_version, card.cuda_version, card.compute_capability) == ("580.65", (12, 8), (8, 9))
    assert card.display_attached is False
    assert card.pci_address == "00000000:01:00.0"


def test_what_a_card_refuses_is_none_and_the_rest_is_there() -> None:
    shy = FakeCard(
        capability=None, link=(None, None), link_max=(None, None), temperature=None, milliwatts=None, load_percent=None
    )
    driver = open_driver(FakeNvml(shy, cuda=None))
    assert driver is not None
    (card,) = driver.cards()
    assert card.total_bytes == 16 * GIB
    assert card.display_attached is False
    assert {card.compute_capability, card.cuda_version, card.pcie_width, card.power_w, card.load} == {None}


def test_a_dead_card_does_not_hide_the_other() -> None:
    driver = open_driver(FakeNvml(FakeCard(total=None), FakeCard(uuid="GPU-1")))
    assert driver is not None
    assert [card.index for card in driver.cards()] == [1]
    dead, alive = driver.readings()
    assert (dead.used_bytes, dead.total_bytes) == (None, None)
    assert (alive.uuid, alive.used_bytes, alive.total_bytes) == ("GPU-1", GIB, 16 * GIB)


def test_a_program_that_computes_and_draws_is_listed_once() -> None:
    card = FakeCard(compute_processes=[process(7, 3 * GIB), process(9, None)], graphics_processes=[process(7, 3 * GIB)])
    driver = open_driver(FakeNvml(card))
    assert driver is not None
    assert driver.cards()[0].processes == (
        CardProcess(pid=7, name="C:\\Program Files\\app7.exe", used_bytes=3 * GIB),
        CardProcess(pid=9, name="C:\\Program Files\\app9.exe", used_bytes=None),
    )


def test_names_that_old_libraries_give_as_bytes_are_text() -> None:
    driver = open_driver(FakeNvml(FakeCard(name=b"NVIDIA GeForce RTX 3090")))
    assert driver is not None
    assert driver.cards()[0].name == "NVIDIA GeForce RTX 3090"


def test_meters_connect_once_and_answer_quickly() -> None:
    meters.read()
    started_s = time.perf_counter()
    readings = [meters.read() for _ in range(10)]
    assert (time.perf_counter() - started_s) / 10 < 0.05
    assert len({len(reading) for reading in readings}) == 1


def test_what_goes_over_the_links_is_added_up_from_both_ways() -> None:
    driver = open_driver(FakeNvml(FakeCard(traffic_kib=400_000), FakeCard(uuid="GPU-1", traffic_kib=None)))
    assert driver is not None
    assert driver.traffic() == (
        Traffic(index=0, bytes_per_s=2 * 400_000 * 1024),
        Traffic(index=1, bytes_per_s=None),
    )
