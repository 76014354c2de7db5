"""How much memory libraries take on a card for one thread and one stream, read from the card itself.

The size differs by generation of the chip, by version of the libraries and by environment variables; it is the same for
all threads and all streams. A thread that has never multiplied shows it.
"""

import threading
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812

from diffusionforce.ugpum.allocator import WorkspaceSizes

_SIDE = 256


def workspace_sizes(device: torch.device) -> WorkspaceSizes:
    """Measure the workspaces of a card; zeros on devices that have none.

    Args:
        device: The card.
    """
    if device.type != "cuda":
        return WorkspaceSizes(product_bytes=0)
    taken: list[int] = []
    x = torch.ones(_SIDE, _SIDE, dtype=torch.bfloat16, device=device)
    bias = torch.ones(_SIDE, dtype=torch.bfloat16, device=device)

    def multiply_first() -> None:
        torch.cuda.set_device(device)  # A thread without a context would be warned of it.
        for product in (lambda: F.linear(x, x), lambda: F.linear(x, x, bias)):
            taken.append(_growth_bytes(device, product))

    thread = threading.Thread(target=multiply_first, name="workspace probe")
    thread.start()
    thread.join()
    torch._C._cuda_clearCublasWorkspaces()  # pyright: ignore
    return WorkspaceSizes(product_bytes=taken[0], biased_bytes=taken[1])


def _growth_bytes(device: torch.device, call: Callable[[], object]) -> int:
    before = torch.cuda.memory_allocated(device)
    call()
    torch.cuda.synchronize(device)
    return torch.cuda.memory_allocated(device) - before
