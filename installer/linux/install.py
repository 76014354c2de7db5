"""Put DiffusionForce into the menu of a Linux desktop: `python3 installer/linux/install.py`; `--remove` takes it out.

Needs the program `diffusionforce` on the path, as `uv tool install` puts it there. Standard library only.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ICONS = HERE.parents[1] / "src" / "diffusionforce" / "gui" / "icons.py"
ENTRY, ICON = Path("applications", "diffusionforce.desktop"), Path("icons/hicolor/scalable/apps", "diffusionforce.svg")


def main() -> int:
    """Install or remove menu entry and icon, and return the exit code."""
    parser = argparse.ArgumentParser(description="Put DiffusionForce into the menu of this desktop.")
    parser.add_argument("--remove", action="store_true", help="take it out of the menu")
    options = parser.parse_args()
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    if options.remove:
        for path in (data / ENTRY, data / ICON):
            path.unlink(missing_ok=True)
        sys.stdout.write("DiffusionForce is no longer in the menu.\n")
        return 0
    program = shutil.which("diffusionforce")
    if program is None:
        sys.stderr.write("The program diffusionforce is not on the path. Install it first, see docs/release.md.\n")
        return 1
    for path, text in ((data / ENTRY, entry(program)), (data / ICON, icon())):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    # Desktops that keep a list of their entries have this program; others look by themselves.
    if shutil.which("update-desktop-database"):
        subprocess.run(["update-desktop-database", str(data / ENTRY.parent)], check=False)
    sys.stdout.write(f"DiffusionForce is in the menu; its entry is {data / ENTRY}.\n")
    return 0


def entry(program: str) -> str:
    """Return the menu entry, with the program by its full path: desktops start programs without the shell's path."""
    text = (HERE / "diffusionforce.desktop").read_text(encoding="utf-8")
    quoted = re.sub(r'(["`$\\])', r"\\\1", program)
    return text.replace("Exec=diffusionforce", f'Exec="{quoted}"')


def icon() -> str:
    """Return the logo of the window as SVG."""
    source = ICONS.read_text(encoding="utf-8")
    return "".join(re.findall(r"'(.*?)'", source[source.index("LOGO = (") :]))


if __name__ == "__main__":
    sys.exit(main())
