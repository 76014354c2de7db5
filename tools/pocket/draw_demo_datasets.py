"""Draw the demo datasets: the pictures and captions of LoRAnne and Rolwayne, for training and held out.

    python tools/pocket/draw_demo_datasets.py [--out demo_datasets] [--sheet sheet.png]

The same pictures come out at every run. An existing folder is completed and its pictures are replaced.
"""

import argparse
from pathlib import Path

from PIL import Image

from diffusionforce.engines.pocket.world import Page
from diffusionforce.engines.pocket.world.heroes import HEROES, Hero, draw_dataset

SIZE_PX = 512
COLOURS = 256
"""Colours kept in each file. The flat pictures need no more, and a PNG with a palette is half the size."""
THUMBNAIL_PX = 224
SHEET_COLUMNS = 6


def main() -> None:
    """Draw all four folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo_datasets"), help="where the folders go")
    parser.add_argument("--sheet", type=Path, help="also write all pictures as one PNG, to look at")
    arguments = parser.parse_args()
    pages: list[Page] = []
    for hero in HEROES:
        for held_out in (False, True):
            pages += write_dataset(arguments.out / folder_name(hero, held_out=held_out), hero, held_out=held_out)
    if arguments.sheet:
        contact_sheet(pages).save(arguments.sheet)


def folder_name(hero: Hero, *, held_out: bool) -> str:
    """The name of a dataset's folder."""
    return hero.name.lower() + ("-held-out" if held_out else "")


def write_dataset(folder: Path, hero: Hero, *, held_out: bool) -> list[Page]:
    """Draw one dataset into a folder and return its pages."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = list(draw_dataset(hero, held_out=held_out, size_px=SIZE_PX))
    for index, page in enumerate(pages, start=1):
        stem = f"{hero.name.lower()}_{index:02d}"
        small = page.picture.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        small.save(folder / f"{stem}.png", optimize=True)
        (folder / f"{stem}.txt").write_text(page.caption + "\n", encoding="utf-8")
    return pages


def contact_sheet(pages: list[Page]) -> Image.Image:
    """All pictures, small, in rows."""
    rows = -(-len(pages) // SHEET_COLUMNS)
    sheet = Image.new("RGB", (SHEET_COLUMNS * THUMBNAIL_PX, rows * THUMBNAIL_PX))
    for index, page in enumerate(pages):
        row, column = divmod(index, SHEET_COLUMNS)
        thumbnail = page.picture.resize((THUMBNAIL_PX, THUMBNAIL_PX), Image.Resampling.LANCZOS)
        sheet.paste(thumbnail, (column * THUMBNAIL_PX, row * THUMBNAIL_PX))
    return sheet


if __name__ == "__main__":
    main()
