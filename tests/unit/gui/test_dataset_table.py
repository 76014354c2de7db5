"""What the page shows of a checked dataset."""

from pathlib import Path

from diffusionforce.datasets.records import FileFacts, FileFinding
from diffusionforce.gui.model.dataset_table import DatasetTable

ROOT = Path("/pictures")


def facts(name: str, *, caption: str = "a fox", used: bool = True, size: tuple[int, int] = (640, 480)) -> FileFacts:
    return FileFacts(
        name=name, media="picture", width=size[0], height=size[1], caption=caption, is_used=used, format="PNG"
    )


def table() -> DatasetTable:
    files = [
        facts("a.png", size=(800, 800)),
        facts("b.png", used=False, size=(0, 0)),
        facts("c.png", caption="", used=False),
        facts("d.png", caption="sks, a long caption of a fox", size=(100, 100)),
        facts("e.png", size=(1280, 720)),
    ]
    findings = [
        FileFinding(what="truncated", name="b.png", note="Broken: ends early"),
        FileFinding(what="no_caption", name="c.png", note="No caption"),
        FileFinding(what="tiny", name="d.png", note="Only 100 × 100"),
        FileFinding(what="alpha", name="d.png"),
        FileFinding(what="near_duplicate", name="e.png", note="Looks like a.png", related=("a.png",)),
    ]
    return DatasetTable.checked([(ROOT, files, findings)])


def names(rows) -> list[str]:
    return [row.path.name for row in rows]


def test_files_with_the_worst_findings_come_first():
    assert names(table().picked("all")) == ["b.png", "c.png", "d.png", "e.png", "a.png"]


def test_filters_let_through_what_they_say():
    assert names(table().picked("left_out")) == ["b.png", "c.png"]
    assert names(table().picked("fix")) == ["d.png", "e.png"]
    assert names(table().picked("all", what="alpha")) == ["d.png"]
    assert table().counts() == {"all": 5, "left_out": 2, "fix": 2, "note": 1}


def test_the_search_looks_into_names_and_captions():
    assert names(table().picked("all", search="SKS")) == ["d.png"]
    assert names(table().picked("all", search="e.png")) == ["e.png"]


def test_orders():
    assert names(table().picked("all", sort="size"))[:3] == ["b.png", "d.png", "c.png"]
    assert names(table().picked("all", sort="name")) == ["a.png", "b.png", "c.png", "d.png", "e.png"]
    assert names(table().picked("all", sort="caption"))[-1] == "d.png"


def test_a_row_shows_its_worst_finding():
    row = table().row_of(ROOT / "d.png")
    assert row is not None
    assert (row.tone, row.line) == ("warn", "Only 100 × 100")
    good = table().row_of(ROOT / "a.png")
    assert good is not None
    assert (good.tone, good.line) == ("", "800 × 800")


def test_findings_of_a_kind_are_one_line():
    lines = table().lines()
    assert [line.kind.key for line in lines] == ["truncated", "no_caption", "near_duplicate", "tiny", "alpha"]
    assert lines[2].text.startswith("e.png: looks like a.png. ")


def test_a_written_caption_lets_the_picture_in_again():
    edited = table().with_captions({ROOT / "c.png": "a cat"})
    row = edited.row_of(ROOT / "c.png")
    assert row is not None
    assert row.facts.is_used
    assert not row.findings
    assert len(edited.used) == len(table().used) + 1


def test_an_emptied_caption_leaves_the_picture_out():
    row = table().with_captions({ROOT / "a.png": ""}).row_of(ROOT / "a.png")
    assert row is not None
    assert not row.facts.is_used
    assert row.line == "Caption is empty"


def test_a_caption_does_not_cure_a_broken_picture():
    row = table().with_captions({ROOT / "b.png": "a cat"}).row_of(ROOT / "b.png")
    assert row is not None
    assert not row.facts.is_used


def test_files_are_shown_before_they_are_checked():
    listed = DatasetTable.listed([ROOT / "a.png", ROOT / "b.mp4"])
    assert not listed.is_checked
    assert [row.facts.media for row in listed.rows] == ["picture", "clip"]
    assert listed.summary() == "2 pictures and clips"


def test_pictures_of_one_shape_are_found():
    row = table().row_of(ROOT / "a.png")
    assert row is not None
    number, others = table().same_shape(row, most=5)
    assert (number, names(others)) == (1, ["d.png"])
    assert [(count.shape, count.num) for count in table().shapes(lambda _: (512, 512))] == [((1, 1), 2), ((16, 9), 1)]


def test_captions_of_nothing_and_control_pictures_are_not_counted():
    files = [
        facts("a.png"),
        facts("b.png", used=False),
        FileFacts(name="plan.psd", media="other"),
        FileFacts(name="orphan.txt", media="caption"),
        FileFacts(name="control/x.png", media="control"),
    ]
    findings = [
        FileFinding(what="no_caption", name="b.png"),
        FileFinding(what="unsupported", name="plan.psd"),
        FileFinding(what="unpaired", name="orphan.txt"),
        FileFinding(what="unpaired_control", name="control/x.png"),
    ]
    made = DatasetTable.checked([(ROOT, files, findings)])
    assert made.counts() == {"all": 3, "left_out": 2, "fix": 2, "note": 0}
    assert made.summary() == "1 of 3 pictures trained on"
    assert names(made.picked("all")) == ["b.png", "plan.psd", "a.png"]
    assert names(made.picked("fix")) == ["orphan.txt", "x.png"]
    assert made.picked("fix")[1].path == ROOT / "control" / "x.png"


def test_a_clip_is_captioned_where_it_is_trained_on():
    clip = FileFacts(name="a.mp4", media="clip", width=64, height=64, num_frames=20)
    left_out = FileFinding(what="clip", name="a.mp4")
    assert DatasetTable.checked([(ROOT, [clip], [])]).captioned == [ROOT / "a.mp4"]
    assert DatasetTable.checked([(ROOT, [clip], [left_out])]).captioned == []
