"""What is installed from: the offline zip, unpacked, and set-up programs that a release does not have."""

import shutil
from pathlib import Path

from installer import nsis, offline
from installer.places import WORK, version
from installer.unpacking import unpack_zip

NEXT_VERSION = "99.0.0"


def further_setups(payload: Path, *, folder: Path) -> tuple[Path, Path]:
    """Make set-up programs that a release does not have: a later version, and one that wants more than a disk has.

    Args:
        payload: Of the build that is checked.
        folder: Where they come to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    small = folder / "small"
    shutil.rmtree(small, ignore_errors=True)
    small.mkdir()
    shutil.copy(payload / "DiffusionForce.exe", small)
    made: list[Path] = []
    for name, version_given, what, size_kb in (
        ("later", NEXT_VERSION, payload, None),
        ("huge", version(), small, 2_000_000_000),
    ):
        given = nsis.Setup(
            payload=what,
            art=payload.parent / "art",
            version=version_given,
            date_s=0,
            compression="zlib",
            scratch=folder / name,
            size_kb=size_kb,
        )
        made.append(nsis.build(given, target=folder / f"{name}-setup.exe"))
    return made[0], made[1]


def place_medium(setup: Path, *, folder: Path) -> list[Path]:
    """Pack everything for a computer without a network, unpack it as its user would, and return the zips.

    Args:
        setup: The set-up program.
        folder: Where it is unpacked to.
    """
    packed = WORK / "offline"
    for place in (packed, folder):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    parts = offline.pack(offline.fetch(WORK / "wheels" / "cpu", torch_index=""), setup=setup, out=packed)
    for part in parts:
        unpack_zip(part, target=folder)
    return parts
