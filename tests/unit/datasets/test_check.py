"""The pre-flight on a folder with one of everything that goes wrong."""

from collections import defaultdict
from pathlib import Path

import pytest
from PIL import Image
from tests.support import broken_dataset
from tests.support.broken_dataset import save

from diffusionforce.datasets import looking, media_looks, read_folder
from diffusionforce.datasets.captions import without_odd_characters
from diffusionforce.datasets.check import Report, check_folder
from diffusionforce.datasets.findings import GROUPS, KINDS
from diffusionforce.datasets.records import Checking, FileFinding, read_record
from diffusionforce.datasets.repairs import REPAIRS
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.errors import DatasetError
from diffusionforce.wire import to_json


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return broken_dataset.make(tmp_path_factory.mktemp("sets") / "broken")


@pytest.fixture(scope="module")
def report(root: Path) -> Report:
    return checked(root)


def checked(root: Path) -> Report:
    report = check_folder(root)
    assert report is not None
    return report


def names_by_kind(report: Report) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for finding in report.findings:
        found[finding.what].append(finding.name)
    return dict(found)


EXPECTED = {
    "truncated": ["cut.jpg", "cut_hard.jpg", "cut_png.png"],
    "broken": ["cut.webp", "damaged.png"],
    "empty_file": ["empty.png"],
    "not_a_picture": ["text.png"],
    "too_large": ["bomb.png"],
    "convertible": ["notes.gif"],
    "unsupported": ["plan.psd"],
    "caption_name": ["Capital.png"],
    "no_caption": ["no_caption.png"],
    "empty_caption": ["blank_caption.png"],
    "unreadable_caption": ["binary_caption.png"],
    "duplicate": ["twin_b.png"],
    "near_duplicate": ["alike_b.jpg"],
    "same_stem": ["shared.png"],
    "wrong_extension": ["jpeg_inside.png"],
    "tiny": ["small.png"],
    "elongated": ["long.png"],
    "caption_encoding": ["japanese.png", "latin.png", "mark.png", "utf16.png"],
    "caption_characters": ["unseen.png"],
    "unpaired": ["orphan.txt"],
    "rotated": ["turned.jpg"],
    "deep": ["deep.png"],
    "alpha": ["clear.png"],
    "animated": ["moving.webp"],
}


@pytest.mark.parametrize("what", EXPECTED)
def test_each_problem_is_found_in_its_files_and_in_no_others(report: Report, what: str) -> None:
    assert names_by_kind(report)[what] == EXPECTED[what]


def test_nothing_else_is_found(report: Report) -> None:
    assert set(names_by_kind(report)) == set(EXPECTED)


def test_what_is_trained_on_is_what_the_trainer_reads(root: Path, report: Report) -> None:
    used = {file.name for file in report.files if file.is_used}
    assert used == {item.picture.name for item in read_folder(root).items}
    assert report.num_used == len(used)


def test_captions_and_sizes_are_those_of_the_trainer(root: Path, report: Report) -> None:
    facts = {file.name: file for file in report.files}
    for item in read_folder(root).items:
        seen = facts[item.picture.name]
        # What nobody sees is shown as a finding, and does not reach the training.
        assert (without_odd_characters(seen.caption), seen.width, seen.height) == (
            item.caption,
            item.width,
            item.height,
        )


def test_every_file_that_is_left_out_says_why(report: Report) -> None:
    reasons = {finding.name for finding in report.findings if KINDS[finding.what].group == "left_out"}
    left_out = {file.name for file in report.files if not file.is_used and file.media != "caption"}
    assert left_out == reasons


def test_findings_come_with_the_worst_first(report: Report) -> None:
    groups = [GROUPS.index(KINDS[finding.what].group) for finding in report.findings]
    assert groups == sorted(groups)


def test_japanese_captions_are_read(report: Report) -> None:
    caption = next(file.caption for file in report.files if file.name == "japanese.png")
    assert caption == "gouachestyle、夕焼けの港"


def test_nothing_is_written(root: Path, report: Report) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in root.iterdir()}
    checked(root)
    assert {path.name: path.stat().st_mtime_ns for path in root.iterdir()} == before


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    for seed in range(3):
        save(tmp_path / f"{seed}.png", seed)
    told: list[Checking] = []
    check_folder(tmp_path, progress=told.append)
    assert told[-1] == Checking(done=3, total=3)


