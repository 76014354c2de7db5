"""Control pictures: which belong to which picture, what is said of those that do not, and what is left out for them."""

from collections import defaultdict
from pathlib import Path

import pytest
from PIL import Image
from tests.support.broken_dataset import save

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.check import Report, check_folder
from diffusionforce.datasets.controls import pair
from diffusionforce.datasets.findings import KINDS
from diffusionforce.datasets.intake import Intake
from diffusionforce.datasets.repairs import Workshop
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.errors import DatasetError

NEEDED = Intake(controls="needed", max_controls=1)
USED = Intake()
IGNORED = Intake(controls="ignored")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three pictures, the first two with what they are made from."""
    folder = tmp_path / "pictures"
    (folder / "control").mkdir(parents=True)
    for index in range(3):
        save(folder / f"{index}.png", index)
    control(folder, "0.jpg")
    control(folder, "1.png")
    return folder


def control(root: Path, name: str) -> Path:
    path = root / "control" / name
    Image.new("RGB", (80, 40), (1, 2, 3)).save(path)
    return path


def checked(root: Path, intake: Intake, folder: SetFolder | None = None) -> Report:
    report = check_folder(root, intake=intake, folder=folder)
    assert report is not None
    return report


def found(report: Report) -> dict[str, list[str]]:
    names: defaultdict[str, list[str]] = defaultdict(list)
    for finding in report.findings:
        names[finding.what].append(finding.name)
    return dict(names)


def test_a_control_picture_bears_the_name_of_its_picture_in_any_format(root: Path) -> None:
    (root / "control" / "0.txt").write_text("no picture", encoding="utf-8")
    pairing = pair(root / "control", stems=["0", "2"])
    assert pairing is not None
    assert pairing.of(root / "0.png") == (root / "control" / "0.jpg",)
    assert pairing.of(root / "2.png") == ()
    assert pairing.unpaired == (root / "control" / "1.png",)


def test_several_come_in_the_order_of_their_numbers(root: Path) -> None:
    wanted = [root / "control" / "0.jpg", *(control(root, f"0_{number}.png") for number in (2, 10))]
    pairing = pair(root / "control", stems=["0"])
    assert pairing is not None
    assert list(pairing.of(root / "0.png")) == wanted


def test_what_is_another_pictures_own_is_not_taken(root: Path) -> None:
    control(root, "0_1.png")
    pairing = pair(root / "control", stems=["0", "0_1"])
    assert pairing is not None
    assert pairing.of(root / "0.png") == (root / "control" / "0.jpg",)
    assert pairing.of(root / "0_1.png") == (root / "control" / "0_1.png",)


def test_a_picture_without_one_is_left_out_where_the_model_needs_it(root: Path) -> None:
    report = checked(root, NEEDED)
    assert found(report) == {"no_control": ["2.png"]}
    dataset = read_folder(root, intake=NEEDED)
    assert {item.picture.name for item in dataset.items} == {"0.png", "1.png"}
    assert {file.name for file in report.files if file.is_used} == {"0.png", "1.png"}
    assert [item.controls for item in dataset.items] == [
        (root / "control" / "0.jpg",),
        (root / "control" / "1.png",),
    ]


def test_a_model_that_can_do_without_is_trained_on_both(root: Path) -> None:
    assert found(checked(root, USED)) == {"control_missing": ["2.png"]}
    assert [len(item.controls) for item in read_folder(root, intake=USED).items] == [1, 1, 0]


def test_a_model_that_makes_no_use_of_them_does_not_ask(root: Path) -> None:
    control(root, "nothing.png")
    assert not checked(root, IGNORED).findings
    assert not any(item.controls for item in read_folder(root, intake=IGNORED).items)


def test_no_folder_of_them_is_no_finding_unless_they_are_needed(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    assert not checked(tmp_path, USED).findings
    assert found(checked(tmp_path, NEEDED)) == {"no_control": ["a.png"]}
    with pytest.raises(DatasetError, match="nothing to train on"):
        read_folder(tmp_path, intake=NEEDED)


def test_a_model_that_takes_one_uses_the_first_of_several(root: Path) -> None:
    control(root, "0_1.png")
    control(root, "2.png")
    assert found(checked(root, NEEDED)) == {"many_controls": ["0.png"]}
    assert read_folder(root, intake=NEEDED).items[0].controls == (root / "control" / "0.jpg",)


def test_one_of_no_picture_is_set_aside_and_brought_back(root: Path) -> None:
    control(root, "2.png")
    stray = control(root, "nothing.png")
    report = checked(root, NEEDED)
    assert found(report) == {"unpaired_control": ["control/nothing.png"]}
    assert report.num_media == 3
    Workshop(root).repair("set_aside", report.findings, action="Set aside")
    assert not stray.exists()
    assert not checked(root, NEEDED).findings
    Workshop(root).undo()
    assert stray.is_file()


def test_a_damaged_one_leaves_its_picture_out_and_is_set_aside(root: Path) -> None:
    damaged = control(root, "2.png")
    damaged.write_bytes(damaged.read_bytes()[:40])
    report = checked(root, USED)
    assert found(report) == {"control_broken": ["2.png"]}
    used = {file.name for file in report.files if file.is_used}
    assert used == {item.picture.name for item in read_folder(root, intake=USED).items} == {"0.png", "1.png"}
    Workshop(root).repair(KINDS["control_broken"].repair, report.findings, action="Set aside")
    assert (root / "2.png").is_file()
    assert found(checked(root, USED)) == {"control_missing": ["2.png"]}
    Workshop(root).undo()
    assert damaged.is_file()


def test_they_may_lie_in_a_folder_of_the_users_choice(root: Path, tmp_path: Path) -> None:
    before = tmp_path / "before"
    (root / "control").rename(before)
    Image.new("RGB", (80, 40)).save(before / "stray.png")
    folder = SetFolder(path=str(root), controls=str(before))
    report = checked(root, NEEDED, folder)
    assert found(report) == {"no_control": ["2.png"], "unpaired_control": [str(before / "stray.png")]}
    (stray,) = [finding for finding in report.findings if finding.what == "unpaired_control"]
    with pytest.raises(DatasetError, match="lies in another folder"):
        Workshop(root).repair("set_aside", [stray], action="Set aside")
    facts = {file.name: file.controls for file in report.files}
    assert facts["0.png"] == (str(before / "0.jpg"),)


def test_a_chosen_folder_that_is_gone_is_said(root: Path, tmp_path: Path) -> None:
    folder = SetFolder(path=str(root), controls=str(tmp_path / "gone"))
    with pytest.raises(DatasetError, match="made from is not there"):
        check_folder(root, folder=folder)
