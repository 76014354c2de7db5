"""The rig as a text that people send when they ask for help: everything that matters, and nobody's name."""

from collections.abc import Iterator

import diffusionforce
from diffusionforce.rig.cards import Card
from diffusionforce.rig.report import RigReport
from diffusionforce.rig.sizes import in_gb
from diffusionforce.rig.speeds import speed_of
from diffusionforce.wire.privacy import without_names
from diffusionforce.wire.speed import SpeedTest


def text_report(report: RigReport, *, test: SpeedTest | None = None) -> str:
    """Return a rig in words, without personal paths and names.

    Args:
        report: What was found.
        test: The last speed test, None where there is none.
    """
    lines = [f"DiffusionForce {diffusionforce.__version__}", *_machine(report)]
    for card in report.cards:
        lines += _card(card, test)
    if test is not None and not report.cards:
        lines += [f"{one.name}: {one.flops / 1e9:,.0f} GFLOPS {one.number_format}" for one in test.devices]
    return without_names("\n".join([*lines, "", *report.sentences()]))


def _machine(report: RigReport) -> Iterator[str]:
    machine, torch = report.machine, report.torch
    yield f"{machine.system}, Python {machine.python_version}"
    yield f"{machine.processor or 'processor not known'}, {machine.num_cores} cores, {machine.num_threads} threads"
    yield f"RAM {in_gb(machine.ram_total_bytes)}, {in_gb(machine.ram_available_bytes)} free"
    yield f"Disk {in_gb(machine.disk_free_bytes)} free"
    if torch is not None:
        yield torch.failure or f"PyTorch {torch.version}, CUDA {torch.cuda_build or 'none'}"


def _card(card: Card, test: SpeedTest | None) -> Iterator[str]:
    yield ""
    yield f"GPU {card.index}: {card.name}, {in_gb(card.total_bytes)}, {in_gb(card.free_bytes)} free"
    yield f"  driver {card.driver_version or 'not known'}, display {_yes(card.display_attached)}"
    yield f"  PCIe {card.pcie_generation or '?'} x {card.pcie_width or '?'} now, up to " + (
        f"{card.pcie_generation_max or '?'} x {card.pcie_width_max or '?'}"
    )
    for process in card.processes:
        name = process.name.replace("\\", "/").rpartition("/")[2] or f"process {process.pid}"
        amount = "memory not told" if process.used_bytes is None else in_gb(process.used_bytes)
        yield f"  used by {name}: {amount}"
    speed = speed_of(card, test)
    if speed is not None:
        rates = (("RAM to card", speed.to_device), ("card to RAM", speed.from_device), ("card to card", speed.across))
        known = ", ".join(f"{name} {rate / 1e9:.1f} GB/s" for name, rate in rates if rate)
        yield f"  measured: {speed.flops / 1e12:.1f} TFLOPS {speed.number_format}, {known}"


def _yes(answer: bool | None) -> str:
    return {True: "attached", False: "none", None: "not known"}[answer]
