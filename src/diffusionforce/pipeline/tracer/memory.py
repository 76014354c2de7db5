"""Counting the bytes that live tensors would take on a card, while code runs on tensors that need no card.

A card's memory is handed out by PyTorch's caching allocator, which rounds sizes up, so adding up numbers of elements
comes out too small. What counts is each storage once (views share one), rounded as the allocator rounds, from the
operation that makes it until its last tensor is gone, wherever that tensor was held: by a variable, by autograd, or by
autograd's own buffers in the middle of a backward pass. A dispatch mode sees every storage as it is made, and a weak
reference tells when it is gone.
"""

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

_SMALLEST_BYTES = 512
_LARGE_BYTES = 10 << 20
_LARGE_SEGMENT_BYTES = 2 << 20
_SMALLEST_REMAINDER_BYTES = 1 << 20
_START_NOTHING = {
    torch.ops.aten.empty.memory_format,
    torch.ops.aten.empty_like.default,
    torch.ops.aten.empty_strided.default,
    torch.ops.aten.new_empty.default,
    torch.ops.aten.new_empty_strided.default,
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten._unsafe_view.default,
}
"""Operations that make memory without contents, or read it, and give no views."""
_ONLY_WRITTEN = {torch.ops.aten.copy_.default, torch.ops.aten.fill_.Scalar, torch.ops.aten.zero_.default}
"""Operations in place that do not read what they write over."""
_FLOPS_A_BYTE = 100
"""A matrix product with fewer operations than this for each byte that it reads or writes waits for the card's memory,
as one with a LoRA's few columns does: cards compute 50 to 200 in the time in which they move a byte."""


def allocated_bytes(num_bytes: int) -> int:
    """What the CUDA caching allocator takes for a tensor.

    Sizes are rounded up to 512 bytes. From 10 MiB on a tensor gets a segment of its own, a multiple of 2 MiB, and what
    is left over is cut off only if it is more than 1 MiB; a smaller rest belongs to the tensor.

    Args:
        num_bytes: Bytes of the tensor's storage.
    """
    size = -(-num_bytes // _SMALLEST_BYTES) * _SMALLEST_BYTES
    if size < _LARGE_BYTES:
        return size
    segment = -(-size // _LARGE_SEGMENT_BYTES) * _LARGE_SEGMENT_BYTES
    return segment if segment - size <= _SMALLEST_REMAINDER_BYTES else size


@functools.cache
def _only_looks(func: Any) -> bool:
    """Whether an operation starts no kernel: it makes a view of a tensor, or memory without contents."""
    if func in _START_NOTHING or func.namespace != "aten":
        return True
    returned = func._schema.returns
    return bool(returned) and all(one.alias_info is not None and not one.alias_info.is_write for one in returned)


class StorageCounter(TorchDispatchMode):
    """Counts live storages, and the most that were alive at once, for one or several owners.

    Works on fake tensors and on real ones. Everything made while the mode is active counts for the current `owner`,
    for as long as it lives; `note` counts what existed before.

    Args:
        size_of: Bytes that a storage of that many bytes takes.
        read_scalar: Answers `.item()` on fake tensors, which hold no value. None: such a read raises, because a
            forecast that goes on with an invented number would be wrong without a word.
        run: Runs an operation, given with its arguments; by default whatever mode is active below this one.
    """

    def __init__(
        self,
        *,
        size_of: Callable[[int], int] = allocated_bytes,
        read_scalar: Callable[[], float] | None = None,
        run: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None,
    ) -> None:
        super().__init__()
        self.owner: Hashable = None
        self.live_bytes: dict[Hashable, int] = {}
        self.peak_bytes: dict[Hashable, int] = {}
        self.flops = 0
        """Multiplications and additions of matrix products and convolutions so far."""
        self.launches = 0
        """Operations that start a kernel on a card so far: all that do more than look at a tensor differently."""
        self.moved_bytes = 0
        """What those have read and written so far that take as long as a card's memory needs for it."""
        self.read_scalar = read_scalar
        self._size_of, self._run = size_of, run or _called
        self._storages: dict[int, weakref.ref[Any]] = {}

    @property
    def live(self) -> int:
        """Live bytes of the current owner."""
        return self.live_bytes.get(self.owner, 0)

    @property
    def peak(self) -> int:
        """The most live bytes of the current owner since `restart_peak`."""
        return max(self.peak_bytes.get(self.owner, 0), self.live)

    def restart_peak(self) -> None:
        """Begin a new measurement of every owner's peak."""
        self.peak_bytes = dict(self.live_bytes)

    def note(self, tensor: torch.Tensor) -> None:
        """Count a tensor's storage for the current owner, unless it is counted already."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._storages:
            return
        owner, size = self.owner, self._size_of(storage.nbytes())

        def gone(_reference: Any) -> None:
            del self._storages[key]
            self.live_bytes[owner] -= size

        self._storages[key] = weakref.ref(storage, gone)
        live = self.live_bytes.get(owner, 0) + size
        self.live_bytes[owner] = live
        if live > self.peak_bytes.get(owner, 0):
            self.peak_bytes[owner] = live

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.read_scalar is not None and func is torch.ops.aten._local_scalar_dense.default:
            return self.read_scalar()
        kwargs = kwargs or {}
        result = self._run(func, args, kwargs)
        with torch._C.DisableTorchFunction():
            self._note_all(result)
        if _only_looks(func):
            return result
        self.launches += 1
        count = flop_registry.get(getattr(func, "_overloadpacket", None))
        flops = count(*args, **kwargs, out_val=result) if count is not None else 0
        self.flops += flops
        moved_bytes = _moved_bytes(func, args, kwargs, result)
        if flops < moved_bytes * _FLOPS_A_BYTE:
            self.moved_bytes += moved_bytes
        return result

    def _note_all(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self.note(value)
        elif isinstance(value, list | tuple):
            for item in value:
                self._note_all(item)


def _moved_bytes(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> int:
    """What an operation reads and writes. What is written in place is among the arguments and the results."""
    read = args[1:] if func in _ONLY_WRITTEN else args
    return sum(map(_sizes_bytes, (read, kwargs, result)))


def _sizes_bytes(value: Any) -> int:
    """Bytes of all tensors of a nested value; of an expanded one, those that there are."""
    if isinstance(value, torch.Tensor):
        return min(value.numel() * value.itemsize, value.untyped_storage().nbytes())
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return 0
    return sum(map(_sizes_bytes, value))


def _called(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return func(*args, **kwargs)
