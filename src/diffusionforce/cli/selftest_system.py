"""What of the self-test needs no other process: Python, files, cards, and what the system offers."""

import ctypes
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import diffusionforce
from diffusionforce.cli.selftest_check import Note, Plan, Problem, Skipped
from diffusionforce.datasets.decoder import pyav
from diffusionforce.desktop.awake import LinuxSleep, system_sleep
from diffusionforce.desktop.instance import Claim
from diffusionforce.desktop.long_paths import takes_long_paths
from diffusionforce.desktop.registry import windows_settings
from diffusionforce.desktop.taskbar import set_app_id
from diffusionforce.job import builtin_profiles, read_profile, write_whole
from diffusionforce.rig import in_gb
from diffusionforce.rig.report import read_cards
from diffusionforce.rig.shared_memory import SharedMemoryCounter
from diffusionforce.runs import data_dir

FOREIGN_NAME = "jürgen 漢字 🦊 it's 100% #1"
DEEP_CHARACTERS = 320
DEMO_BYTES = 2 << 30
LARGE_BYTES = 60 << 30
_SLOW_FILES_S = 5.0


def plans() -> list[Plan]:
    """Return these checks, in order."""
    return [
        Plan(name="Python", look=python),
        Plan(name="Program", look=program),
        Plan(name="Data folder", look=data_folder),
        Plan(name="Foreign names", look=foreign_names),
        Plan(name="Long paths", look=long_paths),
        Plan(name="Speed of files", look=speed_of_files),
        Plan(name="Free space", look=free_space),
        Plan(name="Clips", look=clips),
        Plan(name="Cards", look=cards),
        Plan(name="Memory that Windows moves", look=shared_memory),
        Plan(name="Windows and the cards", look=graphics_settings),
        Plan(name="Sleep", look=sleep),
        Plan(name="One window", look=one_window),
        Plan(name="Taskbar", look=taskbar),
    ]


def python() -> str:
    """Python, as wide as PyTorch needs it, in UTF-8."""
    facts = f"{platform.python_version()}, {platform.machine()}, {sys.executable}"
    if sys.maxsize < 2**32:
        raise Problem(f"Python has 32 bits, and PyTorch needs 64: {facts}")
    if os.name == "nt" and not sys.flags.utf8_mode:
        raise Problem(f"Python does not run in UTF-8; start it with -X utf8: {facts}")
    return facts


def program() -> str:
    """The program and the profiles that come with it."""
    profiles = builtin_profiles()
    for path in profiles.values():
        read_profile(path)
    if not profiles:
        raise Problem("No profiles came with the program: install it again.")
    return f"DiffusionForce {diffusionforce.__version__}, {len(profiles)} profiles"


def data_folder() -> str:
    """The data folder takes files, whole ones, and lets them be replaced and removed."""
    place = data_dir()
    place.mkdir(parents=True, exist_ok=True)
    path = place / "selftest.part"
    for content in (b"old", b"new"):
        write_whole(path, content)
    found = path.read_bytes()
    path.unlink()
    if found != b"new":
        raise Problem(f"{place} does not give back what was written.")
    return str(place)


def foreign_names() -> str:
    """Names of other languages come back as they were."""
    with _OwnFolder() as folder:
        path = folder / FOREIGN_NAME / f"{FOREIGN_NAME}.txt"
        path.parent.mkdir()
        write_whole(path, FOREIGN_NAME.encode())
        names = [child.name for child in path.parent.iterdir()]
        if names != [path.name] or path.read_text(encoding="utf-8") != FOREIGN_NAME:
            raise Problem(f"Files come back under other names: {names}")
    return FOREIGN_NAME


def long_paths() -> str:
    """Paths of more than 260 characters, which Windows takes only if told to."""
    with _OwnFolder() as folder:
        deep = folder
        while len(str(deep)) < DEEP_CHARACTERS:
            deep = deep / ("d" * 40)
        try:
            deep.mkdir(parents=True)
            write_whole(deep / "file.txt", b"deep")
            (deep / "file.txt").read_bytes()
        except OSError as error:
            if takes_long_paths():
                raise Problem(f"A path of {len(str(deep))} characters is refused: {error.strerror or error}") from error
            raise Note("Windows takes no paths over 260 characters: long paths are switched off in it.") from error
    return f"{DEEP_CHARACTERS} characters"


