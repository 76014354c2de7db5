"""What is going to be built, said before anything is done: which build of PyTorch, how much comes, where it goes."""

import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.environment.application import Application
from diffusionforce.environment.backends import CPU, NEW_CUDA, OLD_CUDA, choose_backend
from diffusionforce.environment.locked import Locked, read_locks
from diffusionforce.errors import SetupError
from diffusionforce.job import data_dir
from diffusionforce.rig import Card
from diffusionforce.wire.environment import EnvironmentPlan
from diffusionforce.wire.interpreter import environment_dir, own_python

GB = 1024**3
# Measured on Linux with CUDA 13.0: 2.7 GB, which become 5.1 GB. The others are sums of sizes, with some room to spare
# for Windows, whose wheels are larger.
DOWNLOAD_BYTES = {CPU: 0.4 * GB, OLD_CUDA: 3.4 * GB, NEW_CUDA: 2.8 * GB}
NEEDED_BYTES = {CPU: 2 * GB, OLD_CUDA: 10 * GB, NEW_CUDA: 8 * GB}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is going to be built.

    Attributes:
        folder: The environment.
        cache: What is downloaded is kept here, on the same drive, so that installing it takes no further room.
        python: The Python that the environment is made of.
        backend: The build of PyTorch.
        reason: Why that one, in a sentence.
        wheels: A folder with everything that is installed; None downloads it.
        locked: What is installed.
        application: Whose environment it is.
    """

    folder: Path
    cache: Path
    python: str
    backend: str
    reason: str
    wheels: Path | None
    locked: Locked
    application: Application

    def told(self) -> EnvironmentPlan:
        """Return it for those who watch."""
        return EnvironmentPlan(
            folder=str(self.folder),
            backend=self.backend,
            reason=self.reason,
            torch_version=self.locked.torch_version,
            python_version=platform.python_version(),
            wheels=str(self.wheels or ""),
            download_bytes=0 if self.wheels else round(DOWNLOAD_BYTES[self.backend]),
            needed_bytes=round(NEEDED_BYTES[self.backend]),
            free_bytes=free_bytes(self.folder),
            drive=drive_of(self.folder),
        )


def plan_environment(
    application: Application, *, cards: Sequence[Card], backend: str = "auto", wheels: Path | None = None
) -> Plan:
    """Plan the environment.

    Args:
        application: Whose environment it is.
        cards: The cards of the computer.
        backend: The build of PyTorch, or `auto` to choose it by the cards.
        wheels: A folder to install everything from; None takes the application's, or downloads.

    Raises:
        UserError: No build suits, the wheels or the lock files are not there, or there is no data folder.
    """
    if wheels is not None and not any(wheels.glob("*.whl")):
        raise SetupError(f"There are no wheels in {wheels}.", hint="Choose the folder that holds the .whl files.")
    choice = choose_backend(cards, wanted=backend)
    return Plan(
        folder=environment_dir(),
        cache=cache_dir(),
        python=own_python(),
        backend=choice.backend,
        reason=choice.reason,
        wheels=(wheels or application.wheels),
        locked=read_locks(application.locks),
        application=application,
    )


def cache_dir() -> Path:
    """Return the folder of what was downloaded."""
    return data_dir() / "cache" / "uv"


def check_space(plan: Plan) -> None:
    """Refuse a drive that cannot hold the environment.

    Raises:
        SetupError: There is not enough room.
    """
    told = plan.told()
    if told.free_bytes >= told.needed_bytes:
        return
    # What an earlier attempt has brought lies in the cache, and is not brought again.
    missing = told.needed_bytes - told.free_bytes - size_of(plan.cache)
    if missing > 0:
        raise SetupError(
            f"{drive_words(told.drive)} has {told.free_bytes / GB:.1f} GB free, and the environment needs about "
            f"{told.needed_bytes / GB:.0f} GB.",
            hint=f"Free {max(missing, GB // 10) / GB:.1f} GB there, or move the data folder to another "
            "drive with DIFFUSIONFORCE_HOME.",
        )


def free_bytes(folder: Path) -> int:
    """Return the free space of the drive of a folder, which need not exist."""
    return shutil.disk_usage(_existing(folder)).free


def size_of(folder: Path) -> int:
    """Return the size of all files in a folder; 0 where there is none."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def drive_of(folder: Path) -> str:
    """Return the drive of a folder: `C:`, or where a file system is mounted."""
    if folder.drive:
        return folder.drive
    existing = _existing(folder)
    mount = next(place for place in (existing, *existing.parents) if os.path.ismount(place) or place == place.parent)
    return str(mount)


def drive_words(drive: str) -> str:
    """Return how a sentence about a drive begins."""
    return f"Drive {drive}" if drive.endswith(":") else f"The disk of {drive}"


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())
