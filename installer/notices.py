"""The licences of everything in the set-up program, collected into one folder, and the notice that lists them."""

import email.parser
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from installer.places import INSTALLER

TEXTS = INSTALLER / "licences"
"""Licence texts that the packages themselves do not carry."""
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|authors)[^/]*$", re.I)
QT = frozenset({"pyside6-essentials", "shiboken6"})
HEADER = """DiffusionForce {version} for Windows: notices
=============================================

DiffusionForce is licensed under the Apache License 2.0; its text and notice are LICENSE.txt and NOTICE.txt in the
program's folder. The programs and libraries of others that come with it have their own licences, whose texts are in
this folder:

"""
FOOTER = """
Qt for Python (PySide6, shiboken6) and Qt are used under the GNU Lesser General Public License 3, whose text, and that
of the GNU General Public License 3 that it refers to, are here. They are shipped unchanged, as libraries of their own
in python\\Lib\\site-packages\\PySide6 and shiboken6, where you may replace them by versions of your own. Their source
is published by The Qt Company as "pyside-setup" and "qt5" (release {qt}).

The Visual C++ runtime (msvcp140.dll, vcruntime140.dll and their kin, in the folder python) is distributable code of
Microsoft Visual Studio, shipped unchanged under Microsoft's terms for it.

uv is used under the Apache License 2.0 or the MIT License. Python is used under the PSF License, see LICENSE.txt in the
folder python. PyTorch and the libraries of the training environment, FFmpeg among them, are not in here: they are
fetched when you ask for them, and bring their licences along. So is Musubi Tuner. Where the folder engine has it, it is
used under the Apache License 2.0, but for two of its folders, which are under licences of Tencent:
python\\Lib\\site-packages\\diffusionforce\\shipped\\vendor\\musubi-tuner\\NOTICE.md names them.
"""


@dataclass(frozen=True, kw_only=True)
class Package:
    """A Python package that is shipped, as its metadata describe it."""

    name: str
    version: str
    licence: str
    """An expression like `MIT`, or what else the package says."""
    texts: tuple[Path, ...]


def packages(site_packages: Path) -> list[Package]:
    """Return the packages in a folder, in alphabetical order."""
    found: list[Package] = []
    for folder in site_packages.glob("*.dist-info"):
        metadata = email.parser.Parser().parsestr((folder / "METADATA").read_text(encoding="utf-8"), headersonly=True)
        texts = sorted(path for path in folder.rglob("*") if path.is_file() and LICENCE_FILE.search(path.name))
        name = metadata["Name"]
        found.append(
            Package(
                name=name,
                version=metadata["Version"],
                licence=licence_of(
                    metadata["License-Expression"], metadata["License"], metadata.get_all("Classifier", [])
                ),
                texts=() if name.lower().replace("_", "-") in QT else tuple(texts),
            )
        )
    return sorted(found, key=lambda package: package.name.lower())


def licence_of(expression: str | None, free: str | None, classifiers: Iterable[str]) -> str:
    """Return a package's licence in a few words, out of the three places where metadata may have it."""
    if expression:
        return expression
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    first = (free or "").strip().partition("\n")[0]
    return first if first and len(first) < 60 else ", ".join(named) or "see its text"


def write(*, site_packages: Path, target: Path, version: str) -> list[Package]:
    """Write the folder of licences.

    Args:
        site_packages: Where the shipped packages are.
        target: The folder to make.
        version: The product's.

    Returns:
        The packages that are listed.
    """
    listed = packages(site_packages)
    for package in listed:
        for text in package.texts:
            place = target / f"{package.name}-{package.version}" / text.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(text, place)
    for text in sorted(TEXTS.iterdir()):
        shutil.copy(text, target / text.name)
    qt = next((package.version for package in listed if package.name.lower().startswith("pyside6")), "")
    lines = "".join(f"  {package.name} {package.version}: {package.licence}\n" for package in listed)
    notice = HEADER.format(version=version) + lines + FOOTER.format(qt=qt)
    (target / "NOTICES.txt").write_text(notice, encoding="utf-8", newline="\r\n")
    return listed
