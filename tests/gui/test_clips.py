"""Clips are decoded on a thread, into pictures of bounded size, and played in step."""

from pathlib import Path

import pytest
from PIL import Image
from pytestqt.qtbot import QtBot
from tests.support.clips import video

from diffusionforce.errors import UserError
from diffusionforce.gui import clips
from diffusionforce.gui.clips import Clip, ClipStore, Transport
from diffusionforce.gui.pictures import read_image


def animation(path: Path) -> Path:
    frames = [Image.new("RGB", (40, 30), (60 * index, 0, 0)) for index in range(4)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=100, loop=0)
    return path


def test_a_video_is_read_in_order_and_small(tmp_path: Path):
    clip = clips.read_clip(video(tmp_path / "a.mp4"), edge_px=48)
    assert (len(clip.frames), clip.fps, clip.seconds) == (12, 8.0, 1.5)
    assert (clip.frames[0].width(), clip.frames[0].height()) == (48, 32)
    shades = [frame.pixelColor(10, 10).red() for frame in clip.frames]
    assert shades == sorted(shades) and shades[-1] > shades[0] + 100


def test_an_animated_picture_is_a_clip(tmp_path: Path):
    clip = clips.read_clip(animation(tmp_path / "a.gif"), edge_px=200)
    assert (len(clip.frames), clip.fps) == (4, 10.0)


def test_a_long_clip_keeps_to_the_memory_that_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clips, "MAX_FRAMES", 5)
    monkeypatch.setattr(clips, "MAX_BYTES", 4 * 20 * 20 * 4)
    clip = clips.read_clip(video(tmp_path / "a.mp4"), edge_px=96)
    assert len(clip.frames) <= 5 and clip.seconds == pytest.approx(1.5, abs=0.4)
    assert sum(frame.sizeInBytes() for frame in clip.frames) <= 4 * 20 * 20 * 5


@pytest.mark.parametrize("name", ["a.mp4", "a.gif", "a.webm"])
def test_a_damaged_clip_is_a_sentence(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b"no clip at all" * 50)
    with pytest.raises(UserError, match=r"a\.\w+ cannot be played"):
        clips.read_clip(tmp_path / name, edge_px=64)
    assert read_image(tmp_path / name, edge_px=64).isNull()


def test_the_first_frame_of_a_video_is_its_picture(tmp_path: Path):
    assert read_image(video(tmp_path / "a.mp4"), edge_px=48).width() == 48


def test_the_store_decodes_off_the_windows_thread(qtbot: QtBot, tmp_path: Path):
    store, path = ClipStore(), video(tmp_path / "a.mp4")
    with qtbot.waitSignal(store.arrived, timeout=20_000):
        assert store.get(path, edge_px=48) is None
    clip = store.get(path, edge_px=48)
    assert clip is not None and len(clip.frames) == 12
    gone = tmp_path / "gone.mp4"
    with qtbot.waitSignal(store.arrived, timeout=20_000):
        store.get(gone, edge_px=48)
    assert store.get(gone, edge_px=48) is None and store.is_broken(gone, edge_px=48)


def test_two_clips_play_in_step_over_and_over(qtbot: QtBot, tmp_path: Path):
    frame = read_image(animation(tmp_path / "a.gif"), edge_px=40)
    transport = Transport()
    transport.take(Clip(frames=(frame,) * 6, fps=50), Clip(frames=(frame,) * 4, fps=50))
    assert transport.num_frames == 4
    transport.seek(0.99)
    assert transport.index == 3
    transport.step(1)
    assert transport.index == 0
    transport.play()
    qtbot.waitUntil(lambda: transport.index == 3, timeout=5000)
    transport.pause()
    assert not transport.is_playing


def test_a_single_frame_does_not_play(tmp_path: Path):
    transport = Transport()
    transport.take(None)
    transport.play()
    assert not transport.is_playing
