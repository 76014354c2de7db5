"""Every colour of the window, twice: once for dark, once for light.

Colours are chosen for contrast (WCAG: text at least 4.5:1 on its surface, edges and rings 3:1), which
`tests/unit/gui` measures. The style sheet and the painted widgets read the same table, so that a colour is
changed in one place. Nothing here knows Qt.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """One theme. All colours are `#rrggbb`.

    `bg` is the page, `side` the sidebar and the rig strip, `card` a card, `raised` chips and tracks, `hover` a hover
    fill, `line` hairlines and empty tracks, `edge` outlines of inputs, `text` to `text3` primary, secondary and hint
    text, `off` disabled text. `accent` fills the one primary action, `focus` draws rings, progress and the chart.
    `devices` fill what belongs to GPU 0, GPU 1, ...; `device_texts` write their names. `ok`, `warn`, `err` and `info`
    always come with an icon and a word; `..._bg` are their tints.
    """

    name: str
    bg: str
    side: str
    card: str
    raised: str
    hover: str
    line: str
    edge: str
    text: str
    text2: str
    text3: str
    off: str
    accent: str
    accent_hi: str
    on_accent: str
    accent_bg: str
    focus: str
    btn: str
    btn_line: str
    btn_lo: str
    ok: str
    warn: str
    err: str
    info: str
    ok_bg: str
    warn_bg: str
    err_bg: str
    info_bg: str
    devices: tuple[str, ...]
    device_texts: tuple[str, ...]

    @property
    def is_dark(self) -> bool:
        """Whether this is a dark theme."""
        return self.name == "dark"

    @property
    def popup(self) -> str:
        """Surface of menus, tool tips and toasts, which float above everything else."""
        return self.raised if self.is_dark else self.card

    @property
    def handle(self) -> str:
        """Handle of a scroll bar."""
        return self.btn_line if self.is_dark else "#c3c9d2"


DARK = Tokens(
    name="dark",
    bg="#14161a",
    side="#0f1114",
    card="#1b1e24",
    raised="#252932",
    hover="#2c313b",
    line="#2b303a",
    edge="#707a8a",
    text="#eceef2",
    text2="#b4bac6",
    text3="#959dac",
    off="#6b7382",
    accent="#5d66e0",
    accent_hi="#525ad2",
    on_accent="#ffffff",
    accent_bg="#262a4d",
    focus="#a5acff",
    btn="#2a2f39",
    btn_line="#363c48",
    btn_lo="#414857",
    ok="#5bc983",
    warn="#ecc94b",
    err="#ff7080",
    info="#8ab4ff",
    ok_bg="#16301f",
    warn_bg="#332c12",
    err_bg="#3a1a20",
    info_bg="#1a2740",
    devices=("#3cc3d9", "#f2994a", "#b0d35f", "#e08bd0"),
    device_texts=("#3cc3d9", "#f2994a", "#b0d35f", "#e08bd0"),
)

LIGHT = Tokens(
    name="light",
    bg="#f3f4f6",
    side="#e9ebef",
    card="#ffffff",
    raised="#eef0f3",
    hover="#e4e7ec",
    line="#dce0e6",
    edge="#7d8695",
    text="#16191f",
    text2="#434b59",
    text3="#5f6878",
    off="#8d95a3",
    accent="#474dcb",
    accent_hi="#3b41b4",
    on_accent="#ffffff",
    accent_bg="#e6e7fb",
    focus="#474dcb",
    btn="#ffffff",
    btn_line="#d3d8e0",
    btn_lo="#b3bac6",
    ok="#1b7a3d",
    warn="#876000",
    err="#c2213a",
    info="#2458b8",
    ok_bg="#e3f4e8",
    warn_bg="#fbf1cf",
    err_bg="#fde7ea",
    info_bg="#e5edfb",
    devices=("#0d8ba1", "#c8690f", "#6f8f1d", "#b04e9c"),
    device_texts=("#0a7185", "#a5540a", "#56720f", "#93377f"),
)


def luminance(colour: str) -> float:
    """Return the relative luminance of a `#rrggbb` colour, 0 (black) to 1 (white), as WCAG defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two `#rrggbb` colours, 1 to 21."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def mixed(first: str, second: str, share: float) -> str:
    """Return `first` with `share` (0 to 1) of `second` in it."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def ink_on(fill: str) -> str:
    """Return near-black or white, whichever reads better on `fill`."""
    dark = "#0c1013"
    return dark if contrast(dark, fill) >= contrast("#ffffff", fill) else "#ffffff"
