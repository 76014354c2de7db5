"""A folder with one of everything that goes wrong with datasets."""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import imageio.v3 as iio
import numpy as np
from PIL import ExifTags, Image, ImageDraw

TRIGGER = "gouachestyle"


def scene(seed: int, size: tuple[int, int] = (320, 240)) -> Image.Image:
    """Draw a picture that looks like no other: a sky, hills, a sun."""
    random = np.random.default_rng(seed)
    width, height = size
    top, bottom = random.integers(60, 250, 3), random.integers(30, 220, 3)
    shares = np.linspace(0, 1, height)[:, None, None]
    sky = np.broadcast_to(top * (1 - shares) + bottom * shares, (height, width, 3))
    picture = Image.fromarray(sky.astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    x, y, r = random.uniform(0.1, 0.9) * width, random.uniform(0.1, 0.4) * height, random.uniform(0.06, 0.16) * height
    draw.ellipse((x - r, y - r, x + r, y + r), fill=tuple(int(c) for c in random.integers(180, 256, 3)))
    for layer in range(3):
        points = [(i * width / 8, height * (0.45 + 0.15 * layer + random.uniform(-0.12, 0.12))) for i in range(9)]
        colour = tuple(int(c) for c in random.integers(10, 120, 3) + 30 * (2 - layer))
        draw.polygon([(0, height), *points, (width, height)], fill=colour)
    return picture


def save(path: Path, seed: int, *, caption: str | bytes | None = "", size: tuple[int, int] = (320, 240)) -> Path:
    """Save a picture with a caption; an empty one becomes a usual one, None leaves it out."""
    scene(seed, size).save(path)
    if caption == "":
        caption = f"{TRIGGER}, hills under a sun, number {seed}"
    if isinstance(caption, str):
        path.with_suffix(".txt").write_text(caption, encoding="utf-8")
    elif caption is not None:
        path.with_suffix(".txt").write_bytes(caption)
    return path


def make(root: Path) -> Path:
    """Make the folder. Each name says what is wrong with the file."""
    root.mkdir(parents=True, exist_ok=True)
    for seed in range(6):
        save(root / f"good_{seed}.png", seed)
    _cut(save(root / "cut.jpg", 20), 0.6)
    _cut(save(root / "cut_hard.jpg", 21), 0.05)
    _cut(save(root / "cut.webp", 22), 0.5)
    _cut(save(root / "cut_png.png", 23), 0.5)
    damaged = save(root / "damaged.png", 24)
    damaged.write_bytes(_with_bad_checksum(damaged.read_bytes()))
    save(root / "empty.png", 25).write_bytes(b"")
    save(root / "text.png", 26).write_text("not a picture", encoding="utf-8")
    save(root / "bomb.png", 27).write_bytes(_bomb())
    scene(28).save(root / "notes.gif")
    (root / "plan.psd").write_bytes(b"8BPS")
    _jpeg_named_png(save(root / "jpeg_inside.png", 29))
    save(root / "no_caption.png", 30, caption=None)
    save(root / "blank_caption.png", 31, caption=" \n")
    save(root / "binary_caption.png", 32, caption=b"\x81\x8d\x8f\x90\x9d")
    save(root / "Capital.png", 33, caption=None)
    (root / "capital.txt").write_text(f"{TRIGGER}, a cape", encoding="utf-8")
    save(root / "twin_a.png", 34)
    (root / "twin_b.png").write_bytes((root / "twin_a.png").read_bytes())
    (root / "twin_b.txt").write_text(f"{TRIGGER}, the same", encoding="utf-8")
    save(root / "alike_a.png", 35, size=(640, 480))
    scene(35, (640, 480)).resize((400, 300)).save(root / "alike_b.jpg", quality=70)
    (root / "alike_b.txt").write_text(f"{TRIGGER}, nearly the same", encoding="utf-8")
    save(root / "shared.png", 36)
    scene(37).save(root / "shared.jpg")
    save(root / "small.png", 38, size=(40, 40))
    save(root / "long.png", 39, size=(900, 80))
    save(root / "latin.png", 40, caption=f"{TRIGGER}, café".encode("cp1252"))
    save(root / "utf16.png", 41, caption=f"{TRIGGER}, naïve".encode("utf-16"))
    save(root / "japanese.png", 42, caption=f"{TRIGGER}、夕焼けの港".encode("cp932"))
    save(root / "mark.png", 43, caption=f"{TRIGGER}, a mark".encode("utf-8-sig"))
    save(root / "unseen.png", 44, caption=f"{TRIGGER}, a \u202ehidden\u202c turn")
    (root / "orphan.txt").write_text("of nothing", encoding="utf-8")
    turned(save(root / "turned.jpg", 45))
    Image.fromarray((np.linspace(0, 65535, 200 * 160).reshape(160, 200)).astype(np.uint16)).save(root / "deep.png")
    (root / "deep.txt").write_text(f"{TRIGGER}, a ramp", encoding="utf-8")
    clear(save(root / "clear.png", 46))
    frames = [scene(seed, (160, 120)) for seed in (47, 48)]
    frames[0].save(root / "moving.webp", save_all=True, append_images=frames[1:], duration=100)
    (root / "moving.txt").write_text(f"{TRIGGER}, moving", encoding="utf-8")
    (root / "._good_0.png").write_bytes(b"Mac OS X")
    return root


def _cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def _with_bad_checksum(data: bytes) -> bytes:
    at = data.index(b"IDAT") + 200
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def _bomb() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def _jpeg_named_png(path: Path) -> None:
    buffer = BytesIO()
    with Image.open(path) as picture:
        picture.save(buffer, "JPEG")
    path.write_bytes(buffer.getvalue())


def turned(path: Path) -> None:
    """Have a photo say that it is to be turned by 90 degrees."""
    with Image.open(path) as picture:
        exif = picture.getexif()
        exif[ExifTags.Base.Orientation] = 6
        picture.copy().save(path, exif=exif)


def clear(path: Path) -> None:
    """Make a corner of a picture clear."""
    with Image.open(path) as picture:
        whole = picture.convert("RGBA")
    whole.paste((255, 0, 0, 0), (0, 0, 80, 80))
    whole.save(path)


def clip(path: Path, *, num_frames: int = 8, size: tuple[int, int] = (64, 48), fps: int = 4) -> Path:
    """Save a clip; needs PyAV."""
    frames = np.stack([np.asarray(scene(seed, size)) for seed in range(num_frames)])
    iio.imwrite(path, frames, plugin="pyav", codec="mpeg4", fps=fps)
    return path
