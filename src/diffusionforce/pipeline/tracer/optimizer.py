"""What an optimiser keeps for its parameters, and what its step takes for a moment.

The state is made in the first step and stays. During a step, implementations that treat many parameters at once hold
temporaries as large as all parameters of a device together; fused ones hold none. On a card PyTorch picks the first
kind where the caller leaves the choice to it, on the CPU it does not, so the choice is made here as on a card.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from diffusionforce.pipeline.tracer.memory import StorageCounter, allocated_bytes
from diffusionforce.pipeline.tracer.numbers import OptimizerTrace

MakeOptimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def trace_optimizer(
    make_optimizer: MakeOptimizer, parameters: Sequence[nn.Parameter], counter: StorageCounter
) -> OptimizerTrace:
    """Run steps for one and for two parameters of each shape, and draw the line through both.

    What a step takes grows with the parameters, and not with how many layers they are of.

    Args:
        make_optimizer: Makes the optimiser.
        parameters: Trained parameters with gradients, at least one.
        counter: The active counter.
    """
    alike: dict[tuple[torch.Size, torch.dtype], list[nn.Parameter]] = {}
    for parameter in parameters:
        alike.setdefault((parameter.shape, parameter.dtype), []).append(parameter)
    all_pairs = [parameter for same in alike.values() for parameter in same[:2]]
    firsts = [same[0] for same in alike.values()]
    some = firsts if len(firsts) < len(all_pairs) else firsts[: max(1, len(firsts) // 2)]
    few, many = _step_bytes(make_optimizer, some, counter), _step_bytes(make_optimizer, all_pairs, counter)
    size_few, size_many = (sum(allocated_bytes(p.nbytes) for p in group) for group in (some, all_pairs))
    share = max(0.0, (many - few) / (size_many - size_few)) if size_many > size_few else 0.0
    return OptimizerTrace(fixed_bytes=max(0, round(many - share * size_many)), share=share)


def state_bytes(make_optimizer: MakeOptimizer | None, counter: StorageCounter) -> Callable[[nn.Parameter], int]:
    """Give a function that tells the size of the state for one parameter; parameters of one shape and dtype share it.

    Args:
        make_optimizer: Makes the optimiser; None has no state.
        counter: The active counter.
    """
    known: dict[tuple[torch.Size, torch.dtype], int] = {}

    def state_of(parameter: nn.Parameter) -> int:
        if make_optimizer is None:
            return 0
        key = parameter.shape, parameter.dtype
        if key not in known:
            known[key] = _state_bytes(
                make_optimizer, nn.Parameter(torch.empty(*key[0], dtype=key[1], device="cpu")), counter
            )
        return known[key]

    return state_of


def _state_bytes(make_optimizer: MakeOptimizer, parameter: nn.Parameter, counter: StorageCounter) -> int:
    parameter.grad = torch.empty_like(parameter)
    optimizer = _as_on_a_card(make_optimizer([parameter]))
    with _numbers_read(counter):
        optimizer.step()
    found = [value for value in optimizer.state[parameter].values() if isinstance(value, torch.Tensor)]
    # Step counters stay on the host, unless the implementation reads them on the card.
    counts_on_card = any(group.get("fused") or group.get("capturable") for group in optimizer.param_groups)
    return sum(allocated_bytes(value.nbytes) for value in found if value.dim() or counts_on_card)


def _step_bytes(make_optimizer: MakeOptimizer, parameters: list[nn.Parameter], counter: StorageCounter) -> int:
    """Peak of a step above what is held before it, once the state is there."""
    optimizer = _as_on_a_card(make_optimizer(parameters))
    with _numbers_read(counter):
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


@contextmanager
def _numbers_read(counter: StorageCounter) -> Iterator[None]:
    """Optimisers read their step counters back; any number will do."""
    before, counter.read_scalar = counter.read_scalar, lambda: 1.0
    try:
        yield
    finally:
        counter.read_scalar = before
