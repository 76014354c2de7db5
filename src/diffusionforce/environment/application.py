"""Where the parts of the application are: what is installed, the program that installs it, the engine's archive."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.errors import SetupError
from diffusionforce.wire.interpreter import UV_NAME, application_dir, code_dir, locks_dir

ENGINE_ARCHIVE = Path("engine") / "musubi-tuner.zip"


@dataclass(frozen=True, kw_only=True)
class Application:
    """The application that is running.

    Attributes:
        root: Its folder; in a source checkout its top folder.
        code: The folder that holds the package `diffusionforce`.
        locks: The folder of the lock files.
    """

    root: Path
    code: Path
    locks: Path

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
        for place in (self.root / UV_NAME, Path(sys.executable).with_name(UV_NAME)):
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
    return Application(root=application_dir(), code=code_dir(), locks=locks_dir())
