"""Rigs that nobody here owns, and what is said about them."""

from dataclasses import replace

import pytest

from diffusionforce.desktop.registry import WindowsSettings
from diffusionforce.rig import Card, CardProcess, Finding, Machine, TorchFacts, find

GIB = 1024**3

MACHINE = Machine(
    system="Windows 11",
    python_version="3.12.9",
    processor="AMD Ryzen 7",
    num_cores=8,
    num_threads=16,
    ram_total_bytes=64 * GIB,
    ram_available_bytes=50 * GIB,
    disk_path="C:\\",
    disk_free_bytes=500 * GIB,
)
CARD = Card(
    index=0,
    uuid="GPU-0",
    name="NVIDIA GeForce RTX 4060 Ti",
    pci_address="00000000:01:00.0",
    total_bytes=16 * GIB,
    free_bytes=15 * GIB,
    used_bytes=GIB,
    compute_capability=(8, 9),
    driver_version="580.65",
    cuda_version=(13, 0),
    pcie_generation=1,
    pcie_generation_max=4,
    pcie_width=8,
    pcie_width_max=8,
    load=0.0,
)
SECOND = replace(CARD, index=1, uuid="GPU-1", name="NVIDIA GeForce RTX 5080")
WITH_CUDA = TorchFacts(version="2.13.0+cu130", cuda_build="13.0", cuda_available=True, num_devices=2)
CUDA_OFF = replace(WITH_CUDA, cuda_available=False, num_devices=0)
WITHOUT_CUDA = TorchFacts(version="2.13.0+cpu")


def only(findings: tuple[Finding, ...], severity: str) -> Finding:
    """Return the single finding of a severity."""
    (found,) = [finding for finding in findings if finding.severity == severity]
    return found


def test_two_good_cards_leave_nothing_to_do() -> None:
    findings = find(MACHINE, cards=[CARD, SECOND], torch=WITH_CUDA)
    assert {finding.severity for finding in findings} == {"good"}
    assert findings[0].sentence == (
        "2 cards: GPU 0 (RTX 4060 Ti) with 16 GB, GPU 1 (RTX 5080) with 16 GB. A model can be split over them."
    )


def test_without_a_card_the_demo_runs_on_the_processor() -> None:
    findings = find(MACHINE, cards=[], torch=WITHOUT_CUDA)
    assert only(findings, "note").sentence == ("No NVIDIA card was found: the pocket demo runs on the processor.")
    assert only(findings, "good").sentence == "PyTorch 2.13.0+cpu works."


def test_one_card_is_told_what_a_second_would_bring() -> None:
    findings = find(MACHINE, cards=[CARD], torch=replace(WITH_CUDA, num_devices=1))
    assert "With a second one" in findings[0].sentence
    assert "works with 1 card." in findings[1].sentence


def test_an_old_driver_is_named_with_both_versions() -> None:
    findings = find(MACHINE, cards=[replace(CARD, driver_version="535.1", cuda_version=(12, 2))], torch=CUDA_OFF)
    assert only(findings, "problem").sentence == (
        "The NVIDIA driver 535.1 is too old: it runs CUDA up to 12.2, and this PyTorch was built for CUDA 13.0."
    )


def test_an_old_chip_is_named() -> None:
    findings = find(MACHINE, cards=[replace(CARD, compute_capability=(6, 1))], torch=CUDA_OFF)
    assert only(findings, "problem").sentence.startswith("GPU 0 (RTX 4060 Ti) is too old for CUDA 13.0")
    assert "bf16" in only(findings, "warning").sentence


def test_cards_hidden_from_pytorch_are_a_problem() -> None:
    assert "does not find the cards" in only(find(MACHINE, cards=[CARD], torch=CUDA_OFF), "problem").sentence


def test_a_build_without_cuda_is_a_problem_only_with_cards() -> None:
    problem = only(find(MACHINE, cards=[CARD], torch=WITHOUT_CUDA), "problem")
    assert "was built without CUDA" in problem.sentence
    assert "bootstrap.py" in problem.hint


def test_a_pytorch_that_does_not_import_says_why() -> None:
    failed = TorchFacts(failure="PyTorch could not be imported: libcudart.so.13 is missing")
    assert only(find(MACHINE, cards=[], torch=failed), "problem").sentence == failed.failure


@pytest.mark.parametrize(("width", "severity"), [(4, "note"), (1, "warning")])
def test_a_narrow_link_is_told_by_its_width(width: int, severity: str) -> None:
    card = replace(CARD, pcie_width=width, pcie_width_max=16)
    assert f"by {width} of its 16 PCIe lanes" in only(find(MACHINE, cards=[card], torch=WITH_CUDA), severity).sentence


def test_a_slow_link_counts_only_under_load() -> None:
    # An idle card shows PCIe 1 on purpose; the first version of this rule warned about every healthy rig.
    busy = replace(CARD, load=0.9, pcie_generation=1)
    assert "PCIe 1 instead of 4" in only(find(MACHINE, cards=[busy], torch=WITH_CUDA), "warning").sentence
    assert all(finding.severity == "good" for finding in find(MACHINE, cards=[CARD], torch=WITH_CUDA))


def test_a_program_that_holds_much_memory_is_named() -> None:
    game = CardProcess(pid=42, name="C:\\Games\\game.exe", used_bytes=3 * GIB)
    desktop = CardProcess(pid=43, name="dwm.exe", used_bytes=GIB // 2)
    findings = find(MACHINE, cards=[replace(CARD, processes=(game, desktop))], torch=WITH_CUDA)
    assert only(findings, "note").sentence == "game.exe (process 42) holds 3 GB of GPU 0 (RTX 4060 Ti)."


def test_little_ram_and_disk_are_told_by_what_they_hinder() -> None:
    small = replace(MACHINE, ram_total_bytes=16 * GIB, disk_free_bytes=50 * GIB)
    assert {f.severity for f in find(small, cards=[], torch=None)} == {"note"}
    notes = [f.sentence for f in find(small, cards=[CARD], torch=None) if f.severity == "note"]
    assert notes[0].startswith("16 GB of RAM is little")
    assert notes[1] == "50 GB are free on the disk of C:\\."
    tiny = replace(MACHINE, ram_total_bytes=2 * GIB, disk_free_bytes=GIB)
    assert [f.severity for f in find(tiny, cards=[], torch=None)] == ["warning", "warning", "note"]


@pytest.mark.parametrize(
    ("long_paths", "tdr_delay_s", "cards", "said"),
    [
        (True, 60, [CARD], ["WDDM"]),
        (True, 0, [CARD], ["WDDM"]),
        (True, 2, [], []),
        (False, 2, [CARD], ["260 characters", "WDDM", "more than 2 s"]),
        (None, None, [CARD], ["260 characters", "WDDM"]),
    ],
)
def test_what_windows_is_set_to_is_told_where_it_matters(
    long_paths: bool | None, tdr_delay_s: int | None, cards: list[Card], said: list[str]
) -> None:
    settings = WindowsSettings(long_paths=long_paths, schedules_in_hardware=None, tdr_delay_s=tdr_delay_s)
    without = find(MACHINE, cards=cards, torch=WITH_CUDA)
    added = [
        finding for finding in find(MACHINE, cards=cards, torch=WITH_CUDA, windows=settings) if finding not in without
    ]
    assert len(added) == len(said) and all(finding.severity == "note" and finding.hint for finding in added)
    assert all(any(words in finding.sentence for finding in added) for words in said)
