"""The connection to NVIDIA's management library (NVML), and what is read through it.

A machine without an NVIDIA driver is an ordinary machine here, not an error: `open_driver` returns None. A single
value that the driver refuses (`NVMLError`) becomes None as well, so that one odd card never hides the others.
"""

from collections.abc import Callable
from typing import Any

from diffusionforce.rig.cards import Card, CardProcess, Reading, Traffic

KIB = 1024.0
"""In which the driver counts what goes over a link, each second."""


class Driver:
    """An open connection to the driver.

    Args:
        library: The module `pynvml`, or a stand-in with the same functions.
    """

    def __init__(self, library: Any) -> None:
        self._nvml = library
        self._handles: list[Any] = [
            library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())
        ]
        self._uuids = [str(self._ask(library.nvmlDeviceGetUUID, handle) or "") for handle in self._handles]

    def cards(self) -> tuple[Card, ...]:
        """Return everything about every card; a card that does not tell its memory is left out."""
        found = (self._card(index, handle) for index, handle in enumerate(self._handles))
        return tuple(card for card in found if card is not None)

    def readings(self) -> tuple[Reading, ...]:
        """Return the quick values of every card, within a few milliseconds."""
        return tuple(self._reading(index, handle) for index, handle in enumerate(self._handles))

    def traffic(self) -> tuple[Traffic, ...]:
        """Return what goes over the link of each card. The driver counts for 20 ms a card and direction."""
        return tuple(
            Traffic(index=index, bytes_per_s=self._traffic(handle)) for index, handle in enumerate(self._handles)
        )

    def _traffic(self, handle: Any) -> float | None:
        nvml = self._nvml
        ways = (nvml.NVML_PCIE_UTIL_TX_BYTES, nvml.NVML_PCIE_UTIL_RX_BYTES)
        rates = [self._number(nvml.nvmlDeviceGetPcieThroughput, handle, way, scale=KIB) for way in ways]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known else None

    def cuda_version(self) -> tuple[int, int] | None:
        """Return the newest CUDA version that the driver can run."""
        number = self._ask(self._nvml.nvmlSystemGetCudaDriverVersion_v2)
        return None if number is None else (int(number) // 1000, int(number) % 1000 // 10)

    def _reading(self, index: int, handle: Any) -> Reading:
        nvml = self._nvml
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        return Reading(
            index=index,
            uuid=self._uuids[index],
            used_bytes=None if memory is None else int(memory.used),
            total_bytes=None if memory is None else int(memory.total),
            load=self._load(handle),
            temperature_c=self._number(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            power_w=self._number(nvml.nvmlDeviceGetPowerUsage, handle, scale=0.001),
        )

    def _card(self, index: int, handle: Any) -> Card | None:
        nvml = self._nvml
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        if memory is None:
            return None
        reading = self._reading(index, handle)
        pci = self._ask(nvml.nvmlDeviceGetPciInfo, handle)
        capability = self._ask(nvml.nvmlDeviceGetCudaComputeCapability, handle)
        display = self._ask(nvml.nvmlDeviceGetDisplayActive, handle)
        return Card(
            index=index,
            uuid=self._uuids[index],
            name=_text(self._ask(nvml.nvmlDeviceGetName, handle)) or f"NVIDIA card {index}",
            pci_address=_text(getattr(pci, "busId", "")),
            total_bytes=int(memory.total),
            free_bytes=int(memory.free),
            used_bytes=int(memory.used),
            compute_capability=None if capability is None else (int(capability[0]), int(capability[1])),
            driver_version=_text(self._ask(nvml.nvmlSystemGetDriverVersion)),
            cuda_version=self.cuda_version(),
            pcie_generation=self._count(nvml.nvmlDeviceGetCurrPcieLinkGeneration, handle),
            pcie_generation_max=self._count(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
            pcie_width=self._count(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
            pcie_width_max=self._count(nvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
            temperature_c=reading.temperature_c,
            power_w=reading.power_w,
            power_limit_w=self._number(nvml.nvmlDeviceGetEnforcedPowerLimit, handle, scale=0.001),
            load=reading.load,
            display_attached=None if display is None else bool(display),
            processes=self._processes(handle),
        )

    def _processes(self, handle: Any) -> tuple[CardProcess, ...]:
        """Return who holds memory; a program that both computes and draws is listed by the driver twice."""
        nvml = self._nvml
        by_pid: dict[int, CardProcess] = {}
        for question in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
            for process in self._ask(question, handle) or ():
                used = process.usedGpuMemory
                by_pid[int(process.pid)] = CardProcess(
                    pid=int(process.pid),
                    name=_text(self._ask(nvml.nvmlSystemGetProcessName, process.pid)),
                    used_bytes=None if used is None else int(used),
                )
        return tuple(by_pid[pid] for pid in sorted(by_pid))

    def _load(self, handle: Any) -> float | None:
        rates = self._ask(self._nvml.nvmlDeviceGetUtilizationRates, handle)
        return None if rates is None else float(rates.gpu) / 100

    def _count(self, question: Callable[..., Any], handle: Any) -> int | None:
        answer = self._ask(question, handle)
        return None if answer is None else int(answer)

    def _number(self, question: Callable[..., Any], *arguments: Any, scale: float = 1.0) -> float | None:
        answer = self._ask(question, *arguments)
        return None if answer is None else float(answer) * scale

    def _ask(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Return the driver's answer, or None where it refuses one."""
        try:
            return question(*arguments)
        except self._nvml.NVMLError:
            return None


def open_driver(library: Any = None) -> Driver | None:
    """Connect to the NVIDIA driver.

    Args:
        library: A stand-in for the module `pynvml`, with the same functions; None takes the module.

    Returns:
        The connection, or None on a machine without a working NVIDIA driver.
    """
    library = _pynvml() if library is None else library
    try:
        library.nvmlInit()
        return Driver(library)
    except library.NVMLError:
        return None


def _pynvml() -> Any:
    """Return the library, which carries no types: everything that comes out of it is checked or converted above."""
    # Loaded late, on the thread that asks the driver: the window does so only after its first picture.
    import pynvml  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415

    return pynvml


def _text(value: Any) -> str:
    """Return text that older versions of the library give as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
