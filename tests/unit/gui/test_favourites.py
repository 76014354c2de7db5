from pathlib import Path

import pytest

from diffusionforce.errors import UserError
from diffusionforce.gui.model.favourites import FILE_NAME, Favourites


def test_a_mark_is_kept_with_the_run_and_can_be_taken_away(tmp_path: Path):
    marked = Favourites(tmp_path)
    assert marked.toggle("samples/b.png") and marked.toggle("samples/a.png")
    again = Favourites(tmp_path)
    assert again.paths == ("samples/b.png", "samples/a.png") and "samples/a.png" in again
    assert not again.toggle("samples/b.png")
    assert Favourites(tmp_path).paths == ("samples/a.png",)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"samples": 3}', '{"samples": [3, null]}'])
def test_a_broken_file_marks_nothing(tmp_path: Path, content: str):
    (tmp_path / FILE_NAME).write_text(content)
    assert len(Favourites(tmp_path)) == 0


def test_a_folder_that_refuses_changes_nothing(tmp_path: Path):
    marked = Favourites(tmp_path / "gone")
    with pytest.raises(UserError):
        marked.toggle("a.png")
    assert "a.png" not in marked
