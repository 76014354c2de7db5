"""The whole rig in one report, with findings: what works, what does not, and what to do about it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from diffusionforce.desktop.registry import windows_settings
from diffusionforce.rig.cards import Card
from diffusionforce.rig.driver import open_driver
from diffusionforce.rig.findings import Finding, find
from diffusionforce.rig.machine import Machine, read_machine
from diffusionforce.rig.torch_facts import TorchFacts, torch_facts


@dataclass(frozen=True, kw_only=True)
class RigReport:
    """What was found out about a rig.

    Attributes:
        machine: System, processor, memory, disk.
        cards: NVIDIA cards in the order of their PCI addresses; empty without a driver.
        torch: What PyTorch can do here; None when it was not asked.
        findings: What follows from it, problems first.
    """

    machine: Machine
    cards: tuple[Card, ...]
    torch: TorchFacts | None
    findings: tuple[Finding, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, with `kind` set to `rig`."""
        return {"kind": "rig", **asdict(self)}

    def to_json(self) -> str:
        """Return the report as one line of JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def sentences(self) -> list[str]:
        """Return the findings as text, one line each, problems first."""
        return [str(finding) for finding in self.findings]


def read_cards() -> tuple[Card, ...]:
    """Return the NVIDIA cards of this machine; empty without cards or driver."""
    driver = open_driver()
    return () if driver is None else driver.cards()


def examine(*, ask_torch: bool = True, disk_path: Path | None = None) -> RigReport:
    """Look at this machine and say what follows.

    Args:
        ask_torch: Also ask PyTorch what it can do, in a child process that takes a second or two.
        disk_path: Folder whose disk is looked at; the current folder when None.
    """
    machine = read_machine(disk_path=disk_path)
    cards = read_cards()
    torch = torch_facts() if ask_torch else None
    findings = find(machine, cards=cards, torch=torch, windows=windows_settings())
    return RigReport(machine=machine, cards=cards, torch=torch, findings=findings)
