"""The window stays smooth: how long turns of its event loop take with a large gallery and with fast telemetry."""

import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot
from tests.gui import recorded

from diffusionforce.gui import places
from diffusionforce.gui.pages.history import FIRST_SHOWN, HistoryPage
from diffusionforce.gui.pages.page import Page
from diffusionforce.gui.pages.profiles import ProfilesPage
from diffusionforce.gui.shell import Window
from diffusionforce.gui.widgets.sample_layout import Cell
from diffusionforce.job import Job
from diffusionforce.runs import RunFolder, runs_root
from diffusionforce.wire import Sample, encode

LIMIT_MS = 30.0
READING_LIMIT_MS = 75.0
"""While a run is read, nobody moves anything; it is a matter of seconds."""
OPENING_LIMIT_S = 1.0
"""That the window's thread may compute until a place which reads files shows what is in them: half of it where nothing
else is at work; cores that others share are slower."""
OPENING_TURN_LIMIT_MS = 100.0
"""For one turn while a place is built; half of it where nothing else is at work."""
NUM_RUNS = 40
NUM_PROMPTS, NUM_STEPS = 40, 250
RECORDS_PER_S = 2000
WAIT_MS = 60_000


class Turns:
    """Measures how long the event loop is busy at a time, by a timer that wants to be called at once, always.

    What counts is the time that the window's thread computes: on a computer that is busy with other things a turn takes
    as long as these let it. The time by the clock is told beside it.
    """

    def __init__(self) -> None:
        self.ms: list[float] = []
        self.clock_ms: list[float] = []
        self._last_s, self._last_clock_s = 0.0, 0.0
        self._timer = QTimer()
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._tick)

    def __enter__(self) -> "Turns":
        self._last_s, self._last_clock_s = time.thread_time(), time.perf_counter()
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        now_s, clock_s = time.thread_time(), time.perf_counter()
        self.ms.append(1000 * (now_s - self._last_s))
        self.clock_ms.append(1000 * (clock_s - self._last_clock_s))
        self._last_s, self._last_clock_s = now_s, clock_s

    @property
    def slowest_percent_ms(self) -> float:
        """The time that 99 of 100 turns keep to."""
        return statistics.quantiles(self.ms, n=100)[98]

    def tell(self, what: str) -> None:
        """Say what was measured, whether or not the test passes."""
        worst = max(self.ms)
        share = f"99 % of {len(self.ms):,} turns take less than {self.slowest_percent_ms:.1f} ms"
        clock = statistics.quantiles(self.clock_ms, n=100)[98]
        words = f"{what}: {share}, the longest {worst:.0f} ms; by the clock {clock:.1f} ms"
        print(words)  # noqa: T201 - the measurement is for people, too.


@pytest.fixture
def large_run(tmp_path: Path) -> RunFolder:
    """A run with ten thousand samples, each a file of its own."""
    folder = recorded.run_folder(tmp_path / "run", end="done")
    prompts = [f"LoRAnne, waving, picture {index}, on a beach with a palm tree" for index in range(NUM_PROMPTS)]
    for index in range(NUM_PROMPTS):
        recorded.picture(folder.root / f"samples/original-{index}.png", seed=index, share=0.5)
    told = []
    for step in range(NUM_STEPS):
        for index, prompt in enumerate(prompts):
            path = f"samples/{step}-{index}.png"
            (folder.root / path).hardlink_to(folder.root / f"samples/original-{index}.png")
            told.append(
                Sample(
                    step=step,
                    prompt_index=index,
                    num_prompts=NUM_PROMPTS,
                    prompt=prompt,
                    seed=7,
                    path=path,
                    seconds=1,
                )
            )
    lines = folder.telemetry_path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"kind":"sample"' not in line]
    folder.telemetry_path.write_bytes(b"".join([*kept[:-1], *map(encode, told), kept[-1]]))
    folder.job_path.unlink()
    return folder


