"""Repairs: each cures its finding, keeps every original, and can be undone to the last byte."""

import hashlib
import os
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from tests.support import broken_dataset
from tests.support.broken_dataset import TRIGGER, save

from diffusionforce.datasets import repair_steps, repairs
from diffusionforce.datasets.captions import ORIGINALS
from diffusionforce.datasets.check import Report, check_folder
from diffusionforce.datasets.findings import KINDS
from diffusionforce.datasets.records import FileFinding
from diffusionforce.datasets.repairs import Repaired, Workshop
from diffusionforce.errors import DatasetError

ELSEWHERE = {"clip", "clip_short", "clip_slow", "no_control", "control_broken", "unpaired_control"}
"""Repaired by tests with clips and control pictures."""
REPAIRABLE = [
    kind.key for kind in KINDS.values() if kind.repair and kind.key not in {*ELSEWHERE, "huge", "long_name", "odd_name"}
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return broken_dataset.make(tmp_path_factory.mktemp("sets") / "model")


@pytest.fixture
def root(model: Path, tmp_path: Path) -> Path:
    """A copy of the broken folder that a test may repair."""
    folder = tmp_path / "broken"
    folder.mkdir()
    for path in model.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def checked(root: Path) -> Report:
    report = check_folder(root)
    assert report is not None
    return report


def contents(root: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in root.iterdir() if path.is_file()}


def repair(root: Path, what: str) -> Repaired:
    kind = KINDS[what]
    findings = [finding for finding in checked(root).findings if finding.what == what]
    assert findings
    return Workshop(root).repair(kind.repair, findings, action=kind.action, caption=f"{TRIGGER}, new")


@pytest.mark.parametrize("what", REPAIRABLE)
def test_a_repair_cures_keeps_the_original_and_can_be_undone(root: Path, what: str) -> None:
    before = contents(root)
    repaired = repair(root, what)
    assert repaired.num_files
    assert not repaired.problems
    assert what not in {finding.what for finding in checked(root).findings}
    kept = set(contents(root).values()) | set(contents(root / ORIGINALS).values())
    assert set(before.values()) <= kept
    assert Workshop(root).undo() is not None
    assert contents(root) == before


def test_repairs_are_undone_one_by_one_also_by_another_process(root: Path) -> None:
    before = contents(root)
    repair(root, "duplicate")
    between = contents(root)
    repair(root, "rotated")
    assert [done.action for done in Workshop(root).done()] == ["Keep one", "Save upright"]
    Workshop(root).undo()
    assert contents(root) == between
    Workshop(root).undo()
    assert contents(root) == before
    assert Workshop(root).undo() is None


def test_everything_can_be_repaired(root: Path) -> None:
    for _ in range(3):
        for what in {finding.what for finding in checked(root).findings}:
            if any(finding.what == what for finding in checked(root).findings):
                repair(root, what)
    report = checked(root)
    assert not report.findings
    assert report.num_used == report.num_media


def test_a_turned_photo_is_saved_upright_without_loss(tmp_path: Path) -> None:
    broken_dataset.turned(save(tmp_path / "photo.jpg", 1, size=(300, 200)))
    repair(tmp_path, "rotated")
    with Image.open(tmp_path / "photo.png") as picture:
        assert picture.size == (200, 300)
        assert picture.getexif().get(274, 1) == 1
    assert (tmp_path / ORIGINALS / "photo.jpg").is_file()


def test_a_deep_picture_keeps_its_tones(root: Path) -> None:
    repair(root, "deep")
    with Image.open(root / "deep.png") as picture:
        assert picture.mode == "RGB"
        low, high = picture.convert("L").getextrema()
        assert (low, high) == (0, 255)
        assert picture.convert("L").histogram()[255] < 400


def test_pictures_that_shared_a_caption_get_one_each(root: Path) -> None:
    repair(root, "same_stem")
    assert (root / "shared-2.png").is_file()
    assert (root / "shared.txt").read_text().split() == (root / "shared-2.txt").read_text().split()


def test_a_caption_that_another_picture_needs_stays(root: Path) -> None:
    finding = FileFinding(what="tiny", name="shared.png")
    Workshop(root).repair("set_aside", [finding], action="Set aside")
    assert not (root / "shared.png").exists()
    assert (root / "shared.txt").is_file()


def test_a_huge_picture_becomes_smaller_and_a_long_name_shorter(tmp_path: Path) -> None:
    Image.new("L", (10_000, 5_001)).save(tmp_path / "huge.png")
    (tmp_path / "huge.txt").write_text("a wall", encoding="utf-8")
    save(tmp_path / f"{'n' * 230}.png", 1)
    before = contents(tmp_path)
    repair(tmp_path, "huge")
    repair(tmp_path, "long_name")
    assert not checked(tmp_path).findings
    with Image.open(tmp_path / "huge.png") as picture:
        assert picture.size == (4096, 2048)
    Workshop(tmp_path).undo()
    Workshop(tmp_path).undo()
    assert contents(tmp_path) == before


def test_the_first_frame_of_a_clip_becomes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("av")
    broken_dataset.clip(tmp_path / "dance.mp4", size=(64, 64))
    (tmp_path / "dance.txt").write_text("a dance", encoding="utf-8")
    repair(tmp_path, "clip")
    assert checked(tmp_path).num_used == 1


def test_a_name_that_is_taken_is_not_written_over(root: Path) -> None:
    save(root / "turned.png", 99)
    before = contents(root)
    with pytest.raises(DatasetError, match=r"There is a file turned\.png already"):
        repair(root, "rotated")
    assert contents(root) == before


def test_a_file_that_is_gone_does_not_stop_the_others(root: Path) -> None:
    findings = [FileFinding(what="duplicate", name="nowhere.png"), FileFinding(what="duplicate", name="twin_b.png")]
    repaired = Workshop(root).repair("set_aside", findings, action="Keep one")
    assert len(repaired.problems) == 1
    assert not (root / "twin_b.png").exists()


def test_a_repair_can_be_ended_between_files_and_undone(root: Path) -> None:
    before = contents(root)
    findings = [finding for finding in checked(root).findings if finding.what == "caption_encoding"]
    stops = iter([False, False, True])
    Workshop(root).repair("save_as_utf8", findings, action="Save as UTF-8", should_stop=lambda: next(stops))
    assert len([finding for finding in checked(root).findings if finding.what == "caption_encoding"]) == 2
    Workshop(root).undo()
    assert contents(root) == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that are no text")
def test_a_name_that_is_no_text_becomes_one(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "caf") + b"\xe9.png"))
    save(tmp_path / "a.png", 1).rename(odd)
    (tmp_path / "a.txt").rename(odd.with_suffix(".txt"))
    repair(tmp_path, "odd_name")
    assert checked(tmp_path).num_used == 1
    assert not checked(tmp_path).findings
    Workshop(tmp_path).undo()
    assert odd.exists()


def test_a_crash_in_the_middle_of_a_repair_can_be_undone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(root)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(repair_steps, "write_caption", die)
    with pytest.raises(KeyboardInterrupt):
        repair(root, "caption_encoding")
    with (root / ORIGINALS / repairs.LOG_NAME).open("ab") as log:
        log.write(b'{"repair": "torn')
    assert contents(root) != before
    repair(root, "duplicate")
    Workshop(root).undo()
    Workshop(root).undo()
    assert contents(root) == before


def test_many_files_are_repaired_in_one_go(tmp_path: Path) -> None:
    """Once, the whole log was written anew for each file: a thousand took minutes."""
    for index in range(400):
        (tmp_path / f"{index}.txt").write_text("of nothing", encoding="utf-8")
    findings = [FileFinding(what="unpaired", name=f"{index}.txt") for index in range(400)]
    started_s = time.process_time()
    Workshop(tmp_path).repair("set_aside", findings, action="Set aside")
    assert time.process_time() - started_s < 2
    assert len(list((tmp_path / ORIGINALS).glob("*.txt"))) == 400
    Workshop(tmp_path).undo()
    assert len(list(tmp_path.glob("*.txt"))) == 400
