"""Where the parts of the application are: what is installed, the program that installs it, the engine's archive."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.errors import SetupError
from diffusionforce.job import shipped_dir

ROOT_VARIABLE = "DIFFUSIONFORCE_APP"
ENGINE_ARCHIVE = Path("engine") / "musubi-tuner.zip"
_UV = "uv.exe" if sys.platform == "win32" else "uv"


@dataclass(frozen=True, kw_only=True)
class Application:
    """The application that is running.

    Attributes:
        root: Its folder; in a source checkout its top folder.
        code: The folder that holds the package `diffusionforce`.
    """

    root: Path
    code: Path

    @property
    def locks(self) -> Path:
        """The folder of the lock files."""
        beside = self.root / "locks"
        return beside if (beside / "torch.txt").is_file() else shipped_dir("locks")

    @property
    def wheels(self) -> Path | None:
        """The folder of everything to install, where the application brought it."""
        folder = self.root / "wheels"
        return folder if any(folder.glob("*.whl")) else None

    @property
    def engine_archive(self) -> Path | None:
        """The archive of the engine for the real models, where the application brought it."""
        path = self.root / ENGINE_ARCHIVE
        return path if path.is_file() else None

    def uv(self) -> Path:
        """Return the program that installs: the application's own, that of this Python, or one on the path.

        Raises:
            SetupError: There is none.
        """
        for place in (self.root / _UV, Path(sys.executable).with_name(_UV)):
            if place.is_file():
                return place
        found = shutil.which("uv")
        if found is None:
            raise SetupError(
                f"The program uv, which builds the environment, is not in {self.root}.",
                hint="Run the setup of DiffusionForce again; it puts it back.",
            )
        return Path(found)


def find_application() -> Application:
    """Return the application that is running."""
    code = Path(__file__).resolve().parents[2]
    named = os.environ.get(ROOT_VARIABLE)
    if named:
        return Application(root=Path(named).absolute(), code=code)
    above_python = Path(sys.base_prefix).absolute().parent
    return Application(root=above_python if (above_python / _UV).is_file() else code.parent, code=code)
