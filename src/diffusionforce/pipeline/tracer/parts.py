"""What the parts of a model own, and giving a model that has no contents tensors that code can run on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from diffusionforce.pipeline.tracer.hollow import hollow_like
from diffusionforce.pipeline.tracer.memory import allocated_bytes
from diffusionforce.pipeline.tracer.numbers import PartTrace

_PACKED_ALIGNMENT_BYTES = 256


def part_of(
    modules: Sequence[nn.Module],
    state_bytes: Callable[[nn.Parameter], int],
    *,
    without: Sequence[nn.Module] = (),
) -> PartTrace:
    """Add up what modules own.

    Args:
        modules: The modules; what is shared counts once.
        state_bytes: Gives the optimiser's state of one trained parameter.
        without: Modules inside them to leave out.
    """
    left_out = {id(tensor) for module in without for tensor in _tensors(module)}
    own = {id(t): t for module in modules for t in _tensors(module) if id(t) not in left_out}.values()
    trained = [tensor for tensor in own if isinstance(tensor, nn.Parameter) and tensor.requires_grad]
    weights: dict[str, int] = {}
    paged = 0
    for tensor in own:
        if not tensor.requires_grad:
            name = str(tensor.dtype).removeprefix("torch.")
            weights[name] = weights.get(name, 0) + allocated_bytes(tensor.nbytes)
            paged += -(-tensor.nbytes // _PACKED_ALIGNMENT_BYTES) * _PACKED_ALIGNMENT_BYTES
    return PartTrace(
        weights_bytes=weights,
        trained_bytes=sum(allocated_bytes(parameter.nbytes) for parameter in trained),
        gradient_bytes=sum(allocated_bytes(parameter.nbytes) for parameter in trained),
        optimizer_bytes=sum(map(state_bytes, trained)),
        paged_bytes=paged,
    )


def made_of_nothing(make: Callable[[], nn.Module]) -> nn.Module:
    """Make a module whose tensors have shapes but no memory, so that 28 GB of weights are 28 GB of nothing.

    Args:
        make: Makes it; called with the meta device as default.
    """
    with torch.device("meta"), _nothing_initialised():
        return make()


@contextmanager
def _nothing_initialised() -> Iterator[None]:
    """Skips filling tensors without memory, which takes as long as everything else about them."""
    before = {name: function for name, function in vars(nn.init).items() if name.endswith("_") and callable(function)}
    nn.init.__dict__.update(dict.fromkeys(before, _left_as_it_is))
    try:
        yield
    finally:
        nn.init.__dict__.update(before)


def _left_as_it_is(tensor: torch.Tensor, *_how: Any, **_named: Any) -> torch.Tensor:
    return tensor


def make_hollow(module: nn.Module, *, skipping: Sequence[nn.Module]) -> list[torch.Tensor]:
    """Replace a meta module's tensors by hollow ones, on which its code runs inside of a `HollowMode`.

    Args:
        module: The module; parameters, buffers and tensors kept as plain attributes are replaced.
        skipping: Modules inside it that stay as they are.

    Returns:
        What was put in place.
    """
    skipped = {id(part) for one in skipping for part in one.modules()}
    made: dict[int, torch.Tensor] = {}

    def replaced(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "meta":
            return tensor
        if id(tensor) not in made:
            made[id(tensor)] = hollow_like(tensor)
        return made[id(tensor)]

    for part in module.modules():
        if id(part) in skipped:
            continue
        for table in (part._parameters, part._buffers, vars(part)):
            for name, value in list(table.items()):
                if isinstance(value, torch.Tensor):
                    table[name] = replaced(value)  # pyright: ignore[reportArgumentType]
    return list(made.values())


def _tensors(module: nn.Module) -> list[torch.Tensor]:
    found: list[Any] = [*module.parameters(), *module.buffers()]
    return found
