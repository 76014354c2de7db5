"""The engine imported on a processor, in a process of its own: what it expects of a computer with cards is put right.

The product itself refuses to train on a processor, so this is for tests alone.
"""

import importlib
from collections.abc import Callable
from typing import Any

import torch


def import_on_processor() -> None:
    """Put the engine on the import path, and let its imports find what they ask for.

    The wheel of torchvision for cards has operators that cannot be loaded beside a torch for processors; the engine
    uses none of them. And the engine asks for the current card while it is imported.
    """
    torch.set_num_threads(1)
    if not torch.cuda.is_available():
        torch.cuda.current_device = lambda: 0
        _import_torchvision()


def _import_torchvision() -> None:
    names = [name for name in ("register_fake", "register_autograd", "impl") if hasattr(torch.library, name)]
    kept = {name: getattr(torch.library, name) for name in names}
    for name, real in kept.items():
        setattr(torch.library, name, _leaving_out_torchvision(real))
    try:
        importlib.import_module("torchvision.utils")
    finally:
        for name, real in kept.items():
            setattr(torch.library, name, real)


def _leaving_out_torchvision(real: Callable[..., Any]) -> Callable[..., Any]:
    def register(op: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(op, str) and op.startswith("torchvision::"):
            return lambda function: function
        return real(op, *args, **kwargs)

    return register
