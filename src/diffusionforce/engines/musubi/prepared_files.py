"""Files that the engine's programs have written of pictures and captions: which are whole, and whether all are there.

The programs pass over a file that exists, whatever is in it, and the trainer over a picture that has none. A process
that was ended while it wrote, or a file that was deleted, would train on garbage, on less, or end in a traceback.
"""

from collections.abc import Iterable
from pathlib import Path

from diffusionforce.engines.musubi.headers import read_header
from diffusionforce.errors import WeightsError

CACHE_DIR = "cache"
_TEXT_END = "_te.safetensors"


def drop_unfinished(places: Iterable[Path], *, was_interrupted: bool, with_captions: bool) -> None:
    """Delete what is not whole, so that it is made anew.

    Args:
        places: Where datasets are laid out.
        was_interrupted: Whether the programs did not come to their end: the file that they wrote last goes as well,
            which may have its size before its content.
        with_captions: Whether then no file of a caption can be trusted, because the program adds to them in turns.

    Raises:
        OSError: The disk refuses.
    """
    files = [file for place in places for file in (place / CACHE_DIR).glob("*.safetensors")]
    last = max(files, key=lambda file: file.stat().st_mtime_ns, default=None) if was_interrupted else None
    for file in files:
        is_doubtful = file == last or (was_interrupted and with_captions and file.name.endswith(_TEXT_END))
        if is_doubtful or not _is_whole(file):
            file.unlink()


def num_lacking(place: Path, names: Iterable[str]) -> int:
    """Return how many items lack a file of their picture or their caption.

    Args:
        place: Where they are laid out.
        names: What they are called there.
    """
    files = [file for file in (place / CACHE_DIR).glob("*.safetensors") if _is_whole(file)]
    texts = {_item_of(file) for file in files if file.name.endswith(_TEXT_END)}
    pictures = {_item_of(file) for file in files if not file.name.endswith(_TEXT_END)}
    return sum(name not in texts or name not in pictures for name in names)


def _item_of(file: Path) -> str:
    return file.name.partition("_")[0]


def _is_whole(file: Path) -> bool:
    try:
        read_header(file)
    except WeightsError:
        return False
    return True
