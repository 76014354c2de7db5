"""A rig of two unlike cards, and a speed test of it, for machines that have none."""

from diffusionforce.rig import Card, CardProcess, Machine, RigReport, TorchFacts, find
from diffusionforce.wire.speed import DeviceSpeed, SpeedTest

GIB = 1024**3


def machine() -> Machine:
    """Return a desktop computer."""
    return Machine(
        system="Windows 11",
        python_version="3.12.9",
        processor="AMD Ryzen 7 7700",
        num_cores=8,
        num_threads=16,
        ram_total_bytes=32 * GIB,
        ram_available_bytes=int(9.4 * GIB),
        disk_path="D:\\DiffusionForce",
        disk_free_bytes=412 * GIB,
    )


def cards() -> tuple[Card, Card]:
    """Return a fast card in a wide slot, and a slow one in a narrow slot that shows the desktop."""
    fast = Card(
        index=0,
        uuid="GPU-a",
        name="NVIDIA GeForce RTX 4070 Ti SUPER",
        pci_address="00000000:01:00.0",
        total_bytes=16 * GIB,
        free_bytes=int(15.7 * GIB),
        used_bytes=int(0.3 * GIB),
        compute_capability=(8, 9),
        driver_version="581.29",
        cuda_version=(13, 0),
        pcie_generation=1,
        pcie_generation_max=4,
        pcie_width=16,
        pcie_width_max=16,
        temperature_c=38.0,
        power_w=12.0,
        power_limit_w=285.0,
        load=0.0,
        display_attached=False,
    )
    slow = Card(
        index=1,
        uuid="GPU-b",
        name="NVIDIA GeForce RTX 3060",
        pci_address="00000000:05:00.0",
        total_bytes=12 * GIB,
        free_bytes=int(9.6 * GIB),
        used_bytes=int(2.4 * GIB),
        compute_capability=(8, 6),
        driver_version="581.29",
        cuda_version=(13, 0),
        pcie_generation=3,
        pcie_generation_max=3,
        pcie_width=4,
        pcie_width_max=16,
        temperature_c=44.0,
        power_w=21.0,
        power_limit_w=170.0,
        load=0.03,
        display_attached=True,
        processes=(
            CardProcess(pid=4, name="C:\\Windows\\System32\\dwm.exe", used_bytes=int(0.6 * GIB)),
            CardProcess(pid=77, name="C:\\Games\\a game with a rather long name.exe", used_bytes=int(1.3 * GIB)),
            CardProcess(pid=9, name="C:\\Program Files\\browser.exe", used_bytes=None),
            CardProcess(pid=11, name="/usr/bin/x", used_bytes=int(0.1 * GIB)),
        ),
    )
    return fast, slow


def report() -> RigReport:
    """Return what would be found out about that rig."""
    torch = TorchFacts(version="2.13.0+cu130", cuda_build="13.0", cuda_available=True, num_devices=2)
    return RigReport(
        machine=machine(), cards=cards(), torch=torch, findings=find(machine(), cards=cards(), torch=torch)
    )


def speed_test() -> SpeedTest:
    """Return what the speed test would find there."""

    def device(uuid: str, *, tflops: float, to_device: float, from_device: float, memory: float) -> DeviceSpeed:
        return DeviceSpeed(
            device="cuda:0",
            name="card",
            uuid=uuid,
            flops=tflops * 1e12,
            number_format="bf16",
            to_device=to_device * 1e9,
            from_device=from_device * 1e9,
            across=3.2e9,
            memory=memory * 1e9,
        )

    return SpeedTest(
        measured_at="2026-11-12T11:00:00+00:00",
        seconds=41.0,
        torch="2.13.0+cu130",
        devices=(
            device("GPU-a", tflops=81, to_device=24.1, from_device=23.6, memory=581),
            device("GPU-b", tflops=36, to_device=3.4, from_device=3.3, memory=322),
        ),
    )
