"""Write the engine's manifest: `python tools/engine_manifest.py GITDIR` reads Musubi Tuner's git tree at the pin.

The manifest lists every file that is installed with its size and SHA-256, so that an installed engine can be checked
without git. What the engine does not need to run stays out: its own tests, pictures and editor settings. The tree's id
is compared with the pin first, and the bytes are those that git stores, untouched by any conversion of line endings.
"""

import argparse
import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

from diffusionforce.engines.musubi.sources import GitSource

VENDOR = Path(__file__).resolve().parents[1] / "vendor" / "musubi-tuner"
LEFT_OUT = (".", "images/", "tests/")


def main() -> int:
    """Write the manifest, or say why the git directory is not the engine's."""
    parser = argparse.ArgumentParser(description="Write the manifest of the pinned engine.")
    parser.add_argument("git_dir", type=Path, metavar="GITDIR", help="a git directory that holds the pinned commit")
    git_dir = parser.parse_args().git_dir
    pin = tomllib.loads((VENDOR / "PIN.toml").read_text(encoding="utf-8"))
    command = ["git", "-C", str(git_dir), "rev-parse", f"{pin['commit']}^{{tree}}"]
    tree = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if tree != pin["tree"]:
        sys.stderr.write(f"The commit's tree is {tree}; the pin says {pin['tree']}.\n")
        return 1
    source = GitSource(git_dir, commit=pin["commit"])
    names = sorted(name for name in source.names() if not name.startswith(LEFT_OUT))
    lines = [
        f"# {pin['upstream']} at commit {pin['commit']}: SHA-256, size in bytes and path of each file.",
        "# Made by tools/engine_manifest.py; do not edit.",
    ]
    for name in names:
        content = source.read(name)
        assert content is not None
        lines.append(f"{hashlib.sha256(content).hexdigest()} {len(content)} {name}")
    (VENDOR / "MANIFEST.txt").write_bytes("\n".join([*lines, ""]).encode())
    sys.stdout.write(f"{len(names)} files\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
