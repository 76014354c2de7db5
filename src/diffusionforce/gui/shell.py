"""The window: sidebar, one place at a time, the rig strip. It composes, and hands on; the places know the rest."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from diffusionforce.gui import icons, places
from diffusionforce.gui.closing import Closing
from diffusionforce.gui.environment_desk import EnvironmentDesk
from diffusionforce.gui.file_notices import FileNotices
from diffusionforce.gui.model import strip_words, words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.outcome import Outcome
from diffusionforce.gui.notice_bar import NoticeBar
from diffusionforce.gui.pages.page import COMPACT_PX, Page
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.queue_desk import QueueDesk
from diffusionforce.gui.report_desk import ReportDesk
from diffusionforce.gui.rig_watch import RigWatch, Vitals
from diffusionforce.gui.run_desk import Clash, RunDesk
from diffusionforce.gui.run_progress import RunProgress
from diffusionforce.gui.run_trash import RunTrash
from diffusionforce.gui.session import RunSession
from diffusionforce.gui.sidebar import Sidebar
from diffusionforce.gui.strip import RigStrip
from diffusionforce.gui.system_notice import SystemNotice
from diffusionforce.gui.widgets.announce import announce
from diffusionforce.gui.widgets.focus import FocusTracker
from diffusionforce.gui.widgets.tab_order import move_focus
from diffusionforce.job import Job
from diffusionforce.rig import RigReport
from diffusionforce.runs import QueuedRun

if TYPE_CHECKING:
    from diffusionforce.gui.pages.datasets import DatasetsPage
    from diffusionforce.gui.pages.gallery import GalleryPage
    from diffusionforce.gui.pages.history import HistoryPage
    from diffusionforce.gui.pages.rig import RigPage
    from diffusionforce.gui.pages.run import RunPlace
    from diffusionforce.gui.pages.welcome import WelcomePage
    from diffusionforce.gui.places import Place

USUAL_SIZE = QSize(1440, 900)
MIN_SIZE = QSize(1100, 720)


class Window(QWidget):
    """The main window.

    Attributes:
        runs: Holds the run of the window.
        closing: Says what becomes of the run when the window closes.
    """

    def __init__(self, preferences: Preferences, *, watch: RigWatch | None = None, place: str = "run") -> None:
        """Build the window.

        Args:
            preferences: What is remembered between two starts.
            watch: Looks at the machine; None makes one.
            place: What to open first.
        """
        super().__init__()
        self.setObjectName("root")
        self.setWindowTitle("DiffusionForce")
        self.setWindowIcon(icons.app_icon())
        self.setMinimumSize(MIN_SIZE)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.preferences = preferences
        self.environment = EnvironmentDesk(self)
        self.runs = RunDesk(preferences, self)
        self.store = PictureStore(self)
        self.queue, self.trash = QueueDesk(self), RunTrash(self)
        self.watch = watch or RigWatch(self)
        self.sidebar, self.strip = Sidebar(), RigStrip()
        self.places = QStackedWidget()
        self._built: dict[str, Place] = {}
        self.progress = RunProgress(self)
        self.system_notice = SystemNotice(self, preferences)
        self.system_notice.clicked.connect(self.show_run)
        self.notices = NoticeBar()
        FileNotices(self).said.connect(lambda sentence, hint: self.notices.say("warn", sentence, hint))
        self.closing = Closing(self.runs, self.notices, self)
        self.closing.close_asked.connect(self.close)
        self.runs.taken.connect(self._on_taken)
        self.runs.looked.connect(self._on_looked)
        self.runs.changed.connect(self._on_changed)
        self.runs.ended.connect(self._on_ended)
        self.runs.said.connect(self.notices.say)
        self.runs.clashed.connect(self._ask_about_other)
        self.reports = ReportDesk(self.notices, self)
        self._lay_out()
        self.sidebar.chosen.connect(self._on_chosen)
        self.strip.run_asked.connect(self._on_line_clicked)
        self.strip.rig_asked.connect(lambda: self.go("rig"))
        self.queue.start_asked.connect(self._start_queued)
        self.queue.changed.connect(self._show_queue)
        self.queue.failed.connect(lambda error: self.notices.say("err", error.sentence, error.hint))
        self.trash.failed.connect(lambda error: self.notices.say("err", error.sentence, error.hint))
        self._show_queue()
        self.environment.changed.connect(lambda: self.progress.show_environment(self.environment.view))
        self.environment.settled.connect(lambda: self.watch.examine(ask_torch=True))
        self.watch.read.connect(self._on_vitals)
        self.watch.examined.connect(self._on_examined)
        self._restore_geometry()
        self.go(place)

    def _lay_out(self) -> None:
        content = QVBoxLayout()
        content.setSpacing(0)
        content.addWidget(self.notices)
        content.addWidget(self.places, 1)
        content.addWidget(self.strip)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.sidebar)
        layout.addLayout(content, 1)

    def _restore_geometry(self) -> None:
        geometry = self.preferences.geometry
        if geometry is None or not self.restoreGeometry(geometry):
            available = self.screen().availableSize()
            self.resize(USUAL_SIZE.boundedTo(available).expandedTo(MIN_SIZE))

    @property
    def run_place(self) -> "RunPlace":
        """The Run place."""
        return cast("RunPlace", self.place("run"))

    @property
    def gallery(self) -> "GalleryPage":
        """The Gallery place."""
        return cast("GalleryPage", self.place("gallery"))

    def _ask_gallery(self, deed: Callable[["GalleryPage"], object]) -> None:
        """Do something with the Gallery place, as soon as it is complete."""
        page = cast("GalleryPage", self._begun("gallery"))
        page.when_complete(lambda: deed(page))

    @property
    def here(self) -> str:
        """The place in sight."""
        return next((key for key, page in self._built.items() if page is self.places.currentWidget()), "run")

    def place(self, key: str) -> "Place":
        """Return a place, complete."""
        page = self._begun(key)
        if isinstance(page, Page):
            page.complete()
        return page

    def _begun(self, key: str) -> "Place":
        """Return a place, begun when it is first asked for: its parts come while the window goes on."""
        if key not in self._built:
            page = places.build(key, self)
            page.set_compact(self._is_compact())
            self._built[key] = page
            self.places.addWidget(page)
        return self._built[key]

    @property
    def session(self) -> RunSession | None:
        """The run of the window: the last one that was started or opened."""
        return self.runs.session

    def start_demo(self, job: Job) -> None:
        """Start the demo of the first steps, which follow it themselves."""

        def start() -> None:
            session = None if self.is_training() else self.runs.start(job, opens=False)
            if session is not None:
                cast("WelcomePage", self.place("welcome")).show_session(session)

        self.runs.ask_to_start(start)

    def leave_welcome(self, place: str, folder: str) -> None:
        """Go from the first steps to a place, with the profile and the dataset that were chosen in them."""
        page = cast("WelcomePage", self.place("welcome"))
        if page.profile:
            self.run_place.plan.choose_profile(page.profile)
        if place == "run" and page.profile:
            self.plan_run()  # Not the demo, which may have been the last run.
        else:
            self.go(place)
        if folder:
            datasets = cast("DatasetsPage", self._begun("datasets"))
            datasets.when_complete(lambda: datasets.choose(folder))

    def retranslate(self) -> None:
        """Build the places anew in another language; what goes on in them is kept outside of them."""
        here = self.here
        self.sidebar.retranslate()
        self.trash.finish_all()  # What could bring a run back goes with its page.
        for page in self._built.values():
            self.places.removeWidget(page)
            page.hide()
            page.deleteLater()
        self._built.clear()
        if self.session is not None:
            self.run_place.show_session(self.session)
            self._on_changed()
        self.go(here)

    def go(self, key: str) -> None:
        """Open a place."""
        page = self._begun(key)
        is_framed = key != "welcome"
        self.sidebar.setVisible(is_framed)
        self.strip.setVisible(is_framed)
        if is_framed:
            self.sidebar.choose("settings" if key == "environment" else key)
        self.places.setCurrentWidget(page)
        page.opened()
        self.show_line()
        here = QApplication.focusWidget()
        if here is None or not self.sidebar.isAncestorOf(here):  # Who goes through the places with keys stays there.
            self.setFocus()

    def prepare_run(self) -> None:
        """Have plan and face of a run built before somebody asks for them."""
        self._begun("run")
        self.run_place.prepare()

    def start_run(self, job: Job) -> None:
        """Start a trainer and show its run."""
        self.runs.start(job)

    def ask_to_start(self, job: Job) -> None:
        """Start a run, or ask first where another one trains outside of this window."""
        self.runs.ask_to_start(lambda: self.start_run(job), wait=lambda: self.enqueue(job))

    def start_queue(self) -> None:
        """Start the run that waits first, or ask first where another one trains outside of this window."""

        def wait() -> None:
            self.queue.hold(False)
            self.go("history")

        self.runs.ask_to_start(self.queue.start_next, wait=wait)

    def _ask_about_other(self, clash: Clash) -> None:
        """Ask whether a run is to start although another one trains outside of this window."""
        root, wait = clash.other.root, clash.wait

        def wait_for_it() -> None:
            self.runs.open(root)  # Followed here, its end starts the queue.
            if wait is not None:
                wait()

        self.notices.ask_about_other(
            clash.other.title,
            waits=None if wait is None else wait_for_it,
            starts=clash.start,
            shows=lambda: self.open_run(root),
        )

    def enqueue(self, job: Job) -> None:
        """Let a run wait for its turn."""
        self.queue.add(job)
        self.go("history")

    def run_again(self, job: Job) -> None:
        """Start a run that was looked at again: after the one that goes on, where one does."""
        if self.is_going():
            self.enqueue(job)
        else:
            self.ask_to_start(job)

    def _start_queued(self, run: QueuedRun) -> None:
        """Start a run that has waited; the page that is open stays open."""
        before = self.session
        ended = before.model.outcome if before is not None and before.is_own else None
        title, root = (before.title, before.root) if before is not None else ("", Path())
        session = self.runs.start(run.job, opens=False)
        if session is None:
            self.queue.put_back(run)
        elif ended is not None:
            self._tell_of_next(title, ended, root, now=session.title)

    def _tell_of_next(self, title: str, ended: Outcome, root: Path, *, now: str) -> None:
        """Say that the queue went on; a run that came to grief is a warning, with its reason and the way to it."""
        told = tr("{name}: {ended}. Now: {next}").format(name=title, ended=tr(ended.word).lower(), next=now)
        text = "The next run of the queue has started by itself."
        if ended.tone == "err":
            self.notices.say("warn", told, f"{ended.sentence} {text}".strip(), shows=lambda: self.open_run(root))
        else:
            self.notices.say("info", told, text)

    def _show_queue(self) -> None:
        waiting = len(self.queue.runs)
        self.sidebar.set_badge("history", str(waiting) if waiting else "")
        if "run" in self._built:
            self.run_place.note_queue(next_waits=self.queue.starts_next)

    def open_run(self, path: Path) -> None:
        """Show the run in a folder, also while another one goes on; a folder that holds none is said in a banner."""
        if self.session is not None and not self.session.is_over and self.session.root == path:
            self.show_run()
            return
        self.runs.open(path)

    def _on_taken(self, session: RunSession, opens: bool) -> None:
        if session.model.job is not None and session.model.job.resume is not None:
            self.trash.keep(session.model.job.resume)
        is_elsewhere = self.run_place.shows_plan or self.run_place.shows_other
        is_busy = is_elsewhere and self.places.currentWidget() is self.run_place
        self.run_place.show_session(session, opens=opens or not is_busy)
        if "gallery" in self._built:
            self._ask_gallery(lambda page: page.show_current(self.session))
        if "history" in self._built:
            cast("HistoryPage", self._built["history"]).show_session(session)
        if opens:
            self.go("run")
        self._on_changed()

    def _on_looked(self, session: RunSession) -> None:
        self.run_place.show_other(session)
        self.go("run")

    def is_going(self) -> bool:
        """Whether the run of the window goes on, whoever trains it."""
        return self.runs.is_going

    def is_training(self) -> bool:
        """Whether a trainer of the window's own is at work."""
        return self.runs.is_training

    def _on_changed(self) -> None:
        assert self.session is not None
        model = self.session.model
        going = model.outcome is None and model.step > 0
        share = words.percent(model.share) if going else ""
        self.sidebar.set_badge("run", share, tone="warn" if model.is_paused else "ok")
        self.run_place.plan.show_going(self.session.title if self.is_going() else "", is_paused=model.is_paused)
        self.show_line()
        self.progress.show(model)
        self.setWindowTitle(strip_words.window_title(self.session.title, model))
        self.watch.watches_links = self.is_going()

    def show_line(self) -> None:
        """Say in the strip what goes on: the run of the window, or whether the plan could start."""
        model = self.session.model if self.session is not None else None
        if self.session is not None and model is not None and model.outcome is None:
            line = strip_words.of_run(self.session.title, model, compact=self._is_compact())
        else:
            place = self.run_place if "run" in self._built else None
            is_open = place is not None and place.shows_plan and self.places.currentWidget() is place
            standing = place.planner.standing if place is not None and is_open else None
            line = strip_words.of_plan(standing, ended=None if is_open else model)
        self.strip.show_line(line)

    def _on_ended(self) -> None:
        self._on_changed()
        QApplication.alert(self)
        if self.session is not None and self.session.was_going and self.session.model.outcome is not None:
            self.system_notice.tell(self.session.title, self.session.model.outcome)
            announce(self, f"{self.session.title}: {tr(self.session.model.outcome.title)}")
        if self.closing.awaits_stop:
            self.close()
        elif self.session is not None and self.session.was_going and self.session.model.outcome is not None:
            self.queue.run_ended(self.session.model.outcome)

    def _on_vitals(self, vitals: Vitals) -> None:
        self.strip.show_vitals(vitals)
        if "run" in self._built:
            self.run_place.show_vitals(vitals)

    def _on_examined(self, report: RigReport) -> None:
        if "run" in self._built:
            self.run_place.show_report(report)

    def plan_run(self) -> None:
        """Open the plan for the next run, which waits in the queue where one goes on."""
        self.go("run")
        self.run_place.show_plan()

    def show_run(self) -> None:
        """Open the run of the window; the plan where there is none."""
        if self.session is not None:
            self.run_place.show_run()
        self.go("run")

    def _on_line_clicked(self) -> None:
        """Open what the strip tells of: the run of the window, unless it tells of the plan that is in sight."""
        if self.is_going() or not (self.run_place.shows_plan and self.places.currentWidget() is self.run_place):
            self.show_run()

    def _on_chosen(self, key: str) -> None:
        """Open a place; the way to Run leads to the run that goes on, also from the plan of another."""
        if key == "run" and self.is_going():
            self.show_run()
        else:
            self.go(key)

    def train_with(self, folder: str) -> None:
        """Plan a run with a dataset."""
        self.plan_run()
        self.run_place.plan.choose_dataset(folder)

    def use_profile(self, name: str) -> None:
        """Plan a run with a profile."""
        self.plan_run()
        self.run_place.plan.choose_profile(name)

    def show_gallery(self) -> None:
        """Open the gallery on the run of the window."""
        self._ask_gallery(lambda page: page.show_current(self.session))
        self.go("gallery")

    def open_in_gallery(self, path: Path) -> None:
        """Open the gallery on a run that was."""
        self.go("gallery")
        self._ask_gallery(lambda page: page.open_run(path))

    def forget_run(self, path: Path) -> None:
        """Let go of the files of a run that goes to the trash."""
        if "gallery" in self._built:
            self._ask_gallery(lambda page: page.forget(path))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask first while a trainer of ours runs; remember place and size."""
        if not self.closing.may_close():
            event.ignore()
            return
        self.preferences.geometry = self.saveGeometry()
        self._remember_place()
        self.preferences.save()
        self.closing.let_go()
        self.trash.finish_all()
        if "gallery" in self._built:
            self.gallery.let_go()
        if "rig" in self._built:
            cast("RigPage", self._built["rig"]).let_go()
        super().closeEvent(event)

    def _remember_place(self) -> None:
        """Write down what the next window opens on: a run that goes on without this one, else what is in sight."""
        if self.session is not None and self.is_going():
            self.preferences.remember_place("run", run=self.session.root)
        else:
            self.preferences.remember_place(self.here, run=self.run_place.shown_run if self.here == "run" else None)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Go through the window with Tab as it is laid out."""
        return move_focus(self, forward=forward) or super().focusNextPrevChild(forward)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close the top message with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.notices.forget()
        super().keyPressEvent(event)

    def _is_compact(self) -> bool:
        return self.width() < COMPACT_PX

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Turn the sidebar into a rail in a narrow window, and tell the places."""
        super().resizeEvent(event)
        compact = self._is_compact()
        self.sidebar.set_rail(compact)
        self.show_line()
        for page in self._built.values():
            page.set_compact(compact)

    def showEvent(self, event: QShowEvent) -> None:
        """Start looking at the machine once there is something to show it in."""
        super().showEvent(event)
        native = self.windowHandle()
        if native is not None and native.findChild(FocusTracker) is None:
            FocusTracker(native)
        if self.watch.report is None and self.watch.vitals is None:
            self.watch.start()
