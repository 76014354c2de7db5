"""What an optimiser keeps for its parameters, and what its step takes for a moment.

The state is made in the first step and stays. During a step, implementations that treat many parameters at once hold
temporaries as large as all parameters of a device together; fused ones hold none. On a card PyTorch picks the first
kind where the caller leaves the choice to it, on the CPU it does not, so the choice is made here as on a card.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from diffusionforce.pipeline.tracer.memory import StorageCounter, allocated_bytes
from diffusionforce.pipeline.tracer.numbers import OptimizerTrace

MakeOptimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def trace_optimizer(
    make_optimizer: MakeOptimizer, parameters: Sequence[nn.Parameter], counter: StorageCounter
) -> OptimizerTrace:
    """Run steps for a half and for all of the parameters, and draw the line through both.

    Args:
        make_optimizer: Makes the optimiser.
        parameters: Trained parameters with gradients, at least one.
        counter: The active counter.
    """
    half = list(parameters[: max(1, len(parameters) // 2)])
    few, many = _step_bytes(make_optimizer, half, counter), _step_bytes(make_optimizer, list(parameters), counter)
    size_few, size_many = (sum(allocated_bytes(p.nbytes) for p in some) for some in (half, parameters))
    share = max(0.0, (many - few) / (size_many - size_few)) if size_many > size_few else 0.0
    return OptimizerTrace(fixed_bytes=max(0, round(many - share * size_many)), share=share)


def state_bytes(make_optimizer: MakeOptimizer | None) -> Callable[[nn.Parameter], int]:
    """Give a function that tells the size of the state for one parameter; parameters of one shape and dtype share it.

    Works inside a fake tensor mode.

    Args:
        make_optimizer: Makes the optimiser; None has no state.
    """
    known: dict[tuple[torch.Size, torch.dtype], int] = {}

    def state_of(parameter: nn.Parameter) -> int:
        if make_optimizer is None:
            return 0
        key = parameter.shape, parameter.dtype
        if key not in known:
            known[key] = _state_bytes(make_optimizer, nn.Parameter(torch.empty(*key[0], dtype=key[1], device="cpu")))
        return known[key]

    return state_of


def _state_bytes(make_optimizer: MakeOptimizer, parameter: nn.Parameter) -> int:
    parameter.grad = torch.empty_like(parameter)
    optimizer = _as_on_a_card(make_optimizer([parameter]))
    with _numbers_read():
        optimizer.step()
    found = [value for value in optimizer.state[parameter].values() if isinstance(value, torch.Tensor)]
    # Step counters stay on the host, unless the implementation reads them on the card.
    counts_on_card = any(group.get("fused") or group.get("capturable") for group in optimizer.param_groups)
    return sum(allocated_bytes(value.nbytes) for value in found if value.dim() or counts_on_card)


def _step_bytes(make_optimizer: MakeOptimizer, parameters: list[nn.Parameter], counter: StorageCounter) -> int:
    """Peak of a step above what is held before it, once the state is there."""
    optimizer = _as_on_a_card(make_optimizer(parameters))
    with _numbers_read():
        optimizer.step()
        before = counter.live
        counter.restart_peak()
        optimizer.step()
    return counter.peak - before


def _as_on_a_card(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    for group in optimizer.param_groups:
        if "foreach" in group and group["foreach"] is None and not group.get("fused"):
            group["foreach"] = True
    return optimizer


def _numbers_read() -> StorageCounter:
    """Optimisers read their step counters back; any number will do."""
    return StorageCounter(read_scalar=lambda: 1.0)
