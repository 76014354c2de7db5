"""Where a build reads and writes."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALLER = ROOT / "installer"
WORK = ROOT / "build" / "installer"
"""Inputs, tools and everything in between; may be deleted at any time."""
INPUTS = WORK / "inputs"
TOOLS = WORK / "tools"
DIST = ROOT / "dist"
"""The finished files."""
LOCKS = ROOT / "locks"
OWN_LOCKS = INSTALLER / "locks"


def version() -> str:
    """Return the product's version, for example `0.1.0`."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
