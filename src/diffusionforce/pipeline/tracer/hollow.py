"""Tensors with shapes and no contents, on which the code of a model runs as if it ran on the processor.

PyTorch has such tensors of its own, for its compiler: they keep what symbolic shapes need, and look every operation up
by a key made of all its arguments. A trace of a model runs thousands of operations of known shapes, and spent most of
its time there. These keep nothing. A hollow tensor is on the processor as far as code, autocast and autograd can see,
and knows another of the device "meta", which has its shape and a storage without memory: that is what an operation
works with, and it works out shapes. (A tensor of the device "meta" that only claims to be on the processor has to be
asked for its device by way of Python, and PyTorch asks twice for every operation.)
"""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from diffusionforce.pipeline.nesting import list_tensors

_CPU, _META = torch.device("cpu"), torch.device("meta")
_DATA: Any = torch.Tensor.data
_SHARE_UNSAID = {torch.ops.aten._unsafe_view.default}
"""What gives the storage that it is given, and does not say so."""


class HollowTensor(torch.Tensor):
    """A tensor without contents. Does nothing outside of a `HollowMode`.

    Args:
        meta: A tensor of the device "meta", whose shape and storage are its own.
    """

    meta: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore[reportAssignmentType]

    @staticmethod
    def __new__(cls, meta: torch.Tensor) -> "HollowTensor":
        """Make a tensor that is on the processor as far as anybody asks."""
        place = meta.size(), meta.stride(), meta.storage_offset()
        made = torch.Tensor._make_wrapper_subclass(cls, *place, dtype=meta.dtype, device=_CPU)
        made.meta = meta
        if meta.is_conj():
            torch._C._set_conj(made, True)
        if meta.is_neg():
            torch._C._set_neg(made, True)
        return made

    @property
    def data(self) -> torch.Tensor:
        """The tensor apart from what computes gradients. What is put in its place brings its shape and storage."""
        return _DATA.__get__(self)

    @data.setter
    def data(self, other: "HollowTensor") -> None:
        _DATA.__set__(self, other)
        self.meta = other.meta

    def untyped_storage(self) -> torch.UntypedStorage:
        """The storage, which views share."""
        return self.meta.untyped_storage()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class HollowMode(TorchDispatchMode):
    """What is made in here is hollow, and so is what is computed from tensors that were made before."""

    def __init__(self) -> None:
        super().__init__()
        self._keeps_contents = False
        self._hollowed: dict[int, tuple[weakref.ref[Any], torch.UntypedStorage]] = {}

    @contextmanager
    def contents_kept(self) -> Iterator[None]:
        """In here tensors have contents after all."""
        before, self._keeps_contents = self._keeps_contents, True
        try:
            yield
        finally:
            self._keeps_contents = before

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation: what a mode above this one may call, to come here without a way through PyTorch."""
        if self._keeps_contents:
            return func(*args, **kwargs)
        if _only_fills(func):
            return args[0] if func._schema.returns else None
        # What runs below is no code of the model's, and its calls are nothing to change.
        with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            given = self._meta(args)
            kwargs = {name: self._meta(value) for name, value in kwargs.items()}
            if kwargs.get("device") is not None or _makes_tensors(func):
                kwargs["device"] = _META
            result = _worked_out(func, given, kwargs)
            if _changes_shape(func):
                args[0].data = HollowTensor(given[0])
                return args[0]
            return _hollow(result)

    def _meta(self, value: Any) -> Any:
        """A value with tensors of the device "meta" in place of all others."""
        form = type(value)
        if form is HollowTensor:
            return value.meta
        if form is list or form is tuple:
            return form([self._meta(one) for one in value])
        if isinstance(value, torch.Tensor):
            return value if value.is_meta else self._without_contents(value)
        return value

    def _without_contents(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor's shape; tensors with one storage share one again."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._hollowed:
            plain = torch.empty(storage.nbytes(), dtype=torch.uint8, device=_META).untyped_storage()
            self._hollowed[key] = weakref.ref(storage, lambda _gone: self._hollowed.pop(key, None)), plain
        place = self._hollowed[key][1], tensor.storage_offset(), tensor.size(), tensor.stride()
        return torch.empty(0, dtype=tensor.dtype, device=_META).set_(*place)


def hollow_like(meta: torch.Tensor) -> torch.Tensor:
    """A hollow tensor with a storage of its own; a parameter for a parameter.

    Args:
        meta: A tensor of the device "meta".
    """
    with torch._C._DisableTorchDispatch():
        plain = torch.empty_strided(meta.size(), meta.stride(), dtype=meta.dtype, device=_META)
    made: Any = HollowTensor(plain)
    made.requires_grad = meta.requires_grad
    if isinstance(meta, torch.nn.Parameter):
        made._is_param = True
    return made


def is_hollow(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no contents, one of PyTorch's own kind included, on a device where tensors have some."""
    return isinstance(tensor, HollowTensor | FakeTensor)


