"""Names and notes of runs."""

from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.errors import RunFolderError, UserError
from diffusionforce.runs.labels import LABEL_NAME, RunLabel, read_label, write_label


def test_a_label_is_kept_beside_the_state_and_leaves_it_alone(tmp_path: Path) -> None:
    folder = recorded.run_folder(tmp_path / "run", end="done")
    before = folder.state_path.read_bytes()
    label = RunLabel(name="Käse, 2nd try", notes="better skin\nworse hands")
    write_label(folder.root, label)
    assert read_label(folder.root) == label
    assert folder.state_path.read_bytes() == before
    write_label(folder.root, RunLabel())
    assert not (folder.root / LABEL_NAME).exists()
    assert read_label(folder.root) == RunLabel()


@pytest.mark.parametrize("content", [b"", b"{", b'{"name": 7}', b"\xff"])
def test_a_damaged_label_is_none_and_is_kept(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / LABEL_NAME).write_bytes(content)
    assert read_label(tmp_path) == RunLabel()
    write_label(tmp_path, RunLabel(name="another"))
    assert [path.read_bytes() for path in tmp_path.glob(f"{LABEL_NAME}.damaged-*")] == [content]
    caplog.clear()


def test_a_folder_that_refuses_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        write_label(tmp_path / "gone" / "run", RunLabel(name="a"))
    assert issubclass(RunFolderError, UserError)