def test_ten_thousand_samples_scroll_smoothly(window: Window, qtbot: QtBot, large_run: RunFolder):
    window.open_run(large_run.root)
    with Turns() as reading:
        qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
    session, gallery = window.session, window.gallery
    assert session is not None
    with Turns() as scrolling:
        window.go("gallery")
        assert session.model.samples.num_samples == NUM_PROMPTS * NUM_STEPS
        across, down = gallery.grid.horizontalScrollBar(), gallery.grid.verticalScrollBar()
        assert across.maximum() > 20_000 and down.maximum() > 2000
        for index in range(240):
            across.setValue(across.maximum() * index // 240)
            down.setValue(down.maximum() * (index % 40) // 40)
            if index % 6 == 0:
                gallery.grid.choose(Cell(index % NUM_PROMPTS, index % NUM_STEPS))
            qtbot.wait(16)
    reading.tell("Reading a run with 10,000 samples")
    scrolling.tell("Scrolling through 10,000 samples")
    assert scrolling.slowest_percent_ms < LIMIT_MS
    assert reading.slowest_percent_ms < READING_LIMIT_MS


def is_filled(page: Page) -> bool:
    return len(page.past_rows) == FIRST_SHOWN if isinstance(page, HistoryPage) else cast(ProfilesPage, page).is_filled


@pytest.mark.parametrize("place", ["history", "profiles"])
def test_a_place_that_reads_files_is_soon_there(window: Window, qtbot: QtBot, tmp_path: Path, place: str):
    # Symptom: Profiles and Queue showed "This takes a moment" for three seconds after each start.
    first = recorded.run_folder(tmp_path / "run", end="done", steps=30)
    for number in range(NUM_RUNS):
        shutil.copytree(first.root, runs_root() / f"2026-01-02-1000{number:02d}-pocket-demo")
    began_s, clock_s = time.thread_time(), time.perf_counter()
    window.go(place)
    page = window.place(place)
    assert isinstance(page, HistoryPage | ProfilesPage)
    qtbot.waitUntil(lambda: is_filled(page), timeout=WAIT_MS)
    spent_s, waited_s = time.thread_time() - began_s, time.perf_counter() - clock_s
    print(f"Opening {place}: {1000 * spent_s:.0f} ms of work, there after {1000 * waited_s:.0f} ms")  # noqa: T201
    assert spent_s < OPENING_LIMIT_S


def test_the_plan_is_built_while_somebody_takes_the_first_steps(window: Window, qtbot: QtBot):
    # Symptom: leaving the first steps held the window up for 140 ms.
    places.load()  # As each start does it on a thread, before anything is prepared.
    window.go("welcome")
    window.retranslate()  # All places are built anew when they are asked for.
    assert window.places.currentWidget() is window.place("welcome")
    with Turns() as turns:
        window.prepare_run()
        qtbot.waitUntil(lambda: window.run_place.is_prepared, timeout=WAIT_MS)
    assert window.run_place.planner.is_complete
    print(f"Building plan and run: the longest turn takes {max(turns.ms):.0f} ms")  # noqa: T201
    assert max(turns.ms) < OPENING_TURN_LIMIT_MS


@pytest.mark.parametrize(
    "place", ["gallery", "datasets", "profiles", "history", "rig", "settings", "environment", "keys", "welcome"]
)
def test_a_place_is_built_while_the_window_goes_on(window: Window, qtbot: QtBot, place: str):
    # Symptom: the first click on Datasets held the window up for 190 ms, and first steps for 220.
    places.load()
    qtbot.wait(200)
    with Turns() as turns:
        began_s = time.thread_time()
        window.go(place)
        first_ms = 1000 * (time.thread_time() - began_s)
        page = window.places.currentWidget()
        assert isinstance(page, Page)
        qtbot.waitUntil(lambda: page.is_complete, timeout=WAIT_MS)
        if isinstance(page, ProfilesPage):
            qtbot.waitUntil(lambda: page.is_filled, timeout=WAIT_MS)
        qtbot.wait(100)
    longest = max(first_ms, *turns.ms)
    all_ms = sum(turns.ms)
    print(f"Building {place}: the longest turn takes {longest:.0f} ms, all of it {all_ms:.0f} ms")  # noqa: T201
    assert longest < OPENING_TURN_LIMIT_MS


def test_a_run_is_opened_in_a_page_that_was_built_meanwhile(window: Window, qtbot: QtBot, tmp_path: Path):
    # Symptom: the first start of a run held the window up for 150 ms, which went into the page of the run.
    folder = recorded.run_folder(tmp_path / "run", end="done", steps=30)
    places.load()
    with Turns() as building:
        window.prepare_run()
        qtbot.waitUntil(lambda: window.run_place.is_prepared, timeout=WAIT_MS)
    assert window.run_place.shows_plan
    began_s = time.thread_time()
    window.open_run(folder.root)
    opened_ms = 1000 * (time.thread_time() - began_s)
    with Turns() as showing:
        qtbot.waitUntil(lambda: window.session is not None and window.session.is_over, timeout=WAIT_MS)
        qtbot.wait(100)
    longest = max(opened_ms, *building.ms, *showing.ms)
    print(f"Opening a run: {opened_ms:.0f} ms at once, the longest turn takes {longest:.0f} ms")  # noqa: T201
    assert longest < OPENING_TURN_LIMIT_MS


FLOOD = """
import sys, time
from diffusionforce.wire import Hello, Placed, DevicePlacement, DeviceReading, Step, Span, Done, encode
out = sys.stdout.buffer
devices = ("cuda:0", "cuda:1")
out.write(encode(Hello(product="x", pid=1, engine="pocket", profile_name="p", run_dir="", num_steps=1000000)))
placed = tuple(DevicePlacement(device=d, name="RTX", blocks=(0, 1), weights_bytes=1) for d in devices)
out.write(encode(Placed(devices=placed, num_blocks=4, schedule="interleaved")))
spans = tuple(Span(op="F", chunk=0, microbatch=m, start_s=m / 10, end_s=m / 10 + 0.08) for m in range(4))
start, step = time.perf_counter(), 0
while time.perf_counter() - start < {seconds}:
    due = int((time.perf_counter() - start) * {rate})
    while step < due:
        step += 1
        readings = tuple(
            DeviceReading(device=d, memory_bytes=1 << 33, peak_bytes=1 << 33, busy=0.8, timeline=spans)
            for d in devices
        )
        out.write(encode(Step(step=step, num_steps=1000000, loss=1 / step, learning_rate=1e-4, seconds=0.0005,
                              eta_s=100.0, devices=readings)))
    out.flush()
    time.sleep(0.004)
out.write(encode(Done(step=step, lora="", seconds=1.0)))
"""


@pytest.mark.parametrize("place", ["run", "gallery"])
def test_two_thousand_records_a_second_leave_the_window_smooth(
    window: Window, qtbot: QtBot, long_job: Job, monkeypatch: pytest.MonkeyPatch, place: str
):
    code = FLOOD.replace("{seconds}", "5").replace("{rate}", str(RECORDS_PER_S))
    monkeypatch.setattr("diffusionforce.gui.child.child_command", lambda _job: [sys.executable, "-c", code])
    window.start_run(long_job)
    session = window.session
    assert session is not None
    qtbot.waitUntil(lambda: session.model.step > 0, timeout=WAIT_MS)
    window.go(place)
    with Turns() as turns:
        qtbot.waitUntil(lambda: session.is_over, timeout=WAIT_MS)
    turns.tell(f"{RECORDS_PER_S:,} records a second, {place}")
    assert session.model.step > 0.6 * 5 * RECORDS_PER_S, "the flood was no flood"
    assert turns.slowest_percent_ms < LIMIT_MS
