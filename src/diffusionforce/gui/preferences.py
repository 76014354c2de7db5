"""What the window remembers between two starts, in one file of the data folder."""

from pathlib import Path
from typing import Literal

from PySide6.QtCore import QByteArray, QSettings

from diffusionforce.gui.theme import Choice
from diffusionforce.runs import data_dir

MAX_RECENT = 6
# Names of what pages write down, where others ask for it without loading the page.
TOKEN_KEPT_KEY, STEPS_SEEN_KEY = "hub_token", "welcome"

FIRST_PROFILE = "pocket-demo"
"""Of a new run, and of everything that looks ahead to one, until somebody chooses another."""


class Preferences:
    """Theme, geometry, and the last choices."""

    def __init__(self, path: Path | None = None) -> None:
        """Open the file; `path` is for tests, the usual place is the data folder."""
        self.path = path or data_dir() / "window.ini"
        self._store = QSettings(str(self.path), QSettings.Format.IniFormat)

    @property
    def theme(self) -> Choice:
        """The chosen theme."""
        value = str(self._store.value("theme", "system"))
        return "dark" if value == "dark" else "light" if value == "light" else "system"

    @theme.setter
    def theme(self, choice: Choice) -> None:
        self._store.setValue("theme", choice)

    @property
    def language(self) -> str:
        """Code of the chosen language."""
        return str(self._store.value("language", "en"))

    @language.setter
    def language(self, code: str) -> None:
        self._store.setValue("language", code)

    @property
    def tells_of_ends(self) -> bool:
        """Whether the system is to say that a run has ended while another window is in front."""
        return str(self._store.value("tells_of_ends", "yes")) != "no"

    @tells_of_ends.setter
    def tells_of_ends(self, wanted: bool) -> None:
        self._store.setValue("tells_of_ends", "yes" if wanted else "no")

    @property
    def when_alone(self) -> Literal["go_on", "stop"]:
        """What a run does whose window is gone without a word: it goes on, or saves and stops."""
        return "stop" if str(self._store.value("when_alone", "go_on")) == "stop" else "go_on"

    @when_alone.setter
    def when_alone(self, wanted: Literal["go_on", "stop"]) -> None:
        self._store.setValue("when_alone", wanted)

    @property
    def geometry(self) -> QByteArray | None:
        """Place and size of the window."""
        value = self._store.value("geometry")
        return value if isinstance(value, QByteArray) and not value.isEmpty() else None

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._store.setValue("geometry", value)

    @property
    def place(self) -> str:
        """The place at which the last window was closed; empty where there was none."""
        return str(self._store.value("place", ""))

    @property
    def run(self) -> Path | None:
        """The run that was in sight there, or went on without a window; None for none."""
        path = str(self._store.value("place_run", ""))
        return Path(path) if path else None

    def remember_place(self, place: str, *, run: Path | None) -> None:
        """Write down where the next window opens."""
        self._store.setValue("place", place)
        self._store.setValue("place_run", "" if run is None else str(run.absolute()))

    @property
    def profile(self) -> str:
        """Name or path of the profile chosen last."""
        return str(self._store.value("profile", ""))

    @profile.setter
    def profile(self, name: str) -> None:
        self._store.setValue("profile", name)

    @property
    def dataset(self) -> str:
        """The dataset chosen last: `demo:NAME` or a path; empty for the profile's own."""
        return str(self._store.value("dataset", ""))

    @dataset.setter
    def dataset(self, folder: str) -> None:
        self._store.setValue("dataset", folder)

    @property
    def opened_dataset(self) -> str:
        """The user's own dataset that was opened since a run was planned; empty for none, or another one after it."""
        return str(self._store.value("opened_dataset", ""))

    @opened_dataset.setter
    def opened_dataset(self, folder: str) -> None:
        self._store.setValue("opened_dataset", folder)

    def remember_folder(self, folder: str) -> None:
        """Put a dataset folder that turned out usable at the head of the recent ones."""
        if not folder.startswith("demo:"):
            recent = [folder, *(path for path in self.recent_datasets if path != folder)]
            self._store.setValue("recent_datasets", "\n".join(recent[:MAX_RECENT]))

    def forget_folder(self, folder: str) -> None:
        """Take a dataset folder out of the recent ones."""
        self._store.setValue("recent_datasets", "\n".join(path for path in self.recent_datasets if path != folder))
        if self.dataset == folder:
            self.dataset = ""
        if self.opened_dataset == folder:
            self.opened_dataset = ""

    @property
    def recent_datasets(self) -> list[str]:
        """Folders chosen before, the newest first."""
        return [path for path in str(self._store.value("recent_datasets", "")).splitlines() if path]

    def text(self, key: str) -> str:
        """Return what a page wrote down under a key, empty for nothing."""
        return str(self._store.value(key, ""))

    def set_text(self, key: str, text: str) -> None:
        """Write something down for the next start of the window."""
        self._store.setValue(key, text)

    def reset(self) -> dict[str, object]:
        """Forget everything, and return it for `restore`."""
        before = {key: self._store.value(key) for key in self._store.allKeys()}
        self._store.clear()
        return before

    def restore(self, before: dict[str, object]) -> None:
        """Take back what `reset` forgot."""
        for key, value in before.items():
            self._store.setValue(key, value)

    def save(self) -> None:
        """Write the file now."""
        self._store.sync()
