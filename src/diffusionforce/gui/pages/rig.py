"""The Rig place: cards, what to do, how everything is connected, the speed test, and the machine around."""

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QGridLayout, QStackedWidget, QVBoxLayout

from diffusionforce.gui import background
from diffusionforce.gui.model import rig_words, words
from diffusionforce.gui.model.language import noted, tr
from diffusionforce.gui.pages.page import Header, Page
from diffusionforce.gui.pages.rig_graphics import GraphicsCardView, fact_grid
from diffusionforce.gui.pages.rig_speed import SpeedCard
from diffusionforce.gui.rig_watch import RigWatch, Vitals
from diffusionforce.gui.widgets.buttons import Button
from diffusionforce.gui.widgets.cards import Card
from diffusionforce.gui.widgets.labels import Elided, Icon, Label
from diffusionforce.gui.widgets.layout import clear, column, hairline, holder, row, scrolling
from diffusionforce.gui.widgets.link_map import LinkMap
from diffusionforce.gui.widgets.notices import Empty, Finding
from diffusionforce.rig import Finding as RigFinding
from diffusionforce.rig import Machine, RigReport, advise, last_speed_test, text_report
from diffusionforce.wire.speed import SpeedTest

CARDS_A_ROW = 2
SPEED_PX, SPEED_COMPACT_PX = 430, 360
TONES = {"problem": "err", "warning": "warn", "note": "info", "good": "ok"}
ORDER = ("problem", "warning", "note", "good")
QWIDGETSIZE_MAX = 16_777_215
COPIED_MS = 2500
BUSY = "A run goes on: it would be slowed down, and the test would measure too little."


