"""Whether Qt finds all that the window needs: `python -m diffusionforce.gui.self_check` prints it as JSON.

A process of its own, because a plugin that does not fit ends the process without a word.
"""

import json
import sys

from PySide6.QtCore import QBuffer, QIODevice, QLibraryInfo, qVersion
from PySide6.QtGui import QFontDatabase, QImage, QImageReader, QPixmap
from PySide6.QtNetwork import QLocalServer
from PySide6.QtWidgets import QApplication, QStyleFactory

from diffusionforce.gui import icons, theme
from diffusionforce.gui.app import application
from diffusionforce.gui.model import language

NEEDED_FORMATS = ("png", "jpeg", "webp", "svg")


def main() -> int:
    """Look, and print what was found."""
    app = application()
    theme.apply(app, "dark")
    problems = [*_about_formats(), *_about_pictures(), *_about_languages()]
    if not QFontDatabase.hasFamily("Inter"):
        problems.append("The fonts that come with the program were not loaded.")
    server = QLocalServer()
    if not server.listen("diffusionforce-self-check"):
        QLocalServer.removeServer("diffusionforce-self-check")
        if not server.listen("diffusionforce-self-check"):
            problems.append(f"No local socket can be opened: {server.errorString()}.")
    server.close()
    said = (
        f"Qt {qVersion()}, platform {app.platformName()}, style {_style(app)}, "
        f"{len(QStyleFactory.keys())} styles, screen {app.primaryScreen().devicePixelRatio():g}x"
    )
    plugins = QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)
    sys.stdout.write(json.dumps({"said": said, "problems": problems, "plugins": plugins}) + "\n")
    return 0


def _style(app: QApplication) -> str:
    return app.style().objectName() or app.style().metaObject().className()


def _about_formats() -> list[str]:
    known = {bytes(one.data()).decode() for one in QImageReader.supportedImageFormats()}
    return [f"Qt cannot read {name} pictures." for name in NEEDED_FORMATS if name not in known]


def _about_pictures() -> list[str]:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.ReadWrite)
    picture = QImage(8, 8, QImage.Format.Format_RGB32)
    picture.fill(0xFF3366)
    # Its stubs want bytes and the library wants a text.
    written = picture.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    is_whole = written and QPixmap.fromImage(QImage.fromData(buffer.data())).width() == 8
    problems = [] if is_whole else ["Qt cannot write and read a picture."]
    return problems + (["The icons of the program cannot be drawn."] if icons.app_icon().isNull() else [])


def _about_languages() -> list[str]:
    problems: list[str] = []
    for code in language.LANGUAGES:
        language.use(code)
        if code != "en" and language.tr("Settings") == "Settings":
            problems.append(f"The language {code} is not there.")
    language.use("en")
    return problems


if __name__ == "__main__":
    sys.exit(main())
