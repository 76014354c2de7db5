"""Control pictures: a dataset without any is refused by a model that needs them."""

from pathlib import Path

import pytest
from PIL import Image
from tests.support.jobs import picture_folder

from diffusionforce.engines.musubi.controls import require_controls
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.errors import DatasetError

KONTEXT, QWEN = FAMILIES["flux1-kontext"], FAMILIES["qwen-image"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return picture_folder(tmp_path / "pictures")


def test_none_at_all_is_said_with_where_they_belong(folder: Path) -> None:
    with pytest.raises(DatasetError, match="no picture of pictures has one") as caught:
        require_controls(folder, family=KONTEXT)
    assert "folder control" in caught.value.hint


def test_some_are_enough_because_the_others_are_left_out(folder: Path) -> None:
    (folder / "control").mkdir()
    Image.new("RGB", (80, 40)).save(folder / "control" / "1.png")
    require_controls(folder, family=KONTEXT)


def test_other_models_and_missing_folders_are_left_alone(folder: Path) -> None:
    require_controls(folder, family=QWEN)
    require_controls(folder / "nowhere", family=KONTEXT)
