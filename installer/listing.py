"""The list that goes with a release: every file with its size, every binary with who signed it."""

from collections.abc import Mapping
from pathlib import Path

from installer.inputs import sha256_of
from installer.payload import SITE_PACKAGES
from installer.signatures import Signature


def contents(payload: Path, *, signatures: Mapping[str, Signature], version: str) -> str:
    """Return the listing of a payload.

    Args:
        payload: The folder.
        signatures: Of its binaries, by path inside it.
        version: The product's.
    """
    files = {path.relative_to(payload).as_posix(): path for path in payload.rglob("*") if path.is_file()}
    total_bytes = sum(path.stat().st_size for path in files.values())
    lines = [f"DiffusionForce {version} for Windows: {len(files)} files, {total_bytes / 1e6:.1f} MB", ""]
    lines += [f"{count:5d} binaries {words}" for words, count in signers(signatures).items()]
    lines += ["", "Size of the parts:"]
    lines += [f"{size / 1e6:9.1f} MB  {part}" for part, size in parts(payload).items()]
    lines += ["", "Bytes, SHA-256, file, signature of binaries:"]
    for name, path in sorted(files.items()):
        words = f"  [{signatures[name].words}]" if name in signatures else ""
        lines.append(f"{path.stat().st_size:10d}  {sha256_of(path)}  {name}{words}")
    return "\n".join(lines) + "\n"


def signers(signatures: Mapping[str, Signature]) -> dict[str, int]:
    """Return how many binaries each signer signed, the most first."""
    counts: dict[str, int] = {}
    for signature in signatures.values():
        counts[signature.words] = counts.get(signature.words, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def parts(payload: Path) -> dict[str, int]:
    """Return the size in bytes of the payload's parts, the largest first: packages, Python, and the rest."""
    sizes: dict[str, int] = {}
    for path in payload.rglob("*"):
        if path.is_file():
            names = path.relative_to(payload).parts
            part = names[len(SITE_PACKAGES.parts)] if path.is_relative_to(payload / SITE_PACKAGES) else names[0]
            sizes[part] = sizes.get(part, 0) + path.stat().st_size
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
