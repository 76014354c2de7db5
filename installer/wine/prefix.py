"""A Windows of one's own for a test: a fresh Wine prefix, a user with an uncommon name, a screen that nobody sees.

What programs print goes through pipes that are read: under Wine, Python does not start when its output is a file.
"""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from installer.launcher import TOOLCHAIN
from installer.problems import BuildError

SHIMS = Path(__file__).resolve().parent
LIBRARIES = ("bcryptprimitives", "icuuc", "mscms")
"""Libraries that Wine 8 lacks, each a C file beside this one."""
PROGRAMS = {
    "wine": "wine wine64",
    "wineserver": "wine wine64",
    "Xvfb": "xvfb",
    "import": "imagemagick",
    "xdotool": "xdotool",
}
USER = "jürgen漢"
SCREEN = "1400x900x24"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program ended."""

    code: int
    text: str
    """What it printed, errors too."""
    seconds: float


class Prefix:
    """A prefix in a folder.

    Args:
        folder: Where it is made; what is there goes.
    """

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.drive_c = self.home / "prefix" / "drive_c"
        self._screen: subprocess.Popen[bytes] | None = None
        self.variables = {
            **os.environ,
            "HOME": str(self.home),
            "USER": USER,
            "LOGNAME": USER,
            "WINEPREFIX": str(self.drive_c.parent),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=d;" + ";".join(f"{name}=n" for name in LIBRARIES),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        }

    def make(self) -> None:
        """Make it, with the screen, and with what Wine lacks."""
        self._start_screen()
        # Apart from pipes of ours: services that this starts would hold them open.
        quiet = [
            "wine",
            "reg",
            "add",
            "HKCU\\Software\\Wine\\WineDbg",
            "/v",
            "ShowCrashDialog",
            "/t",
            "REG_DWORD",
            "/d",
            "0",
        ]
        for command in (["wineboot", "-i"], ["wine", "winecfg", "-v", "win10"], quiet):
            self._silent(command)
        for name in LIBRARIES:
            target = self.drive_c / "windows" / "system32" / f"{name}.dll"
            compiler = [f"{TOOLCHAIN}gcc", "-Os", "-s", "-shared", "-o", str(target), str(SHIMS / f"{name}.c")]
            subprocess.run([*compiler, "-ladvapi32"], check=True)

    def _silent(self, command: list[str]) -> None:
        subprocess.run(
            command,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=180,
            check=False,
        )

    def _start_screen(self) -> None:
        reading, writing = os.pipe()
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", SCREEN]
        self._screen = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading, encoding="ascii") as told:
            number = told.readline().strip()
        if not number:
            raise BuildError("Xvfb gives no screen.")
        self.variables["DISPLAY"] = f":{number}"

    @property
    def user_folder(self) -> Path:
        """The user's folder, as Linux sees it."""
        return self.drive_c / "users" / USER

    @property
    def program_folder(self) -> Path:
        """Where the set-up program installs to, as Linux sees it."""
        return self.user_folder / "AppData" / "Local" / "Programs" / "DiffusionForce"

    @property
    def data_folder(self) -> Path:
        """Where the program keeps what is the user's, as Linux sees it."""
        return self.user_folder / "AppData" / "Local" / "DiffusionForce"

    def start(self, program: Path | str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start a Windows program and return at once."""
        return subprocess.Popen(
            ["wine", str(program), *arguments],
            env={**self.variables, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )

    def run(self, program: Path | str, *arguments: str, limit_s: float = 120, **variables: str) -> Ended:
        """Run a Windows program to its end.

        Raises:
            BuildError: It does not end in time; everything in the prefix is ended then.
        """
        started_s = time.monotonic()
        process = self.start(program, *arguments, **variables)
        lines: list[str] = []
        # A program that outlives the one we wait for may hold the pipe; a thread that is left reading hurts nobody.
        reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.end_programs()
            words = "".join(lines[-15:])
            raise BuildError(f"{program} did not end within {limit_s:.0f} s. It had printed:\n{words}") from None
        reader.join(3)
        return Ended(code=code, text="".join(lines), seconds=time.monotonic() - started_s)

    def prepare_program(self) -> None:
        """Give the installed Python what it needs under Wine 8; the set-up program brings it back to what it was."""
        shutil.copy(SHIMS / "sitecustomize.py", self.program_folder / "python" / "Lib" / "site-packages")
        (self.program_folder / "python" / "DLLs" / "_wmi.pyd").unlink(missing_ok=True)

    def registry(self, key: str) -> dict[str, str]:
        """Return the values of a key of the user; empty where there is none."""
        ended = self.run("reg", "query", f"HKCU\\{key}")
        rows = (line.strip().split("    ") for line in ended.text.splitlines())
        return {row[0]: row[2] for row in rows if len(row) == 3 and row[1].startswith("REG_")}

    def picture(self, path: Path) -> None:
        """Keep what the screen shows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["import", "-window", "root", str(path)], env=self.variables, check=True, timeout=30)

    def press(self, key: str) -> None:
        """Press a key, by the name that X has for it."""
        subprocess.run(["xdotool", "key", key], env=self.variables, check=True, timeout=30)

    def click(self, window: str, *, x_px: int, y_px: int) -> None:
        """Click into a window, counted from its upper left corner."""
        place = ["mousemove", "--window", window, str(x_px), str(y_px)]
        subprocess.run(["xdotool", *place, "click", "1"], env=self.variables, check=True, timeout=30)

    def find(self, name: str) -> list[Path]:
        """Return the files of a name in the user's folders and on the desktop, each once."""
        return sorted({path.resolve() for path in self._walk((self.user_folder, self.home)) if path.name == name})

    def _walk(self, folders: Iterable[Path]) -> Iterable[Path]:
        for folder in folders:
            for root, below, files in os.walk(folder):
                below[:] = [one for one in below if one not in {"prefix", "python", "env", "cache"}]
                yield from (Path(root, one) for one in files)

    def end_programs(self) -> None:
        """End everything that runs in the prefix."""
        subprocess.run(["wineserver", "-k"], env=self.variables, check=False, timeout=30)

    def close(self) -> None:
        """End everything, the screen too."""
        self.end_programs()
        if self._screen is not None:
            self._screen.terminate()
            self._screen.wait(10)


def _read(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stdout is not None
    lines.extend(process.stdout)
