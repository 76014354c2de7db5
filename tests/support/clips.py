"""Videos written for tests."""

from pathlib import Path

import av
import numpy as np


def video(path: Path, *, num_frames: int = 12, size: tuple[int, int] = (96, 64), fps: int = 8) -> Path:
    """Write a video whose frames get brighter."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=fps)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for index in range(num_frames):
            shade = np.full((size[1], size[0], 3), 20 + index * 200 // num_frames, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        container.mux(stream.encode(None))
    return path
