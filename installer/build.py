"""Build DiffusionForce for Windows, on Linux: `python installer/build.py`. `docs/release.md` says what comes of it.

Needs a few Debian packages, which it names when they are missing, and makes a Python environment of its own with the
tools that it needs; both are standard here, so that any Python from 3.11 on can begin.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Bring the tools, then hand over to `release.py` under them."""
    sys.path.insert(0, str(ROOT))
    from installer import toolbox  # noqa: PLC0415 - the folder above is on the path only now.

    return toolbox.hand_over("installer.release", sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
