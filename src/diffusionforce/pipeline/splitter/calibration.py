"""Measures in a few seconds what a split is decided by: one block on each card, and the links between them.

Datasheets are wrong by a factor of two in both directions for one model and one mainboard, so nothing is looked up:
one block runs forward and backward on each card, tensors of a boundary's size cross between the cards the way that
training sends them, and locked RAM is copied to all cards at once, because that is how paging uses the links.

Results are remembered in the user's cache folder under everything that they depend on: card, driver, PyTorch, the
block's tensors and the size of its input.
"""

import hashlib
import json
import logging
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs
import torch
from torch import nn

from diffusionforce.job import write_whole
from diffusionforce.pipeline.nesting import map_tensors
from diffusionforce.pipeline.pager.store import PinnedMemory, page_aligned
from diffusionforce.pipeline.router import on_device
from diffusionforce.pipeline.transfer import Transfers

logger = logging.getLogger(__name__)

_PAGING_PROBE_BYTES = 128 << 20
_VERSION = 4
_WARM_UP_TURNS = 2
"""The first turns load kernels and choose algorithms."""
_MOST_TURNS = 200


@dataclass(frozen=True, kw_only=True)
class BlockTimes:
    """One micro-batch through one block on one card."""

    forward_s: float
    backward_s: float
    """Recomputation included, if the block checkpoints."""
    kept_bytes: int = 0
    """Card memory held between forward and backward; 0 on devices that do not count."""
    working_bytes: int = 0
    """Further card memory in use at the peak of the backward; 0 on devices that do not count."""


@dataclass(frozen=True, kw_only=True)
class LinkRates:
    """What the links deliver, measured the way training uses them."""

    crossing_s: tuple[tuple[float, ...], ...]
    """Seconds of one boundary tensor, [from device][to device]."""
    paging_bytes_per_s: tuple[float, ...]
    """From locked RAM to each device, all at once."""


