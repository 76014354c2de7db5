"""What the NVIDIA driver knows about each graphics card, as plain values.

Every field that a driver may refuse to tell is None when it does: laptops hide the power, Windows hides the memory
of other processes, and a card that has fallen off the bus answers nothing at all. Cards are in the order of their
PCI addresses, which is CUDA's order only when `CUDA_DEVICE_ORDER=PCI_BUS_ID` is set.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CardProcess:
    """A process that holds memory of a card.

    Attributes:
        pid: Process id.
        name: Path or name of the program; empty when it cannot be read.
        used_bytes: Memory it holds on the card.
    """

    pid: int
    name: str
    used_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Card:
    """One graphics card.

    Attributes:
        index: Position in the order of PCI addresses, from 0.
        uuid: The driver's name for this very card.
        name: Model, for example `NVIDIA GeForce RTX 4060 Ti`.
        pci_address: Bus address, for example `00000000:01:00.0`.
        total_bytes: Memory of the card.
        free_bytes: Memory that nobody holds.
        used_bytes: Memory that somebody holds, the driver included.
        compute_capability: Generation of the chip, for example (8, 9).
        driver_version: Version of the driver.
        cuda_version: Newest CUDA version that the driver can run, for example (13, 0).
        pcie_generation: PCIe generation of the link now; lower when the card is idle.
        pcie_generation_max: The highest generation that card and slot reach together.
        pcie_width: Lanes of the link now.
        pcie_width_max: Lanes that the card has.
        temperature_c: Temperature of the chip.
        power_w: Power drawn.
        power_limit_w: Power at which the driver slows the card down.
        load: Share of the last moment in which the card computed, 0 to 1.
        display_attached: Whether a screen shows a desktop from this card.
        processes: Who holds memory.
    """

    index: int
    uuid: str
    name: str
    pci_address: str
    total_bytes: int
    free_bytes: int
    used_bytes: int
    compute_capability: tuple[int, int] | None = None
    driver_version: str = ""
    cuda_version: tuple[int, int] | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    load: float | None = None
    display_attached: bool | None = None
    processes: tuple[CardProcess, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The values of a card that change from second to second.

    Attributes:
        index: Position of the card in the order of PCI addresses, from 0.
        uuid: The driver's name for this very card.
        used_bytes: Memory that somebody holds.
        total_bytes: Memory of the card.
        load: Share of the last moment in which the card computed, 0 to 1.
        temperature_c: Temperature of the chip.
        power_w: Power drawn.
    """

    index: int
    uuid: str
    used_bytes: int | None
    total_bytes: int | None
    load: float | None
    temperature_c: float | None
    power_w: float | None


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What went over the link of a card within the last 20 ms.

    Attributes:
        index: Position of the card in the order of PCI addresses, from 0.
        bytes_per_s: Both ways together; None where the driver does not tell.
    """

    index: int
    bytes_per_s: float | None
