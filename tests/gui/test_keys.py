"""The page that lists the keys: every shortcut of the window is in it, and a key leads to it."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from diffusionforce.gui.model import language
from diffusionforce.gui.model.key_list import KEY_GROUPS
from diffusionforce.gui.pages.keys import KeysPage
from diffusionforce.gui.pages.settings import SettingsPage
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.cards import Card

PLACES = ("run", "datasets", "profiles", "gallery", "history", "rig", "settings", "environment", "keys")
SPELT = {"Alt+Up": "Alt+↑", "Alt+Down": "Alt+↓", "Ctrl+Return": "Ctrl+Enter"}
"""How the list spells keys that Qt calls otherwise."""
TOGETHER = {f"Ctrl+{number}" for number in range(2, 6)}
"""Not listed one by one: they are between two that are."""


def shortcuts(window: Window) -> set[str]:
    found = [shortcut.key() for shortcut in window.findChildren(QShortcut)]
    found += [button.shortcut() for button in window.findChildren(QAbstractButton)]
    return {keys.toString(QKeySequence.SequenceFormat.PortableText) for keys in found} - {""}


def test_every_shortcut_is_listed(window: Window, qtbot: QtBot):
    for place in PLACES:
        window.go(place)
    window.run_place.live.show()
    profiles = window.place("profiles")
    qtbot.waitUntil(lambda: getattr(profiles, "editor", None) is not None, timeout=30_000)
    listed = " ".join(keys for group in KEY_GROUPS for keys, _ in group.keys)
    known = set(listed.replace(", ", " ").split())
    missing = {SPELT.get(keys, keys) for keys in shortcuts(window)} - known - TOGETHER
    assert missing <= {"Ctrl+,"}, "its comma is taken for one between two keys"
    assert "Ctrl+," in listed


def test_the_gallery_says_how_to_have_a_deleted_file_back():
    (gallery,) = [group for group in KEY_GROUPS if group.title == "Gallery"]
    assert "Ctrl+Z" in dict(gallery.keys)


def test_f1_shows_the_keys_and_settings_leads_to_them(window: Window, qtbot: QtBot):
    qtbot.keyClick(window, Qt.Key.Key_F1)
    page = window.places.currentWidget()
    assert isinstance(page, KeysPage)
    page.complete()
    qtbot.mouseClick(page.back, Qt.MouseButton.LeftButton)
    settings = window.places.currentWidget()
    assert isinstance(settings, SettingsPage)
    settings.complete()
    qtbot.mouseClick(settings.keys, Qt.MouseButton.LeftButton)
    assert window.places.currentWidget() is page
    assert window.sidebar.item("settings").isChecked()


@pytest.fixture
def german() -> Iterator[None]:
    language.use("de")
    yield
    language.use("en")


@pytest.mark.usefixtures("german")
def test_a_title_is_translated_once(window: Window, qtbot: QtBot):
    # Symptom: "Profiles" became "Profile", and that, which is English for one of them, "Profil".
    window.retranslate()
    page = window.place("keys")
    assert isinstance(page, KeysPage)
    titles = {card.title.text() for card in page.findChildren(Card)}
    assert {"Profile", "Datensätze", "Überall"} <= titles
