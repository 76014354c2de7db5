"""The life of the set-up program under Wine: `python3 installer/wine_check.py`. Ends with 0 when every step went well.

Build first: `python3 installer/build.py`. Pictures and the report come to `dist/wine-check`.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Look for what is needed, then hand over to `wine/life.py` under the build's own Python."""
    sys.path.insert(0, str(ROOT))
    from installer import toolbox  # noqa: PLC0415 - the folder above is on the path only now.
    from installer.problems import BuildError  # noqa: PLC0415
    from installer.wine.prefix import PROGRAMS  # noqa: PLC0415

    try:
        toolbox.check_programs({**toolbox.PROGRAMS, **PROGRAMS})
        python = toolbox.python()
    except BuildError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.call([python, "-P", "-m", "installer.wine.life", *sys.argv[1:]], env=environment)


if __name__ == "__main__":
    sys.exit(main())
