"""The engine on a processor, where it was not meant to be: for tiny runs alone, which show that everything fits."""

import importlib
from collections.abc import Callable
from typing import Any

import torch


def let_engine_import() -> None:
    """Let the engine's imports find what they ask for.

    It asks for the current card while it is imported. And a torchvision for cards beside a PyTorch for processors has
    operators that cannot be loaded, which the engine does not use.
    """
    if torch.cuda.is_available():
        return
    torch.cuda.current_device = lambda: 0
    names = [name for name in ("register_fake", "register_autograd", "impl") if hasattr(torch.library, name)]
    kept = {name: getattr(torch.library, name) for name in names}
    for name, real in kept.items():
        setattr(torch.library, name, _without_torchvision(real))
    try:
        importlib.import_module("torchvision.utils")
    finally:
        for name, real in kept.items():
            setattr(torch.library, name, real)


def _without_torchvision(real: Callable[..., Any]) -> Callable[..., Any]:
    def register(op: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(op, str) and op.startswith("torchvision::"):
            return lambda function: function
        return real(op, *args, **kwargs)

    return register
