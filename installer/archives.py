"""Zips that are the same for the same files, and the list of hashes that goes with a release."""

import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

from installer.inputs import sha256_of


def write_zip(folder: Path, *, target: Path, top: str, date_s: int, level: int = 9) -> Path:
    """Pack a folder.

    Args:
        folder: What to pack.
        target: The zip to write.
        top: The one folder that everything is in when it is unpacked.
        date_s: Date of every file, in seconds since 1970.
        level: 1 is quick, 9 is small.
    """
    # Zip dates have no zone and a step of two seconds.
    date = time.gmtime(date_s)[:6]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{top}/{path.relative_to(folder).as_posix()}", date_time=date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 0
            entry.external_attr = 0
            archive.writestr(entry, path.read_bytes(), compresslevel=level)
    return target


def write_sums(files: Iterable[Path], *, target: Path) -> Path:
    """Write the SHA-256 of files in the form that `sha256sum --check` reads."""
    lines = (f"{sha256_of(path)}  {path.name}\n" for path in sorted(files, key=lambda path: path.name))
    target.write_text("".join(lines), encoding="utf-8")
    return target
