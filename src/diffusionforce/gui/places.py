"""The places of the window, each loaded and built when it is first asked for.

Together they are half of what a start would have to do, and nobody opens all of them at once. So no page is imported
at the top of this module, and what a page asks of the window is wired here, beside its making. Once the window is
there, `load` fetches their code on a thread, so that the first click on a place waits for less.
"""

# ruff: noqa: PLC0415 - loading late is what this module is for.

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from diffusionforce.gui.pages.page import Page

if TYPE_CHECKING:
    from diffusionforce.gui.pages.run import RunPlace
    from diffusionforce.gui.shell import Window

    Place: TypeAlias = Page | RunPlace


def build(key: str, window: "Window") -> "Place":
    """Build a place.

    Args:
        key: Its name in the sidebar, or `welcome` for the first steps.
        window: Whose place it is. It does what the place asks for.
    """
    return _BUILDERS[key](window)


def is_lasting(key: str) -> bool:
    """Whether there is such a place, and a window can begin in it because another one was closed there."""
    return key in _BUILDERS and key != "welcome"


def load() -> None:
    """Load the code of all places; nothing is built. For a thread, while the window has nothing else to do."""
    for name in ("datasets", "profiles", "profile_editor", "settings", "rig", "history", "gallery", "run_live"):
        importlib.import_module(f"diffusionforce.gui.pages.{name}")


def _run(window: "Window") -> "RunPlace":
    from diffusionforce.gui.pages.rig_cards import memory_total_bytes
    from diffusionforce.gui.pages.run import RunPlace

    place = RunPlace(window.preferences, window.store, ram_bytes=memory_total_bytes(window.watch.report))
    place.start_asked.connect(window.ask_to_start)
    place.enqueue_asked.connect(window.enqueue)
    place.gallery_asked.connect(window.show_gallery)
    place.run_asked.connect(window.show_run)
    place.open_asked.connect(window.open_run)
    place.failed.connect(lambda error: window.notices.say("err", error.sentence, error.hint))
    place.other_again_asked.connect(window.run_again)
    place.other_gallery_asked.connect(window.open_in_gallery)
    place.planner.standing_changed.connect(window.show_line)
    place.planner.place_asked.connect(window.go)
    place.currentChanged.connect(window.show_line)
    if window.watch.report is not None:
        place.show_report(window.watch.report)
    place.note_queue(next_waits=window.queue.starts_next)
    return place


def _gallery(window: "Window") -> Page:
    from diffusionforce.gui.pages.gallery import GalleryPage

    page = GalleryPage(window.store, window.preferences, window.trash)
    page.run_asked.connect(window.plan_run)
    page.when_complete(lambda: page.show_current(window.session))
    return page


def _datasets(window: "Window") -> Page:
    from diffusionforce.gui.pages.datasets import DatasetsPage

    page = DatasetsPage(window.preferences, window.store)
    page.train_asked.connect(window.train_with)
    return page


def _profiles(window: "Window") -> Page:
    from diffusionforce.gui.pages.profiles import ProfilesPage

    page = ProfilesPage(window.preferences, is_training=window.is_training)
    page.use_asked.connect(window.use_profile)
    return page


def _history(window: "Window") -> Page:
    from diffusionforce.gui.pages.history import HistoryPage

    page = HistoryPage(window.store, window.queue, window.trash, window.preferences)
    page.show_session(window.session)
    page.open_asked.connect(window.open_run)
    page.gallery_asked.connect(window.open_in_gallery)
    page.start_asked.connect(window.ask_to_start)
    page.queue_asked.connect(window.start_queue)
    page.run_asked.connect(window.plan_run)
    page.report_asked.connect(window.reports.collect)
    page.deleted.connect(window.forget_run)
    return page


def _rig(window: "Window") -> Page:
    from diffusionforce.gui.pages.rig import RigPage

    return RigPage(window.watch, window.is_going)


def _settings(window: "Window") -> Page:
    from diffusionforce.gui.pages.settings import SettingsPage

    page = SettingsPage(window.preferences, window.watch, is_training=window.is_training)
    page.language_changed.connect(window.retranslate)
    page.first_steps_asked.connect(lambda: window.go("welcome"))
    page.environment_asked.connect(lambda: window.go("environment"))
    page.keys_asked.connect(lambda: window.go("keys"))
    return page


def _environment(window: "Window") -> Page:
    from diffusionforce.gui.pages.environment import EnvironmentPage

    page = EnvironmentPage(window.environment, is_training=window.is_training)
    page.back_asked.connect(lambda: window.go("settings"))
    page.run_asked.connect(window.plan_run)
    return page


def _keys(window: "Window") -> Page:
    from diffusionforce.gui.pages.keys import KeysPage

    page = KeysPage()
    page.back_asked.connect(lambda: window.go("settings"))
    return page


def _welcome(window: "Window") -> Page:
    from diffusionforce.gui.pages.welcome import WelcomePage

    page = WelcomePage(window.preferences, window.store, window.watch, window.environment)
    page.start_asked.connect(window.start_demo)
    page.gallery_asked.connect(window.show_gallery)
    page.rig_asked.connect(lambda: window.go("rig"))
    page.left.connect(window.leave_welcome)
    page.when_complete(lambda: page.allow_demo(not window.is_training()))
    return page


_BUILDERS: dict[str, Callable[["Window"], "Place"]] = {
    "run": _run,
    "gallery": _gallery,
    "datasets": _datasets,
    "profiles": _profiles,
    "history": _history,
    "rig": _rig,
    "settings": _settings,
    "environment": _environment,
    "keys": _keys,
    "welcome": _welcome,
}
