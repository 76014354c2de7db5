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
def test_a_broken_file_marks_nothing_and_is_kept(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture):
    (tmp_path / FILE_NAME).write_text(content)
    marked = Favourites(tmp_path)
    assert len(marked) == 0 and marked.toggle("samples/a.png")
    assert Favourites(tmp_path).paths == ("samples/a.png",)
    assert [path.read_text() for path in tmp_path.glob(f"{FILE_NAME}.damaged-*")] == [content]
    caplog.clear()


def test_marks_that_cannot_be_read_for_now_are_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Symptom: they counted as none, and the next mark was the only one.
    Favourites(tmp_path).toggle("samples/b.png")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: (_ for _ in ()).throw(OSError("the disk fails")))
        marked = Favourites(tmp_path)
        with pytest.raises(UserError, match="fails"):
            marked.toggle("samples/a.png")
    assert "samples/a.png" not in marked
    marked.toggle("samples/a.png")
    assert marked.paths == ("samples/b.png", "samples/a.png")


def test_a_folder_that_refuses_changes_nothing(tmp_path: Path):
    marked = Favourites(tmp_path / "gone")
    with pytest.raises(UserError):
        marked.toggle("a.png")
    assert "a.png" not in marked
