"""The theme in use, and the tokens in Qt's types.

Painted widgets ask for colours while they paint and buttons tint their icons when the style sheet changes, so the
theme can be switched while the window is open, without building anything anew.
"""

import functools
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication

from diffusionforce.gui import icons, style, tokens
from diffusionforce.gui.tokens import DARK, LIGHT, Tokens

Choice: TypeAlias = Literal["system", "dark", "light"]

FAMILIES = ["Inter", "Segoe UI Variable Text", "Segoe UI", "Noto Sans", "DejaVu Sans"]
MONO_FAMILIES = ["JetBrains Mono", "Cascadia Mono", "Consolas", "DejaVu Sans Mono"]


class ThemeState(QObject):
    """Holds the theme in use and tells when it changed."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.tokens = DARK
        self.choice: Choice = "system"


_state = ThemeState()


def state() -> ThemeState:
    """Return the one theme state of the process."""
    return _state


def current() -> Tokens:
    """Return the tokens in use."""
    return _state.tokens


def colour(name: str, alpha: float = 1.0) -> QColor:
    """Return a token of the theme in use, or any `#rrggbb`, as a Qt colour.

    Args:
        name: Name of a token (`text2`) or `#rrggbb`.
        alpha: Opacity, 0 to 1.
    """
    result = QColor(name if name.startswith("#") else getattr(_state.tokens, name))
    result.setAlphaF(alpha)
    return result


def device_fill(index: int) -> str:
    """Return the fill colour of the device with this index."""
    fills = _state.tokens.devices
    return fills[index % len(fills)]


def device_text(index: int) -> str:
    """Return the text colour of the device with this index."""
    texts = _state.tokens.device_texts
    return texts[index % len(texts)]


def mixed(first: str, second: str, share: float) -> QColor:
    """Return a mix of two tokens or `#rrggbb` colours; `share` (0 to 1) of the second."""
    return QColor(tokens.mixed(_hex(first), _hex(second), share))


def _hex(name: str) -> str:
    return name if name.startswith("#") else getattr(_state.tokens, name)


@functools.lru_cache(maxsize=64)
def font(size_px: int = 13, weight: int = 400, *, mono: bool = False) -> QFont:
    """Return the font of the window in a size; figures are tabular, so that live numbers do not jiggle."""
    result = QFont()
    result.setFamilies(MONO_FAMILIES if mono else FAMILIES)
    result.setPixelSize(size_px)
    result.setWeight(QFont.Weight(weight))
    if not mono:
        result.setFeature(QFont.Tag("tnum"), 1)
    result.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return result


def load_fonts() -> list[str]:
    """Make the bundled fonts known to Qt and return the families found."""
    families: list[str] = []
    for path in sorted((Path(__file__).parent / "fonts").glob("*.[ot]tf")):
        families += QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(path)))
    return sorted(set(families))


def apply(app: QApplication, choice: Choice) -> None:
    """Dress the application in a theme; `system` follows the desktop, now and when it changes."""
    _state.choice = choice
    _state.tokens = _resolved(app, choice)
    app.setStyle("Fusion")
    app.setFont(font())
    app.setPalette(_palette(_state.tokens))
    app.setStyleSheet(style.sheet(_state.tokens, chevron=icons.file("chev-down", _state.tokens.text2)))
    _state.changed.emit()


def follow_system(app: QApplication) -> None:
    """Switch with the desktop while the choice is `system`."""

    def on_scheme_changed() -> None:
        if _state.choice == "system" and _resolved(app, "system") is not _state.tokens:
            apply(app, "system")

    app.styleHints().colorSchemeChanged.connect(on_scheme_changed)


def _resolved(app: QApplication, choice: Choice) -> Tokens:
    if choice == "system":
        return LIGHT if app.styleHints().colorScheme() == Qt.ColorScheme.Light else DARK
    return LIGHT if choice == "light" else DARK


def _palette(theme: Tokens) -> QPalette:
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.bg,
        QPalette.ColorRole.Base: theme.card,
        QPalette.ColorRole.AlternateBase: theme.raised,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Button: theme.raised,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.Highlight: theme.accent,
        QPalette.ColorRole.HighlightedText: theme.on_accent,
        QPalette.ColorRole.ToolTipBase: theme.popup,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.text3,
        QPalette.ColorRole.Link: theme.info,
    }
    for role, value in roles.items():
        palette.setColor(role, QColor(value))
    return palette
