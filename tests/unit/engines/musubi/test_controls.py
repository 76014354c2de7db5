"""Control pictures: which belong to which picture, and what is said of a picture that has none."""

from pathlib import Path

import pytest
from PIL import Image
from tests.support.jobs import picture_folder

from diffusionforce.engines.musubi.controls import controls_of, require_controls
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.errors import DatasetError

KONTEXT, EDIT, QWEN = FAMILIES["flux1-kontext"], FAMILIES["qwen-image-edit-2509"], FAMILIES["qwen-image"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pictures, the first two with what they are made from."""
    root = picture_folder(tmp_path / "pictures")
    for name in ("0.jpg", "1.png"):
        control(root, name)
    return root


def control(root: Path, name: str) -> Path:
    path = root / "control" / name
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (80, 40), (1, 2, 3)).save(path)
    return path


def test_a_control_picture_bears_the_name_of_its_picture_in_any_format(folder: Path) -> None:
    (folder / "control" / "0.txt").write_text("no picture", encoding="utf-8")
    assert controls_of(folder / "0.png") == (folder / "control" / "0.jpg",)
    assert controls_of(folder / "2.png") == ()


def test_several_come_in_the_order_of_their_numbers(folder: Path) -> None:
    wanted = [folder / "control" / "0.jpg", *(control(folder, f"0_{number}.png") for number in (2, 10))]
    assert list(controls_of(folder / "0.png")) == wanted


def test_what_is_another_pictures_own_is_not_taken(folder: Path) -> None:
    Image.new("RGB", (64, 64)).save(folder / "0_1.png")
    control(folder, "0_1.png")
    assert controls_of(folder / "0.png") == (folder / "control" / "0.jpg",)
    assert controls_of(folder / "0_1.png") == (folder / "control" / "0_1.png",)


def test_a_picture_without_one_is_named_with_where_it_belongs(folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"2\.png has no control picture\.") as caught:
        require_controls(folder, family=KONTEXT)
    assert str(folder / "control") in caught.value.hint
    (folder / "control" / "1.png").unlink()
    with pytest.raises(DatasetError, match=r"1\.png has no control picture, like 1 more\."):
        require_controls(folder, family=EDIT)


def test_one_is_enough_for_all_and_too_many_for_some(folder: Path) -> None:
    control(folder, "2.png")
    control(folder, "2_1.png")
    require_controls(folder, family=EDIT)
    with pytest.raises(DatasetError, match=r"2\.png has several control pictures"):
        require_controls(folder, family=KONTEXT)


def test_other_models_and_missing_folders_are_left_alone(folder: Path) -> None:
    require_controls(folder, family=QWEN)
    require_controls(folder / "nowhere", family=KONTEXT)