def time_block(
    block: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, device: torch.device, limit_s: float = 2.0
) -> BlockTimes:
    """Run a block forward and backward a few times.

    Args:
        block: The block, on `device`. Its gradients are left as they were.
        args: Arguments of one real call; tensors are brought to the device, and the first gets a gradient.
        kwargs: Keyword arguments of that call.
        device: Where to measure.
        limit_s: About how long to go on.
    """
    args = tuple(map_tensors(value, lambda tensor: tensor.detach().to(device)) for value in args)
    kwargs = {name: map_tensors(value, lambda tensor: tensor.detach().to(device)) for name, value in kwargs.items()}
    first = args[0].requires_grad_(True)
    before = [(parameter, parameter.grad) for parameter in block.parameters()]
    for parameter, _ in before:
        parameter.grad = None
    turns: list[_Turn] = []
    _wait({device})
    end_s = time.perf_counter() + limit_s
    # As in training: to a card that is not the current one, the host takes longer to say what it shall do.
    with on_device(device):
        while len(turns) < _WARM_UP_TURNS + 3 or (time.perf_counter() < end_s and len(turns) < _MOST_TURNS):
            turns.append(_one_turn(lambda: block(*args, **kwargs), device))
            first.grad = None
    _wait({device})
    for parameter, gradient in before:
        parameter.grad = gradient
    # The later half: a card that has just begun runs at clocks that it cannot keep.
    measured = turns[max(_WARM_UP_TURNS, len(turns) // 2) :]
    return BlockTimes(
        forward_s=statistics.median(turn.forward_s() for turn in measured),
        backward_s=statistics.median(turn.backward_s() for turn in measured),
        kept_bytes=measured[-1].kept_bytes,
        working_bytes=measured[-1].working_bytes,
    )


@dataclass(frozen=True)
class _Turn:
    """One forward and backward whose seconds can be read when the device has run them."""

    forward_s: Callable[[], float]
    backward_s: Callable[[], float]
    kept_bytes: int
    working_bytes: int


def _one_turn(forward: Callable[[], Any], device: torch.device) -> _Turn:
    start_bytes = _begin_memory(device)
    forward_s, output = _timed(device, forward)
    kept_bytes = _memory(device) - start_bytes
    result = output[0] if isinstance(output, tuple | list) else output
    gradient = torch.randn_like(result)  # Numbers of all kinds: a card multiplies zeros and ones with less power.
    backward_s, _ = _timed(device, lambda: torch.autograd.backward(result, gradient))
    working_bytes = max(0, _peak_memory(device) - start_bytes - kept_bytes)
    return _Turn(forward_s, backward_s, kept_bytes, working_bytes)


def time_links(
    devices: Sequence[torch.device], *, boundary_bytes: int, transfers: Transfers | None = None
) -> LinkRates:
    """Time the crossings between all pairs of devices, and the paging to all of them at once.

    Args:
        devices: One a stage.
        boundary_bytes: Size of what crosses at a boundary.
        transfers: The way that training will send it; a plain one by default.
    """
    transfers = transfers or Transfers()
    crossing_s = tuple(
        tuple(_crossing_s(transfers, source, destination, boundary_bytes) for destination in devices)
        for source in devices
    )
    return LinkRates(crossing_s=crossing_s, paging_bytes_per_s=_paging_rates(devices))


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A model's block on the cards of a rig, and the links between them."""

    times: tuple[BlockTimes, ...]
    """One a device."""
    links: LinkRates


def calibrate(
    block: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    devices: Sequence[torch.device],
    boundary_bytes: int,
    cache: "CalibrationCache | None" = None,
    driver_version: str = "",
) -> Calibration:
    """Measure everything that a split is decided by, or remember it.

    Args:
        block: One of the model's blocks, on any device. It visits every device and returns.
        args: Arguments of one real call of it.
        kwargs: Keyword arguments of that call.
        devices: One a stage.
        boundary_bytes: Size of what crosses at a boundary.
        cache: Where results are kept; None measures anew and keeps nothing.
        driver_version: Of the graphics driver; a new driver is measured anew.
    """
    home = next(tensor.device for tensor in [*block.parameters(), *block.buffers()])
    names = [device_signature(device, driver_version=driver_version) for device in devices]
    signature = block_signature(block, args, kwargs)

    def measure_block(device: torch.device) -> BlockTimes:
        block.to(device)
        times = time_block(block, args, kwargs, device=device)
        block.to(home)
        return times

    def measure_links() -> LinkRates:
        return time_links(devices, boundary_bytes=boundary_bytes)

    if cache is None:
        return Calibration(times=tuple(measure_block(device) for device in devices), links=measure_links())
    return Calibration(
        times=tuple(
            cache.times(f"{name} {signature}", lambda device=device: measure_block(device))
            for name, device in zip(names, devices, strict=True)
        ),
        links=cache.rates(f"{' + '.join(names)} {boundary_bytes} bytes", measure_links),
    )


class CalibrationCache:
    """Measured values in one JSON file, which is replaced whole or not at all.

    Args:
        path: The file. None: in the user's cache folder.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(platformdirs.user_cache_dir("diffusionforce", appauthor=False)) / "calibration.json"

    def times(self, key: str, measure: Callable[[], BlockTimes]) -> BlockTimes:
        """The remembered value, or a new measurement, which is then remembered."""
        known = self._read().get(key)
        if isinstance(known, dict) and known.keys() == BlockTimes.__dataclass_fields__.keys():
            return BlockTimes(**known)
        measured = measure()
        self._write(key, asdict(measured))
        return measured

    def rates(self, key: str, measure: Callable[[], LinkRates]) -> LinkRates:
        """The remembered value, or a new measurement, which is then remembered."""
        known = self._read().get(key)
        if isinstance(known, dict) and known.keys() == LinkRates.__dataclass_fields__.keys():
            return LinkRates(
                crossing_s=tuple(tuple(row) for row in known["crossing_s"]),
                paging_bytes_per_s=tuple(known["paging_bytes_per_s"]),
            )
        measured = measure()
        self._write(key, asdict(measured))
        return measured

    def _read(self) -> dict[str, Any]:
        try:
            content: Any = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            logger.warning("%s cannot be read (%s); the cards are measured again.", self.path, problem)
            return {}
        is_ours = isinstance(content, dict) and content.get("version") == _VERSION
        return content["values"] if is_ours else {}

    def _write(self, key: str, value: dict[str, Any]) -> None:
        values = {**self._read(), key: value}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, json.dumps({"version": _VERSION, "values": values}, indent=1).encode())
        except OSError as problem:
            logger.warning("%s cannot be written (%s); the cards are measured at every start.", self.path, problem)


def block_signature(block: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A short name for all that a block's speed depends on: its class, its tensors, and those it is called with."""
    lines = [type(block).__qualname__, f"training={block.training}"]
    named = [*block.named_parameters(), *block.named_buffers()]
    lines += [f"{name} {tuple(item.shape)} {item.dtype} {item.requires_grad}" for name, item in named]

    def note(tensor: torch.Tensor) -> torch.Tensor:
        lines.append(f"{tuple(tensor.shape)} {tensor.dtype}")
        return tensor

    map_tensors([*args, *kwargs.values()], note)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def device_signature(device: torch.device, *, driver_version: str = "") -> str:
    """A name for all that a device's speed depends on.

    Args:
        device: The device.
        driver_version: Of the graphics driver, as its vendor names it.
    """
    if device.type != "cuda":
        return f"{device} torch {torch.__version__} threads {torch.get_num_threads()}"
    properties = torch.cuda.get_device_properties(device)
    return f"{properties.name} {properties.uuid} driver {driver_version} torch {torch.__version__}"


def _timed(device: torch.device, work: Callable[[], Any]) -> tuple[Callable[[], float], Any]:
    """Do something, and a way to read its seconds once the device has been waited for.

    Cards are not waited for in between: a pause after each piece of work would let their clocks recover.
    """
    if device.type != "cuda":
        start_s = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start_s
        return lambda: seconds, result
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record(torch.cuda.current_stream(device))
    result = work()
    end.record(torch.cuda.current_stream(device))
    return lambda: start.elapsed_time(end) / 1000, result


def _crossing_s(transfers: Transfers, source: torch.device, destination: torch.device, num_bytes: int) -> float:
    if source == destination:
        return 0.0
    tensor = torch.empty(num_bytes, dtype=torch.uint8, device=source)
    found: list[float] = []
    for _ in range(5):
        _wait({source, destination})
        start_s = time.perf_counter()
        transfers.move(tensor, destination)
        _wait({source, destination})
        found.append(time.perf_counter() - start_s)
    return min(found)


def _paging_rates(devices: Sequence[torch.device]) -> tuple[float, ...]:
    source = page_aligned(_PAGING_PROBE_BYTES).zero_()
    cards = [device for device in dict.fromkeys(devices) if device.type == "cuda"]
    memory = PinnedMemory(limit_bytes=2 * _PAGING_PROBE_BYTES)
    if cards:
        memory.lock(source)
    slots = {device: torch.empty(source.numel(), dtype=torch.uint8, device=device) for device in dict.fromkeys(devices)}
    rates: dict[torch.device, float] = {}
    for _ in range(3):
        _wait(slots)
        marks = {device: _copy_between_marks(slots[device], source) for device in slots}
        _wait(slots)
        for device, seconds in marks.items():
            rates[device] = max(rates.get(device, 0.0), source.numel() / max(seconds(), 1e-9))
    memory.release()
    return tuple(rates[device] for device in devices)


def _copy_between_marks(slot: torch.Tensor, source: torch.Tensor) -> Callable[[], float]:
    if slot.device.type != "cuda":
        start_s = time.perf_counter()
        slot.copy_(source)
        seconds = time.perf_counter() - start_s
        return lambda: seconds
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    stream = torch.cuda.Stream(slot.device)
    with torch.cuda.stream(stream):
        start.record(stream)
        slot.copy_(source, non_blocking=True)
        end.record(stream)
    return lambda: start.elapsed_time(end) / 1000


def _wait(devices: Any) -> None:
    for device in devices:
        if device.type == "cuda":
            torch.cuda.synchronize(device)


def _begin_memory(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def _memory(device: torch.device) -> int:
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0


def _peak_memory(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
