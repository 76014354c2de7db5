"""All pictures and clips of a folder looked at on several threads: decoders work outside the interpreter's lock.

A clip is decoded as far as it is trained on, so that one which ends early is found before the training.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.datasets.clips import look_at_clip, read_frames
from diffusionforce.datasets.intake import Intake, frames_at
from diffusionforce.datasets.looking import Look, look_at_picture
from diffusionforce.datasets.looks import Looks
from diffusionforce.datasets.media_types import CLIP_SUFFIXES
from diffusionforce.datasets.records import Checking
from diffusionforce.errors import DatasetError

MAX_THREADS = 16
_PROGRESS_S = 0.1


@dataclass(frozen=True, kw_only=True)
class ClipLook:
    """What was seen in a clip.

    Attributes:
        width: Width in pixels, upright; 0 if unknown.
        height: Height in pixels, upright; 0 if unknown.
        duration_s: Its length; 0 if unknown.
        fps: Frames in a second; 0 if unknown.
        num_frames: How many there are; 0 if unknown.
        problem: Key of the finding that leaves it out, empty for a good clip.
    """

    width: int = 0
    height: int = 0
    duration_s: float = 0.0
    fps: float = 0.0
    num_frames: int = 0
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Looker:
    """Looks at files.

    Attributes:
        intake: What the model takes.
        frames: Frames of a clip that are trained on.
        memory: Looks of the last check; None looks at everything.
    """

    intake: Intake
    frames: int
    memory: Looks | None

    def look_at_all(
        self, media: list[Path], *, progress: Callable[[Checking], None], should_stop: Callable[[], bool]
    ) -> "dict[Path, Look | ClipLook] | None":
        """Look at files, in order; None if it was ended."""
        looks: dict[Path, Look | ClipLook] = {}
        told_s = 0.0
        executor = ThreadPoolExecutor(max_workers=min(MAX_THREADS, os.cpu_count() or 1), thread_name_prefix="check")
        try:
            futures: list[Future[Look | ClipLook]] = [executor.submit(self._look, path) for path in media]
            for done, (path, future) in enumerate(zip(media, futures, strict=True), start=1):
                if should_stop():
                    return None
                looks[path] = future.result()
                if done == len(media) or time.monotonic() - told_s > _PROGRESS_S:
                    told_s = time.monotonic()
                    progress(Checking(done=done, total=len(media)))
        finally:
            executor.shutdown(cancel_futures=True)
        return looks

    def _look(self, path: Path) -> "Look | ClipLook":
        if path.suffix.lower() in CLIP_SUFFIXES:
            return self._look_at_clip(path)
        look = self.memory.get(path) if self.memory is not None else None
        if look is None:
            look = look_at_picture(path)
            if self.memory is not None:
                self.memory.put(path, look)
        return look

    def _look_at_clip(self, path: Path) -> ClipLook:
        try:
            clip = look_at_clip(path)
        except DatasetError as error:
            no_decoder = isinstance(error.__cause__, ImportError)
            return ClipLook(problem="no_decoder" if no_decoder else "broken" if path.stat().st_size else "empty_file")
        target = self.intake.frames_per_second
        problem = ""
        if self.intake.takes_clips and frames_at(clip.num_frames, fps=clip.fps, target_fps=target) >= self.frames:
            try:
                for _ in read_frames(path, num_frames=self.frames, target_fps=target):
                    pass
            except DatasetError:
                problem = "truncated"
        return ClipLook(
            width=clip.width,
            height=clip.height,
            duration_s=clip.duration_s,
            fps=clip.fps,
            num_frames=clip.num_frames,
            problem=problem,
        )
