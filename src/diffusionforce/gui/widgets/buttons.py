"""Push buttons: primary (one a page), plain, danger, ghost; with an icon that follows the theme."""

from typing import Literal

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QPushButton, QSizePolicy

from diffusionforce.gui import icons, theme
from diffusionforce.gui.model.language import key_names, tr
from diffusionforce.gui.tokens import Tokens

Kind = Literal["", "primary", "danger", "ghost"]
_ICON_TONES = {"primary": "on_accent", "danger": "err"}


class Button(QPushButton):
    """A button.

    Args:
        text: What it does, in words. Empty for an icon alone, which then needs a `tip`.
        icon: Name of an icon.
        kind: Its weight on the page.
        size: `big` for the one action of a page, `small` inside cards.
        tip: Tool tip; also the accessible name of a button without text.
    """

    def __init__(
        self,
        text: str = "",
        icon: str = "",
        *,
        kind: Kind = "",
        size: Literal["", "small", "big"] = "",
        tip: str = "",
    ) -> None:
        text, tip = tr(text), key_names(tr(tip))
        # The gap between icon and text cannot be styled, hence the blank.
        super().__init__(f" {text}" if icon and text else text)
        self._icon_name, self._kind, self._tip = icon, kind, tip
        self._tinted: tuple[str, str, Tokens] | None = None
        self.setAccessibleName(text or tip)
        self.setToolTip(tip)
        self.setProperty("kind", kind)
        self.setProperty("scale", size)
        self.setProperty("icon_only", "" if text else "1")
        # Not by click: a mouse user should see no ring.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        policy = QSizePolicy.Policy.Minimum if text else QSizePolicy.Policy.Fixed
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)
        self.setIconSize(QSize(16, 16))
        self._tint()

    def set_text(self, text: str, *, icon: str | None = None) -> None:
        """Change what the button says, and its icon where one is given."""
        text = tr(text)
        if icon is not None and icon != self._icon_name:
            self._icon_name = icon
            self._tint()
        if text != self.accessibleName():
            self.setText(f" {text}" if self._icon_name and text else text)
            self.setAccessibleName(text)

    def set_icon(self, icon: str) -> None:
        """Change the icon."""
        if icon != self._icon_name:
            self._icon_name = icon
            self._tint()

    def set_kind(self, kind: Kind) -> None:
        """Give the button another weight on the page."""
        if kind != self._kind:
            self._kind = kind
            self.setProperty("kind", kind)
            self.style().unpolish(self)
            self.style().polish(self)
            self._tint()

    def allow(self, allowed: bool, *, reason: str = "") -> None:
        """Switch the button on or off; the tool tip of a button that is off says why."""
        self.setEnabled(allowed)
        self.setToolTip(self._tip if allowed else tr(reason))

    def changeEvent(self, event: QEvent) -> None:
        """Tint the icon anew when the theme changed."""
        if event.type() == QEvent.Type.StyleChange:
            self._tint()
        super().changeEvent(event)

    def _tint(self) -> None:
        # Qt speaks of another style also for each surface that the button is put upon while a page is built.
        looks = (self._icon_name, self._kind, theme.current())
        if self._icon_name and looks != self._tinted:
            self._tinted = looks
            tone = _ICON_TONES.get(self._kind, "text2")
            self.setIcon(icons.icon(self._icon_name, theme.colour(tone).name(), theme.colour("off").name()))