def test_a_check_can_be_ended(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    assert check_folder(tmp_path, should_stop=lambda: True) is None


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is not there"):
        check_folder(tmp_path / "nowhere")


def test_what_is_too_small_or_too_long_for_the_training_size_is_found(tmp_path: Path) -> None:
    for seed, (name, size) in enumerate((("small", (96, 96)), ("long", (1200, 300)), ("good", (300, 260)))):
        broken_dataset.scene(seed, size).save(tmp_path / f"{name}.png")
        (tmp_path / f"{name}.txt").write_text("hills", encoding="utf-8")
    assert names_by_kind(checked(tmp_path)) == {}, "nobody knows the size"
    report = check_folder(tmp_path, size=(256, 256))
    assert report is not None
    assert names_by_kind(report) == {"tiny": ["small.png"], "elongated": ["long.png"]}
    own = check_folder(tmp_path, size=(256, 256), folder=SetFolder(path=str(tmp_path), width=96, height=96))
    assert own is not None
    assert names_by_kind(own) == {"elongated": ["long.png"]}, "the folder has a size of its own"


def test_huge_pictures_and_long_names_are_noted(tmp_path: Path) -> None:
    Image.new("L", (10_000, 5_001)).save(tmp_path / "huge.png")
    (tmp_path / "huge.txt").write_text("a wall", encoding="utf-8")
    save(tmp_path / f"{'n' * 230}.png", 1)
    assert names_by_kind(checked(tmp_path)) == {"huge": ["huge.png"], "long_name": [f"{'n' * 230}.png"]}


def test_the_larger_of_two_that_look_alike_is_kept(tmp_path: Path) -> None:
    picture = broken_dataset.scene(1, (640, 480))
    picture.resize((320, 240)).save(tmp_path / "a_small.png")
    picture.save(tmp_path / "b_large.png")
    for name in ("a_small", "b_large"):
        (tmp_path / f"{name}.txt").write_text("hills", encoding="utf-8")
    (found,) = checked(tmp_path).findings
    assert (found.what, found.name, found.related) == ("near_duplicate", "a_small.png", ("b_large.png",))


def test_plain_pictures_of_other_colours_do_not_look_alike(tmp_path: Path) -> None:
    for name, colour in (("red", (200, 30, 30)), ("green", (30, 200, 30)), ("blue", (30, 30, 200))):
        Image.new("RGB", (128, 128), colour).save(tmp_path / f"{name}.png")
        (tmp_path / f"{name}.txt").write_text(name, encoding="utf-8")
    assert not checked(tmp_path).findings


def test_clips_are_named_and_measured(tmp_path: Path) -> None:
    pytest.importorskip("av")
    broken_dataset.clip(tmp_path / "dance.mp4")
    (tmp_path / "cut.mp4").write_bytes((tmp_path / "dance.mp4").read_bytes()[:100])
    report = checked(tmp_path)
    assert names_by_kind(report) == {"clip": ["dance.mp4"], "broken": ["cut.mp4"]}
    clip = next(file for file in report.files if file.name == "dance.mp4")
    assert (clip.media, clip.width, clip.height, clip.duration_s) == ("clip", 64, 48, 2.0)


def test_every_kind_has_words_and_a_repair_that_exists() -> None:
    for kind in KINDS.values():
        assert kind.heading(1)[0].isdigit()
        assert kind.heading(1234).startswith("1,234 ")
        assert kind.meaning.endswith(".")
        assert bool(kind.repair) == bool(kind.action)
        assert not kind.repair or kind.repair in REPAIRS


def test_a_finding_survives_the_wire() -> None:
    finding = FileFinding(what="tiny", name="käse.png", related=("b.png",), note="Only 40 × 40")
    assert read_record(to_json(finding)) == finding


def test_only_what_has_changed_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, kept = broken_dataset.make(tmp_path / "broken"), tmp_path / "kept"
    first = check_folder(root, kept=kept)
    looked: list[str] = []

    def look(path: Path) -> looking.Look:
        looked.append(path.name)
        return looking.look_at_picture(path)

    monkeypatch.setattr(media_looks, "look_at_picture", look)
    save(root / "good_1.png", 77)
    (root / "good_2.png").unlink()
    again = check_folder(root, kept=kept)
    assert first is not None
    assert again is not None
    assert looked == ["good_1.png"]
    assert [f for f in again.findings if f.what != "unpaired"] == [f for f in first.findings if f.what != "unpaired"]
    assert {file.name: file.width for file in again.files if file.name == "good_0.png"} == {"good_0.png": 320}
