"""What is put into the set-up program, and what may not be."""

import ast
import re
import zipfile
from pathlib import Path

import pytest

from installer import payload, pruning, source, unpacking
from installer.places import INSTALLER, ROOT
from installer.problems import BuildError

LINUX_ONLY = {"QtDBus"}
"""Loaded by the product where it runs on Linux."""


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("python.exe", True),
        ("pythonw.exe", True),
        ("NEWS.txt", False),
        ("Lib/json/__init__.py", True),
        ("Lib/venv/scripts/nt/python.exe", True),
        ("Lib/tkinter/__init__.py", False),
        ("Lib/test/regrtest.py", False),
        ("Lib/site-packages/pip/__init__.py", False),
        ("Lib/json/__pycache__/x.pyc", False),
        ("DLLs/_ssl.pyd", True),
        ("DLLs/_tkinter.pyd", False),
        ("DLLs/tcl86t.dll", False),
        ("include/Python.h", True),
        ("libs/python312.lib", True),
        ("tcl/tk8.6/tk.tcl", False),
        ("Scripts/pip.exe", False),
    ],
)
def test_what_is_kept_of_python(name: str, kept: bool):
    assert pruning.keeps_of_python(name) is kept


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("PySide6/QtWidgets.pyd", True),
        ("PySide6/QtQuick.pyd", False),
        ("PySide6/Qt6Core.dll", True),
        ("PySide6/Qt6Qml.dll", False),
        ("PySide6/pyside6.abi3.dll", True),
        ("PySide6/pyside6qml.abi3.dll", False),
        ("PySide6/opengl32sw.dll", False),
        ("PySide6/msvcp140.dll", False),
        ("PySide6/designer.exe", False),
        ("PySide6/QtCore.pyi", False),
        ("PySide6/plugins/platforms/qwindows.dll", True),
        ("PySide6/plugins/sqldrivers/qsqlite.dll", False),
        ("PySide6/translations/qtbase_de.qm", True),
        ("PySide6/translations/qtbase_fr.qm", False),
        ("PySide6/qml/QtQuick/qmldir", False),
        ("shiboken6/Shiboken.pyd", True),
        ("shiboken6/include/shiboken6/shiboken.h", False),
        ("shiboken6/vcruntime140.dll", False),
        ("numpy/__init__.py", True),
        ("numpy/_core/tests/test_x.py", False),
        ("pydantic/main.py", True),
    ],
)
def test_what_is_kept_of_packages(name: str, kept: bool):
    assert pruning.keeps_of_package(name) is kept


def test_every_qt_module_that_the_product_imports_is_kept():
    sources = (ROOT / "src" / "diffusionforce").rglob("*.py")
    used = {name for path in sources for name in re.findall(r"PySide6\.(Qt\w+)", path.read_text(encoding="utf-8"))}
    assert used
    assert used - LINUX_ONLY <= pruning.QT_MODULES


def test_the_shipped_folders_are_those_of_a_wheel():
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    (shipped,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "SHIPPED"
    )
    assert shipped == source.SHIPPED


def test_nothing_for_tests_under_wine_may_be_shipped():
    for path in (INSTALLER / "wine").glob("*.c"):
        with pytest.raises(BuildError, match=f"{path.stem}.dll"):
            payload.refuse_forbidden(["python/python.exe", f"python/{path.stem}.dll"])
    with pytest.raises(BuildError, match=r"sitecustomize\.py"):
        payload.refuse_forbidden(["python/Lib/site-packages/sitecustomize.py"])
    payload.refuse_forbidden(["python/python.exe", "python/Lib/site.py"])


def test_a_wheel_is_unpacked_as_an_installer_would(tmp_path: Path):
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (
            "thing/__init__.py",
            "thing/left_out.py",
            "thing-1.0.data/purelib/more.py",
            "thing-1.0.data/scripts/thing.exe",
            "thing-1.0.dist-info/METADATA",
            "thing-1.0.dist-info/RECORD",
        ):
            archive.writestr(name, name)
    unpacking.unpack_wheel(wheel, target=tmp_path / "site", keeps=lambda name: "left_out" not in name)
    site = tmp_path / "site"
    found = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert found == {"thing/__init__.py", "more.py", "thing-1.0.dist-info/METADATA"}


@pytest.mark.parametrize("name", ["../evil.py", "a/../../evil.py", "/etc/evil", "C:evil", "a\\..\\evil"])
def test_a_wheel_cannot_write_outside_of_its_folder(name: str, tmp_path: Path):
    wheel = tmp_path / "evil-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(name, "evil")
    with pytest.raises(BuildError, match="unsuitable name"):
        unpacking.unpack_wheel(wheel, target=tmp_path / "site")


def test_all_files_get_one_date_and_plain_rights(tmp_path: Path):
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "b.exe"
    file.write_bytes(b"x")
    file.chmod(0o777)
    payload.level(tmp_path, date_s=1_700_000_000)
    assert {path.stat().st_mtime for path in (tmp_path, tmp_path / "a", file)} == {1_700_000_000}
    assert file.stat().st_mode & 0o777 == 0o644
