"""In which number format the model computes, and how many processor threads it may take.

bfloat16 halves the work of a card and of a processor with instructions for it; on any other processor PyTorch takes
the same sums apart one by one and is tens of times slower. No flag tells reliably, so a processor is measured.
"""

import functools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

_PROBE_SHAPE = (280, 256, 256)
"""A product of the size that a block makes for one picture."""
_PROBE_ROUNDS = 5
_WORTH_IT = 1.3
"""bfloat16 must be this many times as fast as float32 to be chosen on a processor."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """The number format of one kind of work. Weights stay float32; autocast converts what it multiplies."""

    device_type: str
    """cpu or cuda."""
    bf16: bool

    @property
    def name(self) -> str:
        """bf16 or fp32."""
        return "bf16" if self.bf16 else "fp32"

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Compute in this format until the block ends."""
        with torch.autocast(self.device_type, torch.bfloat16, enabled=self.bf16):
            yield


def training_precision(wanted: str, device: torch.device) -> Precision:
    """The format to train in.

    Args:
        wanted: fp32, bf16 or auto. auto is bf16 on cards, and fp32 on processors: bf16 learns as well there, but a
            demo's figures should not depend on which processor it met.
        device: Where the model's ends are.
    """
    bf16 = wanted == "bf16" or (wanted == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported())
    return Precision(device_type=device.type, bf16=bf16)


def sampling_precision(wanted: str, device: torch.device) -> Precision:
    """The format to sample in: as in training, but auto takes bf16 on a processor that is quick at it."""
    if wanted == "auto" and device.type == "cpu":
        return Precision(device_type="cpu", bf16=cpu_is_quick_at_bf16())
    return training_precision(wanted, device)


@functools.cache
def cpu_is_quick_at_bf16() -> bool:
    """Whether this processor multiplies bfloat16 faster than float32; measured once, in some milliseconds."""
    return _product_s(torch.bfloat16) * _WORTH_IT < _product_s(torch.float32)


def _product_s(dtype: torch.dtype) -> float:
    """Seconds of one matrix product, the best of a few."""
    rows, inner, columns = _PROBE_SHAPE
    left, right = torch.ones(rows, inner, dtype=dtype), torch.ones(inner, columns, dtype=dtype)
    times_s: list[float] = []
    for _ in range(_PROBE_ROUNDS):
        start_s = time.perf_counter()
        torch.mm(left, right)
        times_s.append(time.perf_counter() - start_s)
    return min(times_s)


def limit_cpu_threads() -> None:
    """Take a sensible number of processor threads, unless the user has set one.

    Threads that find no work spin by default, and on a computer that is busy with other things they then keep each
    other from working: two threads on two cores were seen to take 33 s for a step that one thread does in 2.7 s.
    With `OMP_WAIT_POLICY=PASSIVE`, which must be set before torch is loaded, they sleep, and the same step took 0.6 s.
    """
    if "OMP_NUM_THREADS" in os.environ:
        return
    num_cores = os.cpu_count() or 1
    sleeps = os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"
    torch.set_num_threads(num_cores if sleeps else max(1, num_cores - 1))
