"""Several folders as one dataset."""

from pathlib import Path

import pytest
from tests.support.broken_dataset import save

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.sets import DatasetSet, SetFolder, read_set, write_set
from diffusionforce.errors import DatasetError


def test_each_folder_counts_as_often_as_it_should(tmp_path: Path) -> None:
    for name, num in (("fox", 2), ("cat", 1)):
        (tmp_path / name).mkdir()
        for seed in range(num):
            save(tmp_path / name / f"{seed}.png", seed)
    (tmp_path / "cat" / "orphan.txt").write_text("of nothing", encoding="utf-8")
    folders = (SetFolder(path=str(tmp_path / "fox")), SetFolder(path=str(tmp_path / "cat"), repeats=3))
    write_set(tmp_path / "both", DatasetSet(title="Both", folders=folders))
    seen: list[tuple[int, int]] = []
    dataset = read_folder(tmp_path / "both", progress=lambda done, total: seen.append((done, total)))
    assert [item.picture.parent.name for item in dataset.items] == ["fox", "fox", "cat", "cat", "cat"]
    assert seen[-1] == (3, 3)
    assert len(dataset.findings) == 1
    assert dataset.root == tmp_path / "both"


def test_a_set_whose_folder_is_gone_says_which(tmp_path: Path) -> None:
    write_set(tmp_path / "set", DatasetSet(title="Gone", folders=(SetFolder(path=str(tmp_path / "nowhere")),)))
    with pytest.raises(DatasetError, match="nowhere"):
        read_folder(tmp_path / "set")


def test_a_damaged_set_is_said(tmp_path: Path) -> None:
    (tmp_path / "dataset-set.toml").write_text("title = ", encoding="utf-8")
    with pytest.raises(DatasetError, match="cannot be read"):
        read_set(tmp_path)
