"""The life of the set-up program under Wine: `python3 installer/wine_check.py`. Ends with 0 when every step went well.

Build first: `python3 installer/build.py`. Pictures and the report come to `dist/wine-check`.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Look for what is needed, then hand over to `wine/life.py` under the build's own Python."""
    sys.path.insert(0, str(ROOT))
    from installer import toolbox  # noqa: PLC0415 - the folder above is on the path only now.
    from installer.wine.prefix import PROGRAMS  # noqa: PLC0415

    return toolbox.hand_over("installer.wine.life", sys.argv[1:], programs={**toolbox.PROGRAMS, **PROGRAMS})


if __name__ == "__main__":
    sys.exit(main())
