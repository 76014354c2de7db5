"""Tensors inside nested containers: find them, replace them, leave everything else as it was.

Blocks of diffusion transformers take their arguments in every shape Python offers: tensors, lists of tensors of
different lengths, tuples, dicts, named tuples, dataclasses that group a modulation's shift, scale and gate, and
between them plain numbers and None. Moving such an argument to another device must not change its type, and
must not rebuild what needs no change: models compare identities and keep references.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import torch


def map_tensors(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Replace every tensor in a nested value.

    Args:
        value: A tensor, or lists, tuples, named tuples, dicts and dataclasses that hold tensors at any depth.
            Anything else is handed back as it is.
        function: Gives the replacement of one tensor; giving back its argument means "no change".

    Returns:
        The value with its tensors replaced. A container in which nothing changed is the same object as before.
    """
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return _map_sequence(value, function)
    if isinstance(value, dict):
        changed = {key: map_tensors(item, function) for key, item in value.items()}
        return value if all(value[key] is item for key, item in changed.items()) else type(value)(changed)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _map_dataclass(value, function)
    return value


def _map_sequence(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    changed = [map_tensors(item, function) for item in value]
    if all(old is new for old, new in zip(value, changed, strict=True)):
        return value
    return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)


def _map_dataclass(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    names = [field.name for field in dataclasses.fields(value) if field.init]
    changed = {name: map_tensors(getattr(value, name), function) for name in names}
    if all(getattr(value, name) is item for name, item in changed.items()):
        return value
    return dataclasses.replace(value, **changed)


def list_tensors(value: Any) -> list[torch.Tensor]:
    """All tensors of a nested value, in the order in which `map_tensors` visits them."""
    found: list[torch.Tensor] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    map_tensors(value, note)
    return found


def with_tensors(value: Any, tensors: Iterable[torch.Tensor]) -> Any:
    """The nested value with other tensors in place of its own, in the order of `list_tensors`."""
    waiting = iter(tensors)
    return map_tensors(value, lambda _: next(waiting))
