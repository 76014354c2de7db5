"""What of Python and Qt comes along: lists of what is kept, so that a new version cannot bring surprises.

Of 218 MB of PySide6 the window uses a third; the rest is for other kinds of programs (QML, Designer, databases).
A Qt library that is needed and not kept is found by `binaries.py`, which reads what every binary imports.
"""

from pathlib import PurePosixPath

QT_MODULES = frozenset({"QtCore", "QtGui", "QtNetwork", "QtSvg", "QtWidgets"})
"""What the product imports; QtNetwork carries its local sockets, too."""
QT_LIBRARIES = frozenset({f"Qt6{module.removeprefix('Qt')}.dll" for module in QT_MODULES})
QT_OWN_LIBRARIES = frozenset({"pyside6.abi3.dll", "shiboken6.abi3.dll"})
"""Of PySide6 itself. Its copies of Microsoft's runtime are left out: a newer one is beside python.exe."""
QT_PLUGINS = frozenset(
    {
        "platforms/qwindows.dll",
        "platforms/qoffscreen.dll",
        "styles/qmodernwindowsstyle.dll",
        "imageformats/qgif.dll",
        "imageformats/qico.dll",
        "imageformats/qjpeg.dll",
        "imageformats/qsvg.dll",
        "imageformats/qwebp.dll",
        "iconengines/qsvgicon.dll",
    }
)
QT_TRANSLATIONS = frozenset({"qtbase_de.qm", "qtbase_en.qm"})

PYTHON_FOLDERS = frozenset({"DLLs", "Lib", "include", "libs"})
PYTHON_FILES = frozenset(
    {
        "LICENSE.txt",
        "python.exe",
        "python3.dll",
        "python312.dll",
        "pythonw.exe",
        "vcruntime140.dll",
        "vcruntime140_1.dll",
    }
)
PYTHON_LEFT_OUT = frozenset({"ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tkinter", "turtledemo"})
"""Folders of the standard library; nothing here draws with Tk, and uv installs packages."""
TK_LIBRARIES = frozenset({"_tkinter.pyd", "_msi.pyd", "tcl86t.dll", "tk86t.dll", "zlib1.dll"})


def keeps_of_python(name: str) -> bool:
    """Return whether a file of Python for Windows comes along, by its path in there."""
    parts = PurePosixPath(name).parts
    if len(parts) == 1:
        return name in PYTHON_FILES
    if parts[0] not in PYTHON_FOLDERS or "__pycache__" in parts:
        return False
    if parts[0] == "Lib":
        return parts[1] not in PYTHON_LEFT_OUT and parts[1] != "turtle.py"
    return parts[0] != "DLLs" or (parts[-1] not in TK_LIBRARIES and parts[-1].endswith((".dll", ".pyd")))


def keeps_of_package(name: str) -> bool:
    """Return whether a file of a Python package comes along, by its path in `site-packages`."""
    path = PurePosixPath(name)
    if "__pycache__" in path.parts or path.suffix in {".pyc", ".pyi", ".lib", ".pdb", ".h", ".pyx", ".pxd", ".c"}:
        return False
    if path.parts[0] == "PySide6":
        return keeps_of_qt("/".join(path.parts[1:]))
    if path.parts[0] == "shiboken6":
        return len(path.parts) == 2 and (path.suffix != ".dll" or path.name in QT_OWN_LIBRARIES)
    return not _is_test(path)


def keeps_of_qt(name: str) -> bool:
    """Return whether a file of PySide6 comes along, by its path in there."""
    path = PurePosixPath(name)
    folder, _, inside = name.partition("/")
    if folder == "plugins":
        return inside in QT_PLUGINS
    if folder == "translations":
        return inside in QT_TRANSLATIONS
    if len(path.parts) > 1:
        return folder == "support" and path.suffix == ".py"
    if path.suffix == ".pyd":
        return path.name.partition(".")[0] in QT_MODULES
    if path.suffix == ".dll":
        return path.name in QT_LIBRARIES | QT_OWN_LIBRARIES
    return path.suffix == ".py"


def _is_test(path: PurePosixPath) -> bool:
    """Return whether a file belongs to a package's own tests, which some bring along."""
    return any(part in {"tests", "test"} for part in path.parts[1:-1]) and path.parts[0] in _WITH_TESTS


_WITH_TESTS = frozenset({"numpy", "psutil", "pydantic"})
