"""Put the folders that ship with the product, but stand at the top of the repository, into built packages.

A source checkout and an editable install read them where they are (`diffusionforce.job.shipped_dir`); a wheel
carries a copy in `diffusionforce/shipped`. All other metadata is in pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("profiles", "demo_datasets", "vendor", "locks")


class BuildWithShippedFolders(build_py):
    """Copies the shipped folders after the modules; an editable install needs no copy."""

    def run(self) -> None:
        """Build the modules, then copy."""
        super().run()
        if self.editable_mode:
            return
        root = Path(__file__).resolve().parent
        for name in SHIPPED:
            target = Path(self.build_lib) / "diffusionforce" / "shipped" / name
            shutil.copytree(root / name, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithShippedFolders})
