"""The machine around the cards: system, processor, memory, disk."""

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from diffusionforce.desktop import children


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine around the cards.

    Attributes:
        system: Operating system and its version.
        python_version: Version of the Python that asks.
        processor: Model of the processor; empty when the system does not tell.
        num_cores: Physical cores.
        num_threads: Threads that the cores run at once.
        ram_total_bytes: Memory of the machine.
        ram_available_bytes: Memory that a new program can have.
        disk_path: Folder whose disk was looked at.
        disk_free_bytes: Free space on that disk.
    """

    system: str
    python_version: str
    processor: str
    num_cores: int
    num_threads: int
    ram_total_bytes: int
    ram_available_bytes: int
    disk_path: str
    disk_free_bytes: int


def read_machine(*, disk_path: Path | None = None) -> Machine:
    """Look at this machine.

    Args:
        disk_path: Folder whose disk is looked at; the current folder when None. It need not exist yet.
    """
    folder = (disk_path or Path.cwd()).absolute()
    while not folder.exists():
        folder = folder.parent
    memory = psutil.virtual_memory()
    num_threads = psutil.cpu_count() or 1
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        python_version=platform.python_version(),
        processor=_processor(),
        num_cores=psutil.cpu_count(logical=False) or num_threads,
        num_threads=num_threads,
        ram_total_bytes=memory.total,
        ram_available_bytes=memory.available,
        disk_path=str(folder),
        disk_free_bytes=psutil.disk_usage(str(folder)).free,
    )


def _processor() -> str:
    """Return the processor's model; each system keeps it elsewhere, and `platform.processor` is empty on Linux."""
    if sys.platform == "linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return children.run(command).stdout.decode(errors="replace").strip()
    return platform.processor() or os.environ.get("PROCESSOR_IDENTIFIER", "")
