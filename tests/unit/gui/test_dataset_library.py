"""The list of datasets."""

from pathlib import Path

import pytest

from diffusionforce.datasets.records import FileFacts, FileFinding
from diffusionforce.datasets.sets import SetFolder, is_set, read_set
from diffusionforce.errors import DatasetError
from diffusionforce.gui.model import training_size
from diffusionforce.gui.model.dataset_library import DatasetLibrary
from diffusionforce.gui.model.dataset_table import DatasetTable


def test_datasets_are_remembered_with_what_their_check_said(tmp_path: Path):
    library = DatasetLibrary(tmp_path)
    library.add("/pictures/fox")
    library.add("/pictures/fox")
    root = Path("/pictures/cat")
    files = [FileFacts(name=f"{index}.png", media="picture", is_used=index > 0) for index in range(4)]
    files.append(FileFacts(name="of nothing.txt", media="caption"))
    finding = FileFinding(what="no_caption", name="0.png")
    library.note_check("/pictures/cat", DatasetTable.checked([(root, files, [finding])]))
    library.save()
    again = DatasetLibrary(tmp_path)
    assert [entry.choice for entry in again.own] == ["/pictures/fox", "/pictures/cat"]
    cat = again.entry("/pictures/cat")
    assert (cat.mark, cat.note, cat.picture) == ("warn", "4 pictures · 1 left out", str(root / "1.png"))
    again.remove("/pictures/fox")
    assert [entry.choice for entry in DatasetLibrary(tmp_path).own] == ["/pictures/cat"]


def test_a_damaged_list_is_begun_anew_and_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "datasets.json").write_text("{", encoding="utf-8")
    library = DatasetLibrary(tmp_path)
    assert library.own == []
    library.add("/pictures/fox")
    assert [path.read_text() for path in tmp_path.glob("datasets.json.damaged-*")] == ["{"]
    assert len(DatasetLibrary(tmp_path).own) == 1
    caplog.clear()


def test_a_folder_with_a_second_one_becomes_a_set(tmp_path: Path):
    library = DatasetLibrary(tmp_path / "home")
    one, other = str(tmp_path / "fox"), str(tmp_path / "cat")
    (tmp_path / "fox").mkdir()
    choice = library.change_folders(one, (SetFolder(path=one), SetFolder(path=other, repeats=3)))
    assert is_set(Path(choice))
    assert read_set(Path(choice)).title == library.title(choice) == "fox"
    assert library.folders(choice) == (SetFolder(path=one), SetFolder(path=other, repeats=3))
    assert library.change_folders(choice, (SetFolder(path=one, repeats=2),)) == choice
    assert library.folders(choice) == (SetFolder(path=one, repeats=2),)


def test_one_folder_that_counts_once_stays_a_folder(tmp_path: Path):
    library = DatasetLibrary(tmp_path)
    assert library.change_folders("/pictures/fox", (SetFolder(path="/pictures/cat"),)) == "/pictures/cat"
    with pytest.raises(DatasetError):
        library.change_folders("/pictures/fox", ())


def test_the_training_size_is_that_of_the_profile():
    assert training_size.size_of("pocket-demo")[0] < 1024
    assert training_size.size_of("nothing-like-it") == training_size.USUAL
    assert training_size.choices((640, 640))[0] == (640, 640)
