"""Which folder a repair works in."""

from pathlib import Path

from diffusionforce.datasets.records import FileFacts, FileFinding
from diffusionforce.datasets.repairs import Workshop
from diffusionforce.gui.model.dataset_row import Row
from diffusionforce.gui.repair_bench import by_folder


def row(folder: Path, name: str) -> Row:
    return Row(path=folder / name, folder=folder, facts=FileFacts(name=name, media="picture"))


def test_files_are_repaired_in_the_folder_of_their_dataset(tmp_path: Path) -> None:
    one = FileFinding(what="unpaired_control", name="control/x.png")
    other = FileFinding(what="control_broken", name="a.png", related=("control/a.png",))
    found = by_folder([(row(tmp_path, "control/x.png"), one), (row(tmp_path, "a.png"), other)])
    assert found == {tmp_path: [one, other]}


def test_control_pictures_of_another_folder_are_repaired_and_brought_back_there(tmp_path: Path) -> None:
    pictures, before = tmp_path / "pictures", tmp_path / "before"
    before.mkdir()
    for name in ("a.png", "x.png"):
        (before / name).write_bytes(b"damaged")
    stray = FileFinding(what="unpaired_control", name=str(before / "x.png"))
    broken = FileFinding(what="control_broken", name="a.png", related=(str(before / "a.png"),))
    for key, finding in (("set_aside", stray), ("set_control_aside", broken)):
        ((folder, findings),) = by_folder([(row(pictures, finding.name), finding)]).items()
        assert folder == before
        Workshop(folder).repair(key, findings, action="Set aside")
    assert not list(before.glob("*.png"))
    Workshop(before).undo()
    Workshop(before).undo()
    assert sorted(path.name for path in before.glob("*.png")) == ["a.png", "x.png"]
