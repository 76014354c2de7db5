"""A dataset laid out for the engine: what goes into which of its datasets, and at which size."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from PIL import Image
from tests.support.broken_dataset import clear, clip, save, turned
from tests.support.jobs import picture_folder

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.intake import Intake
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.datasets.sets import DatasetSet, SetFolder, write_set
from diffusionforce.engines.musubi.controls import needs_controls
from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.staging import Source, cropped, largest, sources_of
from diffusionforce.job import builtin_profiles, read_profile

USUAL = (64, 64)
VIDEO = Intake(frames_per_second=16.0, num_frames=9, controls="ignored")


def staged(root: Path, intake: Intake) -> list[Source]:
    return sources_of(read_folder(root, intake=intake), usual_size=USUAL, intake=intake)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Two folders as a set: one at the usual size, one that counts three times and is trained larger."""
    first, second = picture_folder(tmp_path / "first"), picture_folder(tmp_path / "[sks] girl", num_pictures=2)
    folders = (SetFolder(path=str(first)), SetFolder(path=str(second), repeats=3, width=96, height=128, frames=5))
    write_set(tmp_path / "set", DatasetSet(title="Both", folders=folders))
    return tmp_path / "set"


def test_every_folder_is_a_dataset_of_its_own_size_and_weight(both: Path, tmp_path: Path) -> None:
    one, other = staged(both, Intake())
    assert one.table(tmp_path / "0") == {
        "image_directory": str(tmp_path / "0"),
        "cache_directory": str(tmp_path / "0" / "cache"),
        "num_repeats": 1,
        "resolution": [64, 64],
    }
    assert (len(other.items), other.table(tmp_path)["num_repeats"], other.table(tmp_path)["resolution"]) == (
        2,
        3,
        [96, 128],
    )
    assert largest([one, other], usual_size=USUAL) == (96, 128, 1)


def test_how_often_a_folder_counts_prepares_nothing_anew(both: Path) -> None:
    before = [list(source.key_parts()) for source in staged(both, Intake())]
    folders = [folder.model_copy(update={"repeats": 7}) for folder in read_folders(both)]
    write_set(both, DatasetSet(title="Both", folders=tuple(folders)))
    assert [list(source.key_parts()) for source in staged(both, Intake())] == before
    write_set(both, DatasetSet(title="Both", folders=(folders[0], folders[1].model_copy(update={"width": 128}))))
    assert [list(source.key_parts()) for source in staged(both, Intake())] != before


def test_a_picture_that_was_changed_in_place_is_prepared_anew(tmp_path: Path) -> None:
    # Symptom: engines name what they prepare by the file's name and size, and train on the picture of before.
    root = picture_folder(tmp_path / "pictures")
    before = [list(source.key_parts()) for source in staged(root, Intake())]
    Image.new("RGB", (64, 64), (255, 255, 255)).save(root / "0.png")
    assert [list(source.key_parts()) for source in staged(root, Intake())] != before


def test_pictures_that_engines_take_the_wrong_way_are_handed_over_right(tmp_path: Path) -> None:
    root = tmp_path / "pictures"
    root.mkdir()
    turned(save(root / "a.jpg", 1, size=(300, 200)))
    clear(save(root / "b.png", 2))
    Image.fromarray(np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16)).save(root / "c.png")
    (root / "c.txt").write_bytes("a mark".encode("utf-8-sig"))
    (source,) = staged(root, Intake())
    source.lay_out(tmp_path / "0")
    pictures = [Image.open(tmp_path / "0" / f"0000{number}.png") for number in range(3)]
    assert [picture.mode for picture in pictures] == ["RGB"] * 3
    assert pictures[0].size == (200, 300)
    assert pictures[1].getpixel((0, 0)) == (255, 255, 255)
    low, high = pictures[2].convert("L").getextrema()
    assert (low, high) == (0, 255)
    assert (tmp_path / "0" / "00002.txt").read_bytes() == b"a mark"


