"""How long the host takes to issue a block's work.

One thread issues the kernels of all cards in turn. Where it takes longer than the cards take to run them, it sets the
pace. Its own time shows where a card has almost nothing to do, with a few tokens.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

_TURNS = 12
_WARM_UP_TURNS = 2


def host_seconds(
    block: Callable[..., Any], args: tuple[torch.Tensor, ...], kwargs: Mapping[str, Any], *, device: torch.device
) -> tuple[float, float]:
    """Seconds until all of a forward and of a backward is issued, medians.

    Args:
        block: The block, on `device`. Its gradients are added to.
        args: Arguments with few tokens; the first gets a gradient.
        kwargs: Keyword arguments.
        device: The card.
    """
    first = args[0].requires_grad_(True)
    forwards: list[float] = []
    backwards: list[float] = []
    for _ in range(_TURNS):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        begin_s = time.perf_counter()
        output = block(*args, **kwargs)
        result = output[0] if isinstance(output, tuple | list) else output
        middle_s = time.perf_counter()
        torch.autograd.backward(result, torch.ones_like(result))
        backwards.append(time.perf_counter() - middle_s)
        forwards.append(middle_s - begin_s)
        first.grad = None
    return statistics.median(forwards[_WARM_UP_TURNS:]), statistics.median(backwards[_WARM_UP_TURNS:])
