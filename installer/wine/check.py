"""What the steps of the check share: what is tried, what was seen, and how to wait and look."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from installer.wine.prefix import Ended, Prefix

UNINSTALL_KEY = "Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall\\DiffusionForce"


@dataclass(kw_only=True)
class Check:
    """What the steps share."""

    prefix: Prefix
    setup: Path
    upgrade: Path
    too_large: Path
    portable: Path
    out: Path
    num_steps: int
    num_prompts: int
    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print and keep a line."""
        self.lines.append(text)
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def expect(self, is_so: bool, text: str) -> None:
        """Print what was looked at, and keep it as a problem when it is not so."""
        self.say(f"   {'ok  ' if is_so else 'FAIL'}  {text}")
        if not is_so:
            self.problems.append(text)


def close_window(check: Check, process: subprocess.Popen[str]) -> None:
    """Ask the window to close."""
    check.prefix.run("taskkill", "/IM", "pythonw.exe")
    closed = wait_for(lambda: process.poll() is not None, limit_s=30)
    check.expect(closed, f"it closes when asked to, and the launcher ends with code {process.poll()}")


def expect_refusal(check: Check, what: str, ended: Ended, code: int) -> None:
    """Expect that a program refuses with a code."""
    check.expect(ended.code == code, f"{what} is refused: code {ended.code}, {ended.seconds:.1f} s")


def run_python(check: Check, *arguments: str, limit_s: float = 180) -> Ended:
    """Run the installed Python as the program's own processes are."""
    python = check.prefix.program_folder / "python" / "python.exe"
    return check.prefix.run(python, "-I", "-X", "utf8", *arguments, limit_s=limit_s)


def wait_for(is_so: Callable[[], bool], *, limit_s: float) -> bool:
    """Wait until something is so, and return whether it came to be."""
    until_s = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.3)
    return True


def window_ids(prefix: Prefix) -> list[str]:
    """Return the windows of the program on the screen."""
    command = ["xdotool", "search", "--onlyvisible", "--name", "DiffusionForce"]
    return subprocess.run(command, env=prefix.variables, capture_output=True, text=True, check=False).stdout.split()


def windows_path(prefix: Prefix, path: Path) -> str:
    r"""Return how Windows calls a file of its drive, `C:\...`."""
    return "C:\\" + str(path.relative_to(prefix.drive_c)).replace("/", "\\")
