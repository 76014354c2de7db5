"""The style sheet, written from the tokens.

Rules that look odd have a reason: a focus ring of 2 px takes 1 px of padding and 2 px of height back, so that
nothing jumps; frames are always named (`QFrame#card`), because a label is a `QFrame` too.
"""

from diffusionforce.gui.tokens import Tokens, mixed


def sheet(t: Tokens, *, chevron: str) -> str:
    """Return the style sheet of the application.

    Args:
        t: The theme.
        chevron: Path of the arrow picture of drop-down boxes.
    """
    return "\n".join((_text(t), _surfaces(t), _banners(t), _buttons(t), _fields(t, chevron), _menus(t), _scrolling(t)))


def _text(t: Tokens) -> str:
    names = ("ok", "warn", "err", "info", "focus")
    tones = "".join(f'QLabel[tone="{tone}"] {{ color: {getattr(t, tone)}; }}' for tone in names)
    devices = "".join(f'QLabel[tone="g{i}"] {{ color: {text}; }}' for i, text in enumerate(t.device_texts))
    return f"""
* {{ font-family: "Inter", "Segoe UI Variable Text", "Segoe UI", "Noto Sans", "DejaVu Sans"; font-size: 13px;
     color: {t.text}; outline: none; }}
QLabel {{ background: transparent; }}
QLabel[role="caption"] {{ font-size: 11px; font-weight: 500; color: {t.text3}; }}
QLabel[role="small"] {{ font-size: 12px; color: {t.text2}; }}
QLabel[role="muted"] {{ font-size: 12px; color: {t.text3}; }}
QLabel[role="body2"] {{ color: {t.text2}; }}
QLabel[role="strong"] {{ font-weight: 600; }}
QLabel[role="section"] {{ font-size: 15px; font-weight: 600; }}
QLabel[role="title"], QLabel[role="value"] {{ font-size: 20px; font-weight: 600; }}
QLabel[role="hero"] {{ font-size: 26px; font-weight: 600; }}
{tones}{devices}
QToolTip {{ background: {t.popup}; color: {t.text}; border: 1px solid {t.edge}; padding: 5px 7px; }}
"""


def _surfaces(t: Tokens) -> str:
    return f"""
QWidget#root, QWidget#page, QScrollArea, QScrollArea > QWidget > QWidget {{ background: {t.bg}; }}
QWidget#clear, QScrollArea#clear, QScrollArea#clear > QWidget > QWidget {{ background: transparent; }}
QFrame#card, QFrame#bar {{ background: {t.card}; border: 1px solid {t.line}; border-radius: 10px; }}
QFrame#card[dropping="1"] {{ border: 2px dashed {t.focus}; }}
QFrame#sub {{ background: {t.bg}; border: 1px solid {t.line}; border-radius: 8px; }}
QFrame#way {{ background: transparent; border: 1px solid {t.line}; border-radius: 8px; }}
QFrame#way[best="1"] {{ background: {t.accent_bg}; border: 1px solid {t.accent}; }}
QFrame#hline {{ background: {t.line}; max-height: 1px; min-height: 1px; border: none; }}
QFrame#side {{ background: {t.side}; border: none; border-right: 1px solid {t.line}; }}
QFrame#strip {{ background: {t.side}; border: none; border-top: 1px solid {t.line}; }}
QFrame#pane {{ background: {t.bg}; border: none; border-right: 1px solid {t.line}; }}
QFrame#pane[dropping="1"] {{ background: {t.accent_bg}; border-right: 1px solid {t.focus}; }}
QFrame#inspector {{ background: {t.bg}; border: none; border-left: 1px solid {t.line}; }}
QFrame#toast {{ background: {t.popup}; border: 1px solid {t.edge}; border-radius: 10px; }}
QFrame#overlay {{ background: {t.bg}; border: none; }}
"""


def _banners(t: Tokens) -> str:
    rules = []
    for tone in ("ok", "warn", "err", "info"):
        edge = mixed(getattr(t, tone), t.card, 0.55)
        rules.append(
            f'QFrame#banner[tone="{tone}"] {{ background: {getattr(t, tone + "_bg")}; border: 1px solid {edge};'
            " border-radius: 10px; }"
        )
    return "\n".join(rules)


