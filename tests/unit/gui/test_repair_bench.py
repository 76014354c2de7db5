"""Which folder a repair works in."""

from pathlib import Path

from diffusionforce.datasets.records import FileFacts, FileFinding
from diffusionforce.datasets.repairs import Workshop
from diffusionforce.gui.model.dataset_row import Row
from diffusionforce.gui.repair_bench import Repairs, by_folder, kept_words, named_words


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


def test_a_repair_is_told_by_the_names_of_its_files() -> None:
    # Symptom: "Save upright: 1 file" made e.png of e.jpg, and nobody was told.
    assert named_words(["e.jpg"]) == "e.jpg"
    assert named_words(["e.jpg", "f.jpg", "g.jpg"]) == "e.jpg, f.jpg, …"
    kept = "The originals are kept in the folder originals."
    assert kept_words(Repairs(folders=(), problems=())) == kept
    # A first caption said that the original is kept, where there was none.
    assert kept_words(Repairs(folders=(), problems=(), has_originals=False)) == ""
    one = Repairs(folders=(), problems=(), renamed=(("e.jpg", "e.png"),))
    assert kept_words(one) == f"e.jpg is now e.png. {kept}"
    two = Repairs(folders=(), problems=(), renamed=(("e.jpg", "e.png"), ("f.jpg", "f.png")))
    assert kept_words(two) == f"e.jpg is now e.png, likewise 1 more. {kept}"
