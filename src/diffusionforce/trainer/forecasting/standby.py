"""One forecast after another by a process that stays: PyTorch takes as long to start as a forecast does.

Jobs come as lines of its input, and each is answered with a line, in turn. Whoever gives another job does not want the
one before any more, and most often that has not been finished. Ending the process would end what makes the next
forecast quick. So a forecast is given up where it is about to trace something, which it is several times a second;
what has been traced until then is remembered.

While there is no job, the process loads what forecasts need, piece by piece. A job does not wait for pieces that have
not begun: it may find all of its traces remembered, and needs none of them then.
"""

import importlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

import diffusionforce
from diffusionforce.desktop.priority import run_in_background
from diffusionforce.engines.subjects import TracedCall, TracedModel
from diffusionforce.trainer.endings import EXIT_BUG, EXIT_OK
from diffusionforce.trainer.forecasting.traces import CallFootprint, Traces
from diffusionforce.ugpum.footprint import Footprint
from diffusionforce.wire import Failed, LineSplitter, requested_job
from diffusionforce.wire.forecast import Forecast, GivenUp

logger = logging.getLogger(__name__)

_PIECES = (
    "diffusionforce.engines.pocket.subjects",
    "diffusionforce.engines.musubi.subjects",
    "diffusionforce.pipeline.tracer.trace",
)
_LIGHT = "diffusionforce.pipeline.tracer.light"
_CHUNK_BYTES = 4096
PACKAGE_DIR = Path(diffusionforce.__file__).parent
KEPT_FREE_BYTES = 2 << 30
"""With less free RAM than this the process, which holds a quarter of a GB, does not wait for another job."""


class GivenUpError(Exception):
    """Nobody wants the forecast any more that is being made."""


@dataclass(eq=False)
class Order:
    """A job to forecast."""

    job_file: Path
    is_wanted: bool = True

    def require(self) -> None:
        """Go on only while it is wanted.

        Raises:
            GivenUpError: It is not.
        """
        if not self.is_wanted:
            raise GivenUpError


class OrderedTraces(Traces):
    """Footprints for an order: where it is not wanted any more, the next that is asked for is not given.

    Args:
        order: The order.
        may_start_light: As for `Traces`.
    """

    def __init__(self, order: Order, *, may_start_light: bool) -> None:
        super().__init__(may_start_light=may_start_light)
        self._order = order

    def model(self, model: TracedModel, *, backward: bool = True, like: Footprint | None = None) -> Footprint:
        """As for `Traces`.

        Raises:
            GivenUpError: The order is not wanted any more.
        """
        self._order.require()
        return super().model(model, backward=backward, like=like)

    def call(self, call: TracedCall) -> CallFootprint:
        """As for `Traces`.

        Raises:
            GivenUpError: The order is not wanted any more.
        """
        self._order.require()
        return super().call(call)


class Orders:
    """The orders that have come, in turn; each makes those before it unwanted."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._waiting: deque[Order] = deque()
        self._newest: Order | None = None
        self._has_ended = False

    def read(self, lines: Iterable[bytes]) -> None:
        """Take lines until they end. A line that is none of ours is passed over."""
        for line in lines:
            try:
                self.add(requested_job(line))
            except ValueError as error:
                logger.warning("%s", error)
        with self._news:
            self._has_ended = True
            self._news.notify()

    def add(self, job_file: Path | None) -> None:
        """Take an order; None only gives up those before."""
        with self._news:
            if self._newest is not None:
                # Those before it were given up with it.
                self._newest.is_wanted = False
            self._newest = None if job_file is None else Order(job_file)
            if self._newest is not None:
                self._waiting.append(self._newest)
                self._news.notify()

    @property
    def are_over(self) -> bool:
        """Whether all have been taken and none will come."""
        with self._news:
            return self._has_ended and not self._waiting

    def next(self, *, waits: bool) -> Order | None:
        """Return the next order; None if there is none.

        Args:
            waits: Whether to wait for one, until it is sure that none will come.
        """
        with self._news:
            while waits and not self._waiting and not self._has_ended:
                self._news.wait()
            return self._waiting.popleft() if self._waiting else None


def lines_of(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of an input; nothing is buffered by Python, which waits for such a reader when it ends."""
    splitter = LineSplitter()
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        yield from splitter.feed(chunk)


def serve(
    orders: Orders,
    *,
    forecast: Callable[[Order], tuple[Forecast | Failed, int]],
    tell: Callable[[Forecast | Failed | GivenUp], None],
    pieces: Sequence[Callable[[], None]] = (),
    is_outdated: Callable[[], bool] = lambda: False,
) -> int:
    """Answer orders until they are over, or this process had better not go on.

    Args:
        orders: The orders, which somebody reads meanwhile.
        forecast: Makes a forecast; returns it with the exit code of a process that makes only this one.
        tell: Takes the answers.
        pieces: What to load while there is no order. They raise nothing.
        is_outdated: Asked before each forecast whether this process is of yesterday. It ends then, without an answer.

    Returns:
        The last of those exit codes.
    """
    code, still = EXIT_OK, deque(pieces)
    while not orders.are_over:
        order = orders.next(waits=not still)
        if order is not None:
            if is_outdated():
                break
            answer, code = _answered(order, forecast)
            tell(answer)
        # After a bug nobody knows what is as it was.
        if code == EXIT_BUG or psutil.virtual_memory().available < KEPT_FREE_BYTES:
            break
        if order is None and still:
            run_in_background(still.popleft())
    return code


def look_of_code() -> object:
    """Return what our code and PyTorch look like on the disk; equal until a file is changed or another is installed.

    What was loaded before a change must not be remembered as a trace of what is there now.
    """
    files = [(str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in PACKAGE_DIR.rglob("*.py")]
    try:
        torch_version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch_version = ""
    return sorted(files), torch_version


def pieces_of_forecasts() -> list[Callable[[], None]]:
    """Return what a forecast needs that traces something, in pieces to be loaded one after another."""
    first, second, tracer = _PIECES
    return [lambda: _load(first), lambda: _load(second), _start_light, lambda: _load(tracer)]


def _answered(
    order: Order, forecast: Callable[[Order], tuple[Forecast | Failed, int]]
) -> tuple[Forecast | Failed | GivenUp, int]:
    try:
        order.require()
        return forecast(order)
    except GivenUpError:
        return GivenUp(), EXIT_OK


def _load(name: str) -> None:
    try:
        importlib.import_module(name)
    except (ImportError, OSError) as problem:
        # The job that needs it says so, in words for people.
        logger.info("%s cannot be loaded: %s", name, problem)


def _start_light() -> None:
    try:
        importlib.import_module(_LIGHT).start_without_compiler()
    except (ImportError, OSError) as problem:
        logger.info("PyTorch cannot be loaded: %s", problem)
