"""Virtual devices on a machine without cards: real arithmetic, and the strictness of CUDA about mixing devices.

A `VirtualTensor` holds an ordinary CPU tensor but reports the device "cpu:0", "cpu:1" and so on. Every operation
really runs, so results can be compared bit for bit with the plain model, but an operation that mixes two virtual
devices, or a virtual device and a host tensor, raises `MixedDevicesError` as a card would. As on a card, scalars
(0 dimensions) and host index tensors mix freely, and copies cross. Every crossing is noted in `crossings`.
"""

import functools
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

aten = torch.ops.aten
_COPIES = {aten._to_copy.default, aten.copy_.default}
_INDEXING = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}


class Crossing(NamedTuple):
    """One copy from a virtual device to another."""

    source: torch.device
    destination: torch.device
    shape: tuple[int, ...]


crossings: list[Crossing] = []


class MixedDevicesError(RuntimeError):
    """An operation was given tensors of two devices."""


def virtual_device(index: int) -> torch.device:
    """The virtual device of that number."""
    return torch.device("cpu", index)


class VirtualTensor(torch.Tensor):
    """A CPU tensor that claims to lie on a virtual device."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, real: torch.Tensor, device: torch.device) -> "VirtualTensor":
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            real.size(),
            strides=real.stride(),
            storage_offset=real.storage_offset(),
            dtype=real.dtype,
            layout=real.layout,
            device=device,
            requires_grad=False,
        )
        made.held = real
        return made

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return f"VirtualTensor({tuple(self.shape)}, {self.dtype}, {self.device})"

    def __tensor_flatten__(self) -> tuple[list[str], torch.device]:
        return ["held"], self.device

    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore[reportAssignmentType]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatch(func, args, kwargs or {})


class VirtualDevices(TorchDispatchMode):
    """Needed where code makes tensors on a virtual device (`torch.arange(..., device=x.device)`)."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatch(func, args, kwargs or {})


class MadeOfLists(TorchFunctionMode):
    """Lets tensors that are made of lists arrive on a virtual device; no operation makes them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.tensor and _is_virtual(kwargs.get("device")):
            found: list[torch.Tensor] = []
            return func(*_unwrapped(args, found), **{**kwargs, "device": "cpu"}).to(kwargs["device"])
        return func(*args, **kwargs)


def to_virtual(tensor: torch.Tensor, device: torch.device) -> VirtualTensor:
    """A plain CPU tensor's values on a virtual device."""
    return VirtualTensor(real_of(tensor.detach()), device)


def real_of(tensor: torch.Tensor) -> torch.Tensor:
    """The plain CPU tensor behind a virtual one; a plain tensor is given back."""
    return tensor.held if isinstance(tensor, VirtualTensor) else tensor


def place_virtually(module: nn.Module, device: torch.device) -> None:
    """Put a module's parameters and buffers on a virtual device."""
    for part in module.modules():
        for name, parameter in list(part._parameters.items()):
            if parameter is not None:
                moved = to_virtual(parameter, device)
                part._parameters[name] = nn.Parameter(moved, requires_grad=parameter.requires_grad)
        for name, buffer in list(part._buffers.items()):
            if buffer is not None:
                part._buffers[name] = to_virtual(buffer, device)


def real_gradients(module: nn.Module) -> dict[str, torch.Tensor | None]:
    """Every trained parameter's gradient as a plain tensor; None where there is none."""
    return {
        name: None if parameter.grad is None else real_of(parameter.grad).clone()
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    }


def _is_virtual(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cpu" and torch.device(device).index is not None


def _dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    flat: list[torch.Tensor] = []
    plain_args, plain_kwargs = _unwrapped((args, kwargs), flat)
    wanted = kwargs.get("device")
    if func in _COPIES:
        device = _note_crossing(func, args, wanted)
    else:
        common = _refuse_mixture(func, flat)
        device = torch.device(wanted) if wanted is not None else common
    if _is_virtual(wanted):
        plain_kwargs = {**plain_kwargs, "device": torch.device("cpu")}
    result = _mapped(func(*plain_args, **plain_kwargs), _settled)
    if _writes_into_first(func):
        return args[0]
    if device is None or not _is_virtual(device):
        return result
    result = _mapped(result, lambda value: _wrapped(value, device))
    if func in _COPIES or not _gives_views(func) or not any(isinstance(x, VirtualTensor) for x in flat):
        return result
    return return_and_correct_aliasing(func, args, kwargs, result)


@functools.cache
def _writes_into_first(func: Any) -> bool:
    return func._schema.is_mutable and func._schema.name.endswith("_")


@functools.cache
def _gives_views(func: Any) -> bool:
    """Whether results share memory with arguments, which autograd must know."""
    return any(value.alias_info is not None for value in func._schema.returns)


def _unwrapped(value: Any, found: list[torch.Tensor]) -> Any:
    """The value with plain tensors in place of virtual ones; every tensor met is appended to `found`."""
    if isinstance(value, torch.Tensor):
        found.append(value)
        return real_of(value)
    if type(value) in (list, tuple):
        return type(value)(_unwrapped(item, found) for item in value)
    return {key: _unwrapped(item, found) for key, item in value.items()} if type(value) is dict else value


def _mapped(value: Any, function: Any) -> Any:
    """Apply a function to every tensor of an operation's result."""
    if isinstance(value, torch.Tensor):
        return function(value)
    return type(value)(_mapped(item, function) for item in value) if type(value) in (list, tuple) else value


def _note_crossing(func: Any, args: tuple[Any, ...], wanted: Any) -> torch.device | None:
    """Note a copy that changes devices; gives the device of the copy's result."""
    into_existing = func is aten.copy_.default
    source = args[1] if into_existing else args[0]
    if into_existing or wanted is None:
        destination = args[0].device if isinstance(args[0], VirtualTensor) else None
    else:
        destination = torch.device(wanted)
    if isinstance(source, VirtualTensor) and _is_virtual(destination) and source.device != destination:
        assert destination is not None
        crossings.append(Crossing(source.device, destination, tuple(source.shape)))
    return destination


def _refuse_mixture(func: Any, flat: list[torch.Tensor]) -> torch.device | None:
    """The one virtual device among the arguments, or None; raises if there are two kinds of tensors."""
    devices = {x.device for x in flat if isinstance(x, VirtualTensor)}
    if len(devices) > 1:
        raise MixedDevicesError(f"{func} mixes {sorted(map(str, devices))}")
    if devices and func not in _INDEXING:
        for x in flat:
            if not isinstance(x, VirtualTensor) and x.dim() > 0:
                raise MixedDevicesError(
                    f"{func} mixes {next(iter(devices))} and a host tensor of shape {tuple(x.shape)}"
                )
    return next(iter(devices)) if devices else None


def _wrapped(value: torch.Tensor, device: torch.device) -> torch.Tensor:
    return (
        VirtualTensor(value, device) if type(value) is not VirtualTensor and isinstance(value, torch.Tensor) else value
    )


def _settled(value: torch.Tensor) -> torch.Tensor:
    """A wrapper does not carry the lazy conjugate and negative bits of what it holds: carry them out."""
    return value.resolve_conj().resolve_neg() if value.is_conj() or value.is_neg() else value
