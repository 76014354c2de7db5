"""Clips: their frames as a video model sees them, and what is said of those that it cannot be trained on."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support import broken_dataset
from tests.support.broken_dataset import save

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.check import Report, check_folder
from diffusionforce.datasets.clips import look_at_clip, read_frames
from diffusionforce.datasets.findings import KINDS
from diffusionforce.datasets.intake import Intake, frames_at
from diffusionforce.datasets.repairs import Workshop
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.errors import DatasetError

av: Any = pytest.importorskip("av")
WAN = Intake(frames_per_second=16.0, num_frames=9, controls="ignored")


def grey_clip(path: Path, levels: Sequence[int], *, fps: int, size: tuple[int, int] = (96, 64)) -> Path:
    """Save a clip of plain frames, losslessly enough to tell them apart, with a caption."""
    width, height = size
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(fps))
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = width, height, "yuv420p", 4_000_000
        for level in levels:
            pixels: NDArray[np.uint8] = np.full((height, width, 3), level, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    path.with_suffix(".txt").write_text("a grey wall", encoding="utf-8")
    return path


def levels_of(path: Path, num_frames: int, target_fps: float) -> list[int]:
    frames = read_frames(path, num_frames=num_frames, target_fps=target_fps)
    return [round(float(np.asarray(frame).mean())) for frame in frames]


def checked(root: Path, intake: Intake, folder: SetFolder | None = None) -> Report:
    report = check_folder(root, intake=intake, folder=folder)
    assert report is not None
    return report


def kinds(report: Report) -> list[str]:
    return [finding.what for finding in report.findings]


def test_frames_of_a_faster_clip_are_left_out_evenly(tmp_path: Path) -> None:
    path = grey_clip(tmp_path / "a.mp4", [10 * index for index in range(24)], fps=32)
    assert levels_of(path, 9, 16.0) == pytest.approx([20 * index for index in range(9)], abs=4)


def test_a_slower_clip_keeps_every_frame(tmp_path: Path) -> None:
    path = grey_clip(tmp_path / "a.mp4", [10 * index for index in range(12)], fps=8)
    assert levels_of(path, 9, 16.0) == pytest.approx([10 * index for index in range(9)], abs=4)


@pytest.mark.parametrize(
    ("num_frames", "fps", "expected"), [(64, 32.0, 32), (33, 30.0, 18), (20, 16.0, 20), (20, 8.0, 20), (0, 30.0, 0)]
)
def test_as_many_frames_are_read_as_were_counted(num_frames: int, fps: float, expected: int) -> None:
    assert frames_at(num_frames, fps=fps, target_fps=16.0) == expected


def test_the_count_of_frames_is_what_can_be_read(tmp_path: Path) -> None:
    path = grey_clip(tmp_path / "a.mp4", range(33), fps=30)
    have = frames_at(look_at_clip(path).num_frames, fps=30, target_fps=16)
    assert len(list(read_frames(path, num_frames=have, target_fps=16))) == have
    with pytest.raises(DatasetError, match=f"has {have} frames, and {have + 1}"):
        list(read_frames(path, num_frames=have + 1, target_fps=16))


def test_frames_come_in_fours_and_one_more() -> None:
    assert [WAN.frames_of(frames) for frames in (0, 1, 5, 8, 9, 16, 17)] == [9, 5, 5, 5, 9, 13, 17]


def test_a_clip_is_trained_on_by_a_video_model_and_left_out_by_others(tmp_path: Path) -> None:
    grey_clip(tmp_path / "a.mp4", range(32), fps=16)
    save(tmp_path / "b.png", 1)
    report = checked(tmp_path, WAN)
    assert not report.findings
    assert report.num_used == report.num_media == 2
    clip = next(file for file in report.files if file.media == "clip")
    assert (clip.fps, clip.num_frames, clip.is_used) == (16.0, 32, True)
    dataset = read_folder(tmp_path, intake=WAN)
    assert [(item.picture.name, item.num_frames) for item in dataset.items] == [("a.mp4", 32), ("b.png", 0)]
    assert kinds(checked(tmp_path, Intake())) == ["clip"]
    assert [item.picture.name for item in read_folder(tmp_path).items] == ["b.png"]


def test_a_short_clip_is_left_out_until_fewer_frames_are_asked_for(tmp_path: Path) -> None:
    grey_clip(tmp_path / "a.mp4", range(12), fps=32)
    grey_clip(tmp_path / "b.mp4", range(40), fps=32)
    report = checked(tmp_path, WAN)
    (finding,) = report.findings
    assert (finding.what, finding.name, finding.note) == ("clip_short", "a.mp4", "6 of 9 frames")
    assert [item.picture.name for item in read_folder(tmp_path, intake=WAN).items] == ["b.mp4"]
    assert not checked(tmp_path, WAN, SetFolder(path=str(tmp_path), frames=5)).findings
    Workshop(tmp_path).repair(KINDS["clip_short"].repair, [finding], action="Save first frames")
    assert not checked(tmp_path, WAN).findings
    Workshop(tmp_path).undo()
    assert kinds(checked(tmp_path, WAN)) == ["clip_short"]


def test_a_clip_with_few_frames_a_second_is_worth_a_look(tmp_path: Path) -> None:
    grey_clip(tmp_path / "a.mp4", range(12), fps=8)
    report = checked(tmp_path, WAN)
    (finding,) = report.findings
    assert (finding.what, finding.note) == ("clip_slow", "8 frames a second")
    assert report.num_used == 1
    Workshop(tmp_path).repair(KINDS["clip_slow"].repair, [finding], action="Set aside")
    assert not list(tmp_path.glob("a.*"))
    Workshop(tmp_path).undo()
    assert kinds(checked(tmp_path, WAN)) == ["clip_slow"]


def test_a_clip_that_ends_early_is_found_within_what_is_trained_on(tmp_path: Path) -> None:
    path = broken_dataset.clip(tmp_path / "a.mkv", num_frames=48, size=(320, 240), fps=16)
    path.with_suffix(".txt").write_text("hills", encoding="utf-8")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 8])
    (finding,) = checked(tmp_path, WAN).findings
    assert (finding.what, finding.name) in {("truncated", "a.mkv"), ("clip_short", "a.mkv"), ("broken", "a.mkv")}


def test_a_clip_needs_a_caption_like_a_picture(tmp_path: Path) -> None:
    grey_clip(tmp_path / "a.mp4", range(12), fps=16).with_suffix(".txt").unlink()
    assert kinds(checked(tmp_path, WAN)) == ["no_caption"]


def test_a_clip_and_a_picture_of_one_name_share_a_caption(tmp_path: Path) -> None:
    grey_clip(tmp_path / "a.mp4", range(12), fps=16)
    save(tmp_path / "a.png", 1)
    (finding,) = checked(tmp_path, WAN).findings
    assert (finding.what, finding.name, finding.related) == ("same_stem", "a.png", ("a.mp4",))