class RigPage(Page):
    """Shows what was found out about the machine.

    Args:
        watch: Looks at the machine.
        is_training: Tells whether a run goes on, during which nothing is measured.
    """

    def __init__(self, watch: RigWatch, is_training: Callable[[], bool]) -> None:
        super().__init__()
        self._watch, self._is_training = watch, is_training
        self._asked = False
        self.test: SpeedTest | None = None
        self.graphics: list[GraphicsCardView] = []
        self.header = Header("Rig", "Looking at the machine")
        self.copy = Button("Copy report", "copy", tip="Without your name and your folders")
        self.copy.clicked.connect(self._copy)
        self.again = Button("Look again", "refresh")
        self.again.clicked.connect(self._look)
        self.measure = Button("Run speed test", "bolt", kind="primary")
        self.measure.clicked.connect(self._measure)
        self.header.add_actions(self.copy, self.again, self.measure)
        self.speed = SpeedCard()
        self.speed.changed.connect(self._show_buttons)
        self.speed.measured.connect(self._on_measured)
        self.map = LinkMap()
        self._map_card = Card("How the cards are connected").add(self.map, None)
        self._cards, self._advice, self._machine = (QVBoxLayout() for _ in range(3))
        self._cards.setSpacing(14)
        self._loading = Empty("rig", "Looking at the machine", "Driver, cards, memory and disk are read.")
        self._stack = QStackedWidget()
        self._build()
        watch.examined.connect(self._on_examined)
        watch.read.connect(self._on_read)
        if watch.report is not None:
            self._on_examined(watch.report)

    def _build(self) -> None:
        self._lower = row((self._map_card, 1), (self.speed, 0), gap=14)
        content = holder(column(self._cards, self._advice, self._lower, self._machine, None, gap=14))
        self._stack.addWidget(self._loading)
        self._stack.addWidget(scrolling(content, name="clear"))
        self.body.addWidget(self.header)
        self.body.addWidget(self._stack, 1)
        self._fit_speed()
        self._show_buttons()

    def shown(self) -> None:
        """Ask PyTorch too, the first time that somebody looks."""
        self._show_buttons()
        if not self._asked:
            background.run(self, last_speed_test, done=self._on_known, failed=lambda _error: None)
            self._look()

    def let_go(self) -> None:
        """End a test that is under way, because the window closes."""
        self.speed.cancel()

    def _look(self) -> None:
        self._asked = True
        self.again.allow(False, reason="Looking at the machine")
        self._watch.examine(ask_torch=True)

    def _measure(self) -> None:
        if not self._is_training():
            self.speed.start()

    def _show_buttons(self) -> None:
        reason = "The test is running." if self.speed.is_running else BUSY if self._is_training() else ""
        self.measure.allow(not reason, reason=reason)
        self.copy.allow(self._watch.report is not None, reason="Looking at the machine")

    def _on_known(self, test: SpeedTest | None) -> None:
        if self.test is None:
            self.test = test
            self._show()

    def _on_measured(self, test: SpeedTest) -> None:
        self.test = test
        self._show()

    def _on_examined(self, report: RigReport) -> None:
        if report.torch is not None:
            self.again.allow(True)
        self._stack.setCurrentIndex(1)
        self._show_buttons()
        self._show()

    def _on_read(self, vitals: Vitals) -> None:
        """Take the readings of this second."""
        if self.isVisible():
            by_index = {reading.index: reading for reading in vitals.cards}
            for card, view in zip(self._watch.report.cards if self._watch.report else (), self.graphics, strict=False):
                if card.index in by_index:
                    view.show_reading(by_index[card.index])
            self._show_buttons()

    def _show(self) -> None:
        report = self._watch.report
        if report is None:
            return
        self.header.set_title("Rig", tr(rig_words.summary(report)))
        findings = self._findings(report)
        clear(self._cards)
        self.graphics = [
            GraphicsCardView(card, report.cards, test=self.test, hints=rig_words.num_hints(card, findings))
            for card in report.cards
        ]
        for start in range(0, len(self.graphics), CARDS_A_ROW):
            views = self.graphics[start : start + CARDS_A_ROW]
            self._cards.addLayout(row(*((view, 1) for view in views), gap=14))
        clear(self._advice)
        self._advice.addWidget(self._advice_card(report, findings))
        processor = report.machine.processor.partition(" w/")[0] or report.machine.system
        memory = f"{words.round_size(report.machine.ram_total_bytes)} RAM"
        free = f"{words.size(report.machine.ram_available_bytes)} free"
        self.map.show_lines((processor, " · ".join((memory, free))), rig_words.link_lines(report, self.test))
        self._map_card.setVisible(bool(report.cards))
        self._fit_speed()
        self.speed.show_test(self.test, report.cards)
        clear(self._machine)
        self._machine.addWidget(_machine_card(report.machine))

    def _findings(self, report: RigReport) -> list[RigFinding]:
        measured = advise(self.test, cards=report.cards) if self.test is not None else ()
        return sorted([*report.findings, *measured], key=lambda finding: ORDER.index(finding.severity))

    @staticmethod
    def _advice_card(report: RigReport, findings: list[RigFinding]) -> Card:
        card = Card("Advice", "what would make training better on this machine", gap=2)
        lines = [
            Finding(TONES[finding.severity], finding.sentence, finding.hint, wrap=True)
            for finding in findings
            if finding.severity != "good"
        ]
        if report.torch is None:
            lines.append(Finding("info", "PyTorch is being asked what it can do here", "This takes some seconds."))
        for i, line in enumerate(lines):
            card.add(*((hairline(),) if i else ()), line)
        good = [finding for finding in findings if finding.severity == "good"]
        if lines and good:
            card.add(hairline())
        return card.add(_fine(good))

    def _copy(self) -> None:
        report = self._watch.report
        if report is not None:
            QApplication.clipboard().setText(text_report(report, test=self.test))
            self.copy.set_text("Copied", icon="check")
            QTimer.singleShot(COPIED_MS, self.copy, lambda: self.copy.set_text("Copy report", icon="copy"))

    def _fit_speed(self) -> None:
        """Without cards there is no map, and the test has the whole width."""
        has_map = self._watch.report is None or bool(self._watch.report.cards)
        width = SPEED_COMPACT_PX if self.compact else SPEED_PX
        self.speed.setMinimumWidth(width)
        self.speed.setMaximumWidth(width if has_map else QWIDGETSIZE_MAX)

    def set_compact(self, compact: bool) -> None:
        """Narrow the speed test in a narrow window."""
        super().set_compact(compact)
        self._fit_speed()


def _fine(findings: list[RigFinding]) -> QGridLayout:
    """Return what works in two columns of small print: it reassures, and needs nothing done."""
    grid = QGridLayout()
    grid.setContentsMargins(0, 8, 0, 0)
    grid.setHorizontalSpacing(24)
    grid.setVerticalSpacing(8)
    for i, finding in enumerate(findings):
        line = row(gap=12)
        line.addWidget(Icon("ok", "ok", 18), 0, Qt.AlignmentFlag.AlignTop)
        text = Label(f"{finding.sentence} {finding.hint}".strip(), "small", wrap=True)
        text.setAccessibleName(f"{tr('Fine')}: {tr(finding.sentence)}")
        line.addWidget(text, 1, Qt.AlignmentFlag.AlignTop)
        grid.addLayout(line, i // 2, i % 2)
        grid.setColumnStretch(i % 2, 1)
    return grid


def _machine_card(machine: Machine) -> Card:
    box = Card(gap=10)
    facts = [
        ("System", machine.system),
        (noted("Cores"), f"{machine.num_cores}, {machine.num_threads} threads"),
        ("RAM", f"{words.size(machine.ram_available_bytes)} of {words.size(machine.ram_total_bytes)} free"),
        (noted("Disk"), f"{words.size(machine.disk_free_bytes)} free"),
        ("Python", machine.python_version),
        ("Folder", machine.disk_path),
    ]
    name = Elided(machine.processor or machine.system)
    told = [(name, Elided(tr(value))) for name, value in facts]
    return box.add(row(Label("CPU", "strong"), (name, 1)), fact_grid(told))
