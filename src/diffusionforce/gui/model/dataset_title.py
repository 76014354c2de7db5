"""What a dataset is called: the name of a demo, of a set of folders, or of its folder."""

import contextlib
from pathlib import Path

from diffusionforce.datasets.sets import is_set, read_set
from diffusionforce.errors import DatasetError
from diffusionforce.gui.model.language import tr
from diffusionforce.job import shipped_dir

# What the characters of the demo datasets are called.
DEMO_NAMES = {"loranne": "LoRAnne", "rolwayne": "Rolwayne"}


def demo_choices() -> list[str]:
    """Return the demo datasets to train on as choices; their held-out halves are not offered."""
    root = shipped_dir("demo_datasets")
    if not root.is_dir():
        return []
    folders = (path.name for path in sorted(root.iterdir()) if path.is_dir() and any(path.glob("*.txt")))
    return [f"demo:{name}" for name in folders if "held" not in name]


def choice_title(choice: str) -> str:
    """Return the name of a dataset as it was chosen: `demo:NAME` or the path of a folder."""
    if choice.startswith("demo:"):
        return tr("{name} demo set").format(name=_demo_name(choice.removeprefix("demo:")))
    root = Path(choice)
    if is_set(root):
        with contextlib.suppress(DatasetError):
            return read_set(root).title
    return root.name or choice


def folder_title(folder: Path) -> str:
    """Return the name of a dataset of which only the folder is known."""
    return choice_title(f"demo:{folder.name}") if _is_demo(folder) else choice_title(str(folder))


def subject(folder: Path) -> str:
    """Return what a run on a folder is about, in as few words as there are: `LoRAnne`, `Gouache landscapes`."""
    return _demo_name(folder.name) if _is_demo(folder) else choice_title(str(folder))


def _is_demo(folder: Path) -> bool:
    """Whether a folder is a demo of this program, or of where it lay before."""
    if folder.parent.name != "demo_datasets":
        return False
    return folder.name in DEMO_NAMES or folder.parent.resolve() == shipped_dir("demo_datasets").resolve()


def _demo_name(name: str) -> str:
    return DEMO_NAMES.get(name, name.replace("-", " "))
