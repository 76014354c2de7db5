"""Control pictures: what each picture of a dataset is made from, for models that change pictures.

Which belongs to which picture is for `diffusionforce.datasets.controls` to find.
"""

from pathlib import Path

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.intake import Intake
from diffusionforce.engines.musubi.families import Family
from diffusionforce.errors import DatasetError

CONTROL_DIR = "control"


def needs_controls(family: Family) -> bool:
    """Whether every picture of a dataset needs a control picture."""
    return family.trains_on == "pictures with control pictures"


def require_controls(dataset_dir: Path, *, family: Family) -> None:
    """Refuse a dataset in which no picture has the control picture that the model needs.

    Pictures without one beside others that have one are left out, and named. A folder that cannot be read is left to
    whoever reads the dataset.

    Raises:
        DatasetError: None of them can be trained on.
    """
    if not needs_controls(family) or not dataset_dir.is_dir():
        return
    try:
        items = read_folder(dataset_dir, decode=False, intake=Intake(controls="used")).items
    except DatasetError:
        return
    if not any(item.controls for item in items):
        raise DatasetError(
            f"{family.title} is trained on pictures with control pictures, and no picture of {dataset_dir.name} has "
            "one.",
            hint="Put what each is made from into a folder control beside the pictures, under the name of the picture.",
        )
