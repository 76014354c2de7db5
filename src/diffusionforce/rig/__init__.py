"""The rig: the graphics cards, and the machine around them. Reads only; needs no card and no torch."""

from diffusionforce.rig import meters
from diffusionforce.rig.cards import Card, CardProcess, Reading
from diffusionforce.rig.driver import Driver, open_driver
from diffusionforce.rig.findings import Finding, Severity, find, label
from diffusionforce.rig.machine import Machine, read_machine
from diffusionforce.rig.report import RigReport, examine, read_cards
from diffusionforce.rig.sizes import GIB, in_gb
from diffusionforce.rig.torch_facts import TorchFacts, torch_facts

__all__ = [
    "GIB",
    "Card",
    "CardProcess",
    "Driver",
    "Finding",
    "Machine",
    "Reading",
    "RigReport",
    "Severity",
    "TorchFacts",
    "examine",
    "find",
    "in_gb",
    "label",
    "meters",
    "open_driver",
    "read_cards",
    "read_machine",
    "torch_facts",
]
