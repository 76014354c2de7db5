"""The rig: the graphics cards, and the machine around them. Reads only; needs no card and no torch."""

from diffusionforce.rig import meters
from diffusionforce.rig.cards import Card, CardProcess, Reading, Traffic
from diffusionforce.rig.driver import Driver, open_driver
from diffusionforce.rig.findings import Finding, Severity, find, label
from diffusionforce.rig.machine import Machine, read_machine
from diffusionforce.rig.report import RigReport, examine, read_cards
from diffusionforce.rig.sizes import GIB, in_gb
from diffusionforce.rig.speeds import advise, keep_speed_test, last_speed_test, link_bytes_per_s, speed_of
from diffusionforce.rig.text_report import text_report
from diffusionforce.rig.torch_facts import NOT_HERE, TorchFacts, torch_facts

__all__ = [
    "GIB",
    "NOT_HERE",
    "Card",
    "CardProcess",
    "Driver",
    "Finding",
    "Machine",
    "Reading",
    "RigReport",
    "Severity",
    "TorchFacts",
    "Traffic",
    "advise",
    "examine",
    "find",
    "in_gb",
    "keep_speed_test",
    "label",
    "last_speed_test",
    "link_bytes_per_s",
    "meters",
    "open_driver",
    "read_cards",
    "read_machine",
    "speed_of",
    "text_report",
    "torch_facts",
]
