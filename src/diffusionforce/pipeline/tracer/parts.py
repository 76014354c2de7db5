"""What the parts of a model own, and giving a model that has no contents tensors that code can run on."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from diffusionforce.pipeline.tracer.memory import allocated_bytes
from diffusionforce.pipeline.tracer.numbers import PartTrace

_PACKED_ALIGNMENT_BYTES = 256
_INITIALISERS = {torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.zero_, torch.Tensor.fill_}


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
    with torch.device("meta"), _NothingToInitialise():
        return make()


class _NothingToInitialise(TorchFunctionMode):
    """Skips filling tensors without memory, which takes as long as everything else about them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _INITIALISERS and args[0].device.type == "meta":
            return args[0]
        return func(*args, **(kwargs or {}))


def fake_tensors(module: nn.Module, *, skipping: Sequence[nn.Module]) -> None:
    """Replace a meta module's tensors by tensors on the CPU; inside a fake tensor mode they have no contents either.

    Args:
        module: The module; parameters, buffers and tensors kept as plain attributes are replaced.
        skipping: Modules inside it that stay as they are.
    """
    skipped = {id(part) for one in skipping for part in one.modules()}
    made: dict[int, torch.Tensor] = {}

    def replaced(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "meta":
            return tensor
        if id(tensor) not in made:
            plain = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
            is_parameter = isinstance(tensor, nn.Parameter)
            made[id(tensor)] = nn.Parameter(plain, requires_grad=tensor.requires_grad) if is_parameter else plain
        return made[id(tensor)]

    for part in module.modules():
        if id(part) in skipped:
            continue
        for table in (part._parameters, part._buffers, vars(part)):
            for name, value in list(table.items()):
                if isinstance(value, torch.Tensor):
                    table[name] = replaced(value)  # pyright: ignore[reportArgumentType]


def _tensors(module: nn.Module) -> list[torch.Tensor]:
    found: list[Any] = [*module.parameters(), *module.buffers()]
    return found