def _buttons(t: Tokens) -> str:
    return f"""
QPushButton {{ background: {t.btn}; border: 1px solid {t.btn_line}; border-bottom: 1px solid {t.btn_lo};
    border-radius: 6px; padding: 0 12px; min-height: 30px; font-weight: 500; }}
QPushButton:hover {{ background: {t.hover}; }}
QPushButton:pressed {{ background: {t.line}; }}
QPushButton:focus {{ border: 2px solid {t.focus}; padding: 0 11px; min-height: 28px; }}
QPushButton:disabled {{ color: {t.off}; background: transparent; border-color: {t.line}; }}
QPushButton[kind="primary"] {{ background: {t.accent}; border: 1px solid {t.accent}; color: {t.on_accent};
    font-weight: 600; }}
QPushButton[kind="primary"]:hover {{ background: {t.accent_hi}; }}
QPushButton[kind="primary"]:focus {{ border: 2px solid {t.text}; }}
QPushButton[kind="primary"]:disabled {{ background: {t.raised}; border-color: {t.line}; color: {t.off}; }}
QPushButton[kind="danger"] {{ background: transparent; border: 1px solid {t.err}; color: {t.err}; font-weight: 600; }}
QPushButton[kind="danger"]:hover {{ background: {t.err_bg}; }}
QPushButton[kind="danger"]:focus {{ border: 2px solid {t.focus}; }}
QPushButton[kind="danger"]:disabled {{ border-color: {t.line}; color: {t.off}; }}
QPushButton[kind="ghost"] {{ background: transparent; border: 1px solid transparent;
    border-bottom: 1px solid transparent; color: {t.text2}; padding: 0 8px; }}
QPushButton[kind="ghost"]:hover {{ background: {t.hover}; color: {t.text}; }}
QPushButton[kind="ghost"]:focus {{ border: 2px solid {t.focus}; padding: 0 7px; }}
QPushButton[kind="ghost"]:disabled {{ color: {t.off}; }}
QPushButton[scale="big"] {{ min-height: 36px; padding: 0 18px; font-size: 14px; }}
QPushButton[scale="big"]:focus {{ min-height: 34px; padding: 0 17px; }}
QPushButton[scale="small"] {{ min-height: 26px; padding: 0 10px; font-size: 12px; }}
QPushButton[scale="small"]:focus {{ min-height: 24px; padding: 0 9px; }}
QPushButton[scale="tiny"] {{ min-height: 18px; max-height: 18px; }}
QPushButton[icon_only="1"] {{ padding: 0; min-width: 30px; max-width: 30px; }}
QPushButton[icon_only="1"]:focus {{ padding: 0; min-width: 28px; max-width: 28px; }}
QPushButton[icon_only="1"][scale="tiny"] {{ min-width: 22px; max-width: 22px; }}
QPushButton[icon_only="1"][scale="tiny"]:focus {{ min-height: 18px; max-height: 18px; min-width: 20px; }}
QPushButton[icon_only="1"][scale="small"] {{ min-width: 26px; max-width: 26px; }}
"""


def _fields(t: Tokens, chevron: str) -> str:
    fill = t.bg if t.is_dark else t.card
    return f"""
QLineEdit, QComboBox, QSpinBox, QPlainTextEdit {{ background: {fill}; border: 1px solid {t.line};
    border-bottom: 1px solid {t.edge}; border-radius: 6px; padding: 0 10px; min-height: 30px;
    selection-background-color: {t.accent}; selection-color: {t.on_accent}; placeholder-text-color: {t.text3}; }}
QPlainTextEdit {{ padding: 6px 8px; }}
QPlainTextEdit#log {{ font-family: "JetBrains Mono", "Cascadia Mono", "Consolas", "DejaVu Sans Mono";
    font-size: 12px; color: {t.text2}; border: none; background: transparent; padding: 0; }}
QPlainTextEdit#detail {{ font-family: "JetBrains Mono", "Cascadia Mono", "Consolas", "DejaVu Sans Mono";
    font-size: 12px; color: {t.text2}; }}
QLineEdit:hover, QComboBox:hover, QSpinBox:hover {{ border-color: {t.edge}; }}
QLineEdit:focus, QComboBox:focus, QSpinBox:focus {{ border: 2px solid {t.focus}; padding: 0 9px; min-height: 28px; }}
QLineEdit:disabled, QComboBox:disabled, QSpinBox:disabled {{ color: {t.off}; border-bottom-color: {t.line};
    background: transparent; }}
QLineEdit[error="1"], QPlainTextEdit[error="1"] {{ border: 1px solid {t.err}; }}
QLineEdit[error="1"]:focus, QPlainTextEdit[error="1"]:focus {{ border: 2px solid {t.err}; }}
QLineEdit[locked="1"], QPlainTextEdit[locked="1"] {{ background: transparent; border: 1px solid {t.line};
    color: {t.text2}; }}
QLineEdit[locked="1"]:focus {{ border: 2px solid {t.focus}; }}
QLineEdit#search {{ padding-left: 32px; }}
QLineEdit#search:focus {{ padding-left: 31px; }}
QPlainTextEdit:focus {{ border: 2px solid {t.focus}; padding: 5px 7px; }}
QSpinBox QLineEdit {{ border: none; background: transparent; padding: 0; min-height: 0; }}
QSpinBox::up-button, QSpinBox::down-button {{ width: 0; border: none; }}
QComboBox::drop-down {{ border: none; width: 26px; }}
QComboBox::down-arrow {{ image: url({chevron}); width: 14px; height: 14px; }}
QComboBox QAbstractItemView {{ background: {t.popup}; border: 1px solid {t.edge};
    selection-background-color: {t.accent_bg}; selection-color: {t.text}; padding: 4px; }}
"""


def _menus(t: Tokens) -> str:
    return f"""
QMenu {{ background: {t.popup}; border: 1px solid {t.edge}; border-radius: 8px; padding: 4px; }}
QMenu::item {{ padding: 6px 24px 6px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {t.hover}; }}
QMenu::item:disabled {{ color: {t.text3}; }}
QMenu::separator {{ height: 1px; background: {t.line}; margin: 4px 8px; }}
"""


def _scrolling(t: Tokens) -> str:
    return f"""
QScrollBar:vertical {{ background: transparent; width: 12px; margin: 2px; }}
QScrollBar::handle:vertical {{ background: {t.handle}; border-radius: 4px; min-height: 36px; margin: 0 2px; }}
QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 2px; }}
QScrollBar::handle:horizontal {{ background: {t.handle}; border-radius: 4px; min-width: 36px; margin: 2px 0; }}
QScrollBar::handle:hover {{ background: {t.edge}; }}
QScrollBar::handle:disabled {{ background: transparent; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent;
    border: none; width: 0; height: 0; }}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
"""
