"""A stand-in for the module `pynvml`: cards made of plain numbers, and refusals where a driver would refuse."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class FakeNVMLError(Exception):
    """What the library raises when the driver refuses."""


@dataclass(kw_only=True)
class FakeCard:
    """One card; None for a value makes the driver refuse it. Sizes in bytes, power in milliwatts as NVML has it."""

    uuid: str | bytes = "GPU-0"
    name: str | bytes = "NVIDIA GeForce RTX 4060 Ti"
    total: int | None = 16 * 1024**3
    free: int = 15 * 1024**3
    capability: tuple[int, int] | None = (8, 9)
    link: tuple[int | None, int | None] = (4, 8)
    link_max: tuple[int | None, int | None] = (4, 8)
    temperature: int | None = 41
    milliwatts: int | None = 30_500
    load_percent: int | None = 25
    traffic_kib: int | None = 400_000
    display: int | None = 0
    compute_processes: list[SimpleNamespace] = field(default_factory=list)
    graphics_processes: list[SimpleNamespace] = field(default_factory=list)


class FakeNvml:
    """The functions of `pynvml` that the rig asks.

    Args:
        cards: The cards that are there.
        driver: Version of the driver.
        cuda: Newest CUDA version as NVML writes it, for example 13000.
        absent: Whether there is no driver at all.
    """

    NVMLError = FakeNVMLError
    NVML_TEMPERATURE_GPU = 0
    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1

    def __init__(
        self, *cards: FakeCard, driver: str = "580.65", cuda: int | None = 13000, absent: bool = False
    ) -> None:
        self.cards = cards
        self.driver = driver
        self.cuda = cuda
        self.absent = absent
        self.num_inits = 0

    def nvmlInit(self) -> None:  # noqa: N802 (NVML's name)
        """Connect."""
        if self.absent:
            raise FakeNVMLError("NVML Shared Library Not Found")
        self.num_inits += 1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers: dict[str, Callable[[FakeCard], Any]] = {
            "nvmlDeviceGetUUID": lambda card: card.uuid,
            "nvmlDeviceGetName": lambda card: card.name,
            "nvmlDeviceGetMemoryInfo": _memory,
            "nvmlDeviceGetPciInfo": lambda card: SimpleNamespace(busId=b"00000000:01:00.0"),
            "nvmlDeviceGetCudaComputeCapability": lambda card: card.capability,
            "nvmlDeviceGetCurrPcieLinkGeneration": lambda card: card.link[0],
            "nvmlDeviceGetCurrPcieLinkWidth": lambda card: card.link[1],
            "nvmlDeviceGetMaxPcieLinkGeneration": lambda card: card.link_max[0],
            "nvmlDeviceGetMaxPcieLinkWidth": lambda card: card.link_max[1],
            "nvmlDeviceGetTemperature": lambda card: card.temperature,
            "nvmlDeviceGetPowerUsage": lambda card: card.milliwatts,
            "nvmlDeviceGetPcieThroughput": lambda card: card.traffic_kib,
            "nvmlDeviceGetEnforcedPowerLimit": lambda card: 165_000,
            "nvmlDeviceGetUtilizationRates": _rates,
            "nvmlDeviceGetDisplayActive": lambda card: card.display,
            "nvmlDeviceGetComputeRunningProcesses": lambda card: card.compute_processes,
            "nvmlDeviceGetGraphicsRunningProcesses": lambda card: card.graphics_processes,
        }
        whole_machine: dict[str, Callable[..., Any]] = {
            "nvmlDeviceGetCount": lambda: len(self.cards),
            "nvmlDeviceGetHandleByIndex": lambda index: self.cards[index],
            "nvmlSystemGetDriverVersion": lambda: self.driver,
            "nvmlSystemGetCudaDriverVersion_v2": lambda: self.cuda,
            "nvmlSystemGetProcessName": lambda pid: f"C:\\Program Files\\app{pid}.exe",
        }
        question = answers.get(name) or whole_machine.get(name)
        if question is None:
            raise AttributeError(name)
        return lambda *arguments: _answer(question(*arguments[: question.__code__.co_argcount]))


def process(pid: int, used: int | None) -> SimpleNamespace:
    """Return a process as NVML lists it."""
    return SimpleNamespace(pid=pid, usedGpuMemory=used)


def _memory(card: FakeCard) -> SimpleNamespace | None:
    if card.total is None:
        return None
    return SimpleNamespace(total=card.total, free=card.free, used=card.total - card.free)


def _rates(card: FakeCard) -> SimpleNamespace | None:
    return None if card.load_percent is None else SimpleNamespace(gpu=card.load_percent)


def _answer(value: Any) -> Any:
    if value is None:
        raise FakeNVMLError("Not Supported")
    return value
