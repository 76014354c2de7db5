"""Which process it was: numbers are used again, and the time of a start is not the same forever.

Linux counts the start of a process from the start of the system, and works out the time of day from that whenever it
is asked. A clock that is set in the meantime moves it, and a run that goes on would be taken for one that crashed. So
there the count itself is kept, with the name that the system gave this start of it. Windows keeps the time as it was.
"""

from pathlib import Path

import psutil

from diffusionforce.errors import RunFolderError

# Start times are read from a clock that may be corrected by a second while the process runs.
_START_TOLERANCE_S = 2.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STARTED = 19
"""Where `starttime` stands in `/proc/PID/stat`, behind the name of the program; see proc_pid_stat(5)."""


def mark_of(pid: int) -> str:
    """Return what tells a living process from all others, whatever the clock says; empty where nothing does.

    Args:
        pid: Number of the process.
    """
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        # The name may hold brackets and blanks.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return f"{boot}:{int(fields[_STARTED])}" if len(fields) > _STARTED else ""


def is_process_alive(pid: int, *, started_s: float, mark: str = "") -> bool:
    """Tell whether a process still runs.

    Args:
        pid: Its number.
        started_s: When it started, in seconds since 1970; counts where there is no mark.
        mark: What `mark_of` returned for it.
    """
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            is_dead = process.status() == psutil.STATUS_ZOMBIE
            seen = mark_of(pid) if mark else ""
            is_same = seen == mark if seen else abs(process.create_time() - started_s) < _START_TOLERANCE_S
            return is_same and not is_dead
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def end_process(pid: int, *, started_s: float, mark: str = "", kills: bool) -> bool:
    """Have a process end, unless it is gone or its number is another's by now; tells whether it was asked.

    Args:
        pid: Its number.
        started_s: When it started, in seconds since 1970.
        mark: What `mark_of` returned for it.
        kills: Whether it has no say in it. Else it may end in order, except on Windows.

    Raises:
        RunFolderError: The system does not let us.
    """
    try:
        process = psutil.Process(pid)
        if not is_process_alive(pid, started_s=started_s, mark=mark):
            return False
        if kills:
            process.kill()
        else:
            process.terminate()
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied as error:
        sentence = f"Process {pid} cannot be ended: it belongs to somebody else."
        raise RunFolderError(sentence, detail=str(error)) from None
    return True
