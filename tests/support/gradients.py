"""Gradients: those of two runs of the same model compared, parameter by parameter, and some that go wrong."""

from collections.abc import Callable
from typing import Any

import torch

Gradients = dict[str, torch.Tensor | None]


def gradient_differences(expected: Gradients, found: Gradients, *, tolerance: float = 1e-6) -> list[str]:
    """What differs, one line a parameter; empty if the runs agree.

    Args:
        expected: Gradients of the reference by parameter name; None where a parameter has none.
        found: Those of the run under test.
        tolerance: Largest difference allowed, relative to the largest entry of the expected gradient.
    """
    assert expected, "there is nothing to compare"
    lines = [f"{name}: only in one of the two runs" for name in sorted(expected.keys() ^ found.keys())]
    for name in sorted(expected.keys() & found.keys()):
        reference, gradient = expected[name], found[name]
        if (reference is None) != (gradient is None):
            lines.append(f"{name}: {'lost' if gradient is None else 'should have none'}")
        elif reference is not None and gradient is not None:
            scale = reference.abs().max().clamp_min(1e-30)
            difference = ((gradient - reference).abs().max() / scale).item()
            if not difference <= tolerance:
                lines.append(f"{name}: differs by {difference:.2e} of its largest entry")
    return lines


def with_backward(loss: torch.Tensor, change: Callable[[Any], Any]) -> Any:
    """A loss whose gradient is changed on its way back; the change may raise."""
    return _WithBackward.apply(loss, change)


class _WithBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: torch.Tensor, change: Callable[[Any], Any]) -> torch.Tensor:
        ctx.change = change
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.change(gradients[0]), None
