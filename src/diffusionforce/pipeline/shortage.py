"""Running out of memory, told apart from other failures and put in numbers."""

import re
from dataclasses import dataclass

import torch

_UNITS = {"bytes": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
# Libraries that want a workspace and get none say so in words of their own.
_OTHER_WORDS = ("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED", "DefaultCPUAllocator")


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """Memory that could not be had."""

    device: torch.device | None
    """Where; None if the message does not say."""
    wanted_bytes: int | None
    """How much more was asked for; None if the message does not say."""
    message: str
    """What PyTorch said."""


def shortage_of(error: BaseException) -> Shortage | None:
    """What was lacking when an exception was raised; None for one that has nothing to do with memory."""
    message = str(error)
    on_card = isinstance(error, torch.OutOfMemoryError)
    if not (on_card or isinstance(error, MemoryError)) and not any(words in message for words in _OTHER_WORDS):
        return None
    card, size = re.search(r"GPU (\d+)", message), re.search(r"allocate ([\d.]+) ?(\w+)", message)
    if card:
        device = torch.device("cuda", int(card[1]))
    else:
        device = None if on_card or "STATUS" in message else torch.device("cpu")
    wanted = round(float(size[1]) * _UNITS[size[2]]) if size and size[2] in _UNITS else None
    return Shortage(device=device, wanted_bytes=wanted, message=message)
