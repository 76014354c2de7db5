"""The snapshot of the engine that a maintainer may ship along: every file of the manifest, and nothing else."""

import hashlib
import re
import shutil
import zipfile
from pathlib import Path

from installer.archives import write_zip
from installer.problems import BuildError

MANIFEST = Path("vendor", "musubi-tuner", "MANIFEST.txt")
LANDMARK = "src/musubi_tuner/__init__.py"
_LINE = re.compile(r"([0-9a-f]{64}) \d+ (\S.*)")


def pack(given: Path, *, manifest: Path, scratch: Path, target: Path, date_s: int) -> Path:
    """Write a zip of the files that the manifest names, the same for whatever zip of the engine they come from.

    Args:
        given: A zip with the engine at its top or in a folder of it, as `git archive` makes it.
        manifest: The list of its files with their SHA-256.
        scratch: A folder for what is in between, which is emptied.
        target: The zip to write.
        date_s: Date of every file, in seconds since 1970.

    Raises:
        BuildError: A file is missing, or is another than that of the pinned commit.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with zipfile.ZipFile(given) as archive:
            top = next((name for name in archive.namelist() if name.endswith(LANDMARK)), LANDMARK)
            for digest, name in pinned(manifest):
                content = archive.read(top.removesuffix(LANDMARK) + name)
                if hashlib.sha256(content).hexdigest() != digest:
                    raise BuildError(f"{name} in {given} is not that of the pinned commit.")
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                (scratch / name).write_bytes(content)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise BuildError(f"{given} is not a zip of the pinned engine: {error}") from error
    return write_zip(scratch, target=target, top="musubi-tuner", date_s=date_s)


def pinned(manifest: Path) -> list[tuple[str, str]]:
    """Return the files of a manifest: SHA-256 and path inside the engine's folder."""
    lines = (_LINE.fullmatch(line) for line in manifest.read_text(encoding="utf-8").splitlines())
    return [(line[1], line[2]) for line in lines if line is not None]
