"""Write a clip and read it as the window does, and say with what: `python.exe -I -X utf8 open_clip.py FILE`."""

import sys
from pathlib import Path

import numpy as np

from diffusionforce.datasets.decoder import pyav
from diffusionforce.gui.clips import read_clip

WIDTH_PX, HEIGHT_PX, FRAMES = 64, 48, 8


def main() -> int:
    """Write and read."""
    path, av = Path(sys.argv[1]), pyav()
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=FRAMES)
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "yuv420p"
        for index in range(FRAMES):
            shade = np.full((HEIGHT_PX, WIDTH_PX, 3), 20 * index, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        container.mux(stream.encode(None))
    clip = read_clip(path, edge_px=WIDTH_PX)
    sys.stdout.write(f"{len(clip.frames)} frames, PyAV {av.__version__} of {av.__file__}\n")
    return 0 if len(clip.frames) == FRAMES else 1


if __name__ == "__main__":
    sys.exit(main())
