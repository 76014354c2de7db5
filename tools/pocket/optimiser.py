"""The optimiser of the base training: Muon for the matrices of the blocks, AdamW for everything else.

Muon (Keller Jordan, 2024) makes each matrix's update orthogonal, so that all its directions learn at one pace; the
Newton-Schulz iteration that does it is a handful of matrix products, batched here over matrices of one shape. Its
updates are scaled to the size that AdamW's have, so one learning rate serves both.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

_MOMENTUM = 0.95
_NEWTON_SCHULZ_STEPS = 5
_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
_ADAM_BETAS = (0.9, 0.98)
_WEIGHT_DECAY = 0.02


class BaseOptimiser:
    """Sorts a model's parameters into the two optimisers and steps both.

    Args:
        named_parameters: All parameters by name.
        fused: Use the fused AdamW of cards.
    """

    def __init__(self, named_parameters: Iterable[tuple[str, nn.Parameter]], *, fused: bool) -> None:
        block_matrices: list[nn.Parameter] = []
        other_matrices: list[nn.Parameter] = []
        undecayed: list[nn.Parameter] = []
        for name, parameter in named_parameters:
            if parameter.ndim != 2 or "words" in name:
                undecayed.append(parameter)
            elif "blocks." in name and "table" not in name:
                block_matrices.append(parameter)
            else:
                other_matrices.append(parameter)
        self._muon = Muon(block_matrices)
        groups = [
            {"params": other_matrices, "weight_decay": _WEIGHT_DECAY},
            {"params": undecayed, "weight_decay": 0.0},
        ]
        self._adam = torch.optim.AdamW(groups, betas=_ADAM_BETAS, fused=fused or None)

    def step(self, learning_rate: float) -> None:
        """Apply the gradients."""
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        self._adam.step()
        self._muon.step(learning_rate)


class Muon:
    """Muon over matrices, grouped by shape."""

    def __init__(self, matrices: Iterable[nn.Parameter]) -> None:
        self._groups: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
        for matrix in matrices:
            self._groups[tuple(matrix.shape)].append(matrix)
        self._momenta = {
            shape: torch.zeros(len(group), *shape, device=group[0].device) for shape, group in self._groups.items()
        }

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply the gradients."""
        for shape, group in self._groups.items():
            gradients = torch.stack([_gradient(matrix) for matrix in group])
            momentum = self._momenta[shape]
            momentum.lerp_(gradients, 1 - _MOMENTUM)
            update = orthogonalised(gradients.lerp(momentum, _MOMENTUM)) * (0.2 * max(shape) ** 0.5)
            for matrix, change in zip(group, update.unbind(0), strict=True):
                matrix.mul_(1 - learning_rate * _WEIGHT_DECAY).add_(change, alpha=-learning_rate)


def orthogonalised(matrices: Tensor) -> Tensor:
    """Bring all singular values of each matrix near 1.

    Args:
        matrices: (M, rows, columns) float32.

    Returns:
        The same shape and type. The values end between about 0.7 and 1.2, which is near enough.
    """
    x = matrices.bfloat16()
    is_tall = x.shape[1] > x.shape[2]
    if is_tall:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = _NEWTON_SCHULZ
    for _ in range(_NEWTON_SCHULZ_STEPS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return (x.mT if is_tall else x).float()


def _gradient(matrix: nn.Parameter) -> Tensor:
    assert matrix.grad is not None
    return matrix.grad