@pytest.mark.parametrize("name", ["[sks] girl", "it's 100%", 'tr"ain', r"C:\train\new", "日本 🦊"])
def test_odd_folders_reach_the_engine_as_they_are_called(tmp_path: Path, name: str) -> None:
    (source,) = staged(picture_folder(tmp_path / "pictures"), Intake())
    table = source.table(tmp_path / name)
    read = tomllib.loads(tomli_w.dumps({"datasets": [table]}))["datasets"][0]
    assert read["image_directory"] == str(tmp_path / name)


def read_folders(root: Path) -> tuple[SetFolder, ...]:
    return tuple(part.folder for part in read_folder(root).parts)


def test_pictures_with_and_without_control_pictures_are_apart(tmp_path: Path) -> None:
    root = picture_folder(tmp_path / "pictures")
    (root / "control").mkdir()
    for name in ("1.png", "1_2.png"):
        Image.new("RGB", (32, 32)).save(root / "control" / name)
    plain, changed = staged(root, Intake(controls="used"))
    assert [source.kind for source in (plain, changed)] == ["pictures", "pictures with control pictures"]
    changed.lay_out(tmp_path / "1")
    assert sorted(path.name for path in (tmp_path / "1" / "control").iterdir()) == ["00000_0.png", "00000_1.png"]
    assert changed.table(tmp_path / "1")["control_directory"] == str(tmp_path / "1" / "control")
    assert "control_directory" not in plain.table(tmp_path)
    (only,) = staged(root, Intake(controls="ignored"))
    assert only.kind == "pictures"


def test_clips_are_frames_at_the_speed_and_size_that_are_trained_on(tmp_path: Path) -> None:
    root = tmp_path / "clips"
    root.mkdir()
    clip(root / "dance.mp4", num_frames=20, size=(80, 64), fps=32)
    (root / "dance.txt").write_text('a "dance"', encoding="utf-8")
    (source,) = staged(root, VIDEO)
    source.lay_out(tmp_path / "0")
    frames = sorted((tmp_path / "0" / "00000").iterdir())
    assert len(frames) == source.frames == 9
    with Image.open(frames[0]) as first:
        assert first.size == USUAL
    (line,) = (tmp_path / "0" / "clips.jsonl").read_text(encoding="utf-8").splitlines()
    told: dict[str, Any] = json.loads(line)
    assert told == {"video_path": str(tmp_path / "0" / "00000"), "caption": 'a "dance"'}
    table = source.table(tmp_path / "0")
    assert (table["target_frames"], table["frame_extraction"]) == ([9], "head")
    assert largest([source], usual_size=USUAL) == (64, 64, 9)


def test_what_is_cropped_away_lies_evenly_at_both_ends() -> None:
    frame = Image.new("RGB", (300, 100), (255, 0, 0))
    frame.paste((0, 0, 255), (100, 0, 200, 100))
    middle = cropped(frame, (64, 64))
    assert middle.getpixel((3, 32)) == middle.getpixel((60, 32)) == (0, 0, 255)


@pytest.mark.parametrize(
    ("name", "fps", "controls", "most"),
    [
        ("pocket-demo", 0, "ignored", 0),
        ("wan21-14b", 16, "ignored", 0),
        ("hunyuan-video", 24, "ignored", 0),
        ("kontext-1024", 0, "needed", 1),
        ("qwen-image-edit-2509", 0, "needed", 0),
        ("klein-9b-1024", 0, "used", 0),
        ("z-image-1024", 0, "ignored", 0),
    ],
)
def test_what_a_model_takes(name: str, fps: float, controls: str, most: int) -> None:
    intake = intake_of(read_profile(builtin_profiles()[name]))
    assert (intake.frames_per_second, intake.controls, intake.max_controls) == (fps, controls, most)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_what_a_model_takes_agrees_with_what_is_known_of_it(family: Family) -> None:
    profile = read_profile(builtin_profiles()["z-image-1024"])
    model = profile.model.model_copy(update={"family": family.name})
    intake = intake_of(profile.model_copy(update={"model": model}))
    # FramePack is trained on clips in a layout of its own, which is not prepared.
    assert intake.takes_clips == (family.makes == "videos" and family.trains_on == "pictures")
    assert (intake.controls == "needed") == needs_controls(family)
    assert (intake.controls == "used") == (family.trainer.architecture == "flux_2")
    assert bool(intake.max_controls) == (family.trainer.architecture == "flux_kontext")