def speed_of_files() -> str:
    """A hundred small files, written whole: scanners that look into each of them slow this down."""
    with _OwnFolder() as folder:
        begin_s = time.monotonic()
        for number in range(100):
            write_whole(folder / f"{number}.bin", bytes(4096))
        seconds = time.monotonic() - begin_s
    said = f"100 files in {seconds:.2f} s"
    if seconds > _SLOW_FILES_S:
        raise Note(f"{said}, which is slow: a scanner, or a folder in a cloud?")
    return said


def free_space() -> str:
    """Room for the demo at the least."""
    free_bytes = shutil.disk_usage(data_dir()).free
    said = f"{in_gb(free_bytes)} free on the disk of {data_dir()}"
    if free_bytes < DEMO_BYTES:
        raise Problem(f"{said}, and the demo needs {in_gb(DEMO_BYTES)}.")
    if free_bytes < LARGE_BYTES:
        raise Note(f"{said}; a large model takes about {in_gb(LARGE_BYTES)}.")
    return said


def clips() -> str:
    """What opens clips, which comes with the training environment."""
    try:
        return f"PyAV {pyav().__version__} opens them."
    except ImportError as error:
        raise Note("They can be opened once the training environment is there.") from error


def cards() -> str:
    """NVIDIA's driver and what it says of the cards."""
    found = read_cards()
    if not found:
        raise Note("No NVIDIA card or driver; the demo runs on the processor.")
    return "; ".join(f"{one.name}, {in_gb(one.total_bytes)}, driver {one.driver_version}" for one in found)


def shared_memory() -> str:
    """Windows' counter of card memory that it moved to RAM."""
    if sys.platform != "win32":
        raise Skipped("Only Windows moves it.")
    found = SharedMemoryCounter(ctypes.WinDLL("pdh"), os.getpid()).read_bytes()
    if found is None:
        raise Note("Windows has no counter for this process: nothing of ours is on a card yet, or there is none.")
    return f"{in_gb(found)} now"


def graphics_settings() -> str:
    """What Windows is set to do with cards that are busy."""
    settings = windows_settings()
    if settings is None:
        raise Skipped("Only Windows has them.")
    delay = "never" if settings.tdr_delay_s == 0 else f"after {settings.tdr_delay_s} s"
    scheduling = {True: "on", False: "off", None: "not known"}[settings.schedules_in_hardware]
    return f"A driver is reset {delay}; hardware scheduling {scheduling}."


def sleep() -> str:
    """The system can be kept from sleeping, and let again."""
    system = system_sleep()
    agreed = system.hold_back()
    try:
        if isinstance(system, LinuxSleep) and agreed:
            time.sleep(0.5)
            agreed = system.is_held
    finally:
        system.allow()
    if not agreed:
        raise Note("The system cannot be asked to stay awake: switch its sleep off for long runs.")
    return "Held back, and allowed again."


def one_window() -> str:
    """A second start knows of the first."""
    with _OwnFolder() as folder:
        first, second = Claim(folder, kernel32=_NoMutex()), Claim(folder, kernel32=_NoMutex())
        took = (first.take(), second.take())
        first.give_up()
        if took != (True, False) or not second.take():
            raise Problem(f"Two windows would both be the first: {took}")
        second.give_up()
    return "The second one knows of the first."


def taskbar() -> str:
    """Windows takes our id for the taskbar."""
    if sys.platform != "win32":
        raise Skipped("Only Windows has one that asks for an id.")
    if not set_app_id():
        raise Problem("Windows did not take the program's id: its icon goes by the name of Python.")
    return "Windows takes the program's id."


class _NoMutex:
    """In the place of Windows' library: a window that is open meanwhile holds the real one."""

    class _Function:
        restype: object = None

        def __call__(self, *_: object) -> int:
            return 0

    def __init__(self) -> None:
        self.CreateMutexW = self._Function()

    def CloseHandle(self, handle: object) -> int:  # noqa: N802 - Windows' name
        """Do nothing."""
        return 1


class _OwnFolder:
    """A folder in the data folder for the time of a check."""

    def __enter__(self) -> Path:
        place = data_dir()
        place.mkdir(parents=True, exist_ok=True)
        self._folder = tempfile.TemporaryDirectory(prefix="selftest-", dir=place, ignore_cleanup_errors=True)
        return Path(self._folder.__enter__())

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()