@contextmanager
def contents_kept() -> Iterator[None]:
    """See `HollowMode.contents_kept`, of whichever mode is active; does nothing without one."""
    modes = [mode for mode in _active_modes() if isinstance(mode, HollowMode)]
    if not modes:
        yield
        return
    with modes[-1].contents_kept():
        yield


def _active_modes() -> list[Any]:
    return [torch._C._get_dispatch_stack_at(index) for index in range(torch._C._len_torch_dispatch_stack())]


def _hollow(value: Any) -> Any:
    """A value with hollow tensors in place of all others."""
    if isinstance(value, torch.Tensor):
        return HollowTensor(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_hollow, value))
    return value


def _worked_out(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operation, of which shapes count: looked up where they were worked out before."""
    if not _makes_all_anew(func):
        return func(*args, **kwargs)
    key = func, _described(args), _described(tuple(kwargs.items()))
    try:
        known = _known.get(key)
    except TypeError:
        return func(*args, **kwargs)  # Something in it cannot be looked up.
    if known is not None:
        return known.made()
    result = func(*args, **kwargs)
    shapes = _Shapes.of(result)
    if shapes is not None and not _storages_of(result) & _storages_of((args, tuple(kwargs.values()))):
        _known[key] = shapes
    return result


@dataclass(frozen=True, slots=True)
class _Shapes:
    """How to make a result again."""

    form: type[Any]
    tensors: tuple[tuple[torch.Size, tuple[int, ...], torch.dtype] | None, ...]
    """Size, stride and dtype of each; None where there is none."""

    @classmethod
    def of(cls, result: Any) -> "_Shapes | None":
        """None where a result is more than tensors that fill a storage each."""
        form = type(result) if type(result) in (list, tuple) else torch.Tensor
        parts: Sequence[Any] = (result,) if form is torch.Tensor else result
        made = [part for part in parts if part is not None]
        if not all(isinstance(part, torch.Tensor) and _fills_its_storage(part) for part in made):
            return None
        if len(_storages_of(made)) < len(made):
            return None
        return cls(form, tuple(None if part is None else (part.size(), part.stride(), part.dtype) for part in parts))

    def made(self) -> Any:
        """The result."""
        made = [
            None if shape is None else torch.empty_strided(shape[0], shape[1], dtype=shape[2], device=_META)
            for shape in self.tensors
        ]
        return made[0] if self.form is torch.Tensor else self.form(made)


_known: dict[Any, _Shapes] = {}
"""By operation and shapes of arguments."""


def _described(values: Sequence[Any]) -> tuple[Any, ...]:
    """All that the shapes of a result can depend on."""
    return tuple(
        (value.size(), value.stride(), value.dtype)
        if isinstance(value, torch.Tensor)
        else _described(value)
        if isinstance(value, list | tuple)
        else (type(value), value)
        for value in values
    )


def _storages_of(value: Any) -> set[int]:
    return {tensor.untyped_storage()._cdata for tensor in list_tensors(value)}


def _fills_its_storage(tensor: torch.Tensor) -> bool:
    again = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=_META)
    return again.untyped_storage().nbytes() == tensor.untyped_storage().nbytes()


@cache
def _makes_all_anew(func: Any) -> bool:
    """Whether an operation changes nothing that it is given, and shares nothing with what it gives."""
    if func in _SHARE_UNSAID:
        return False
    schema = func._schema
    return bool(schema.returns) and all(one.alias_info is None for one in (*schema.arguments, *schema.returns))


@cache
def _only_fills(func: Any) -> bool:
    """Whether an operation does nothing but change the contents of its first argument, and at most gives it back."""
    first, returns = func._schema.arguments[:1], func._schema.returns
    is_written = bool(first) and first[0].alias_info is not None and first[0].alias_info.is_write
    is_given_back = not returns or (len(returns) == 1 and returns[0].alias_info is not None)
    others_written = any(one.alias_info is not None and one.alias_info.is_write for one in func._schema.arguments[1:])
    return is_written and is_given_back and not others_written and not _changes_shape(func)


@cache
def _changes_shape(func: Any) -> bool:
    """Whether an operation gives its first argument another shape, or another storage."""
    return torch.Tag.inplace_view in func.tags


@cache
def _makes_tensors(func: Any) -> bool:
    """Whether an operation makes tensors out of nothing."""
    arguments = func._schema.arguments
    return any(one.name == "device" for one in arguments) and not any("Tensor" in str(one.type) for one in arguments)
