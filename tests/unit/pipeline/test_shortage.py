"""What a failed allocation says, in numbers."""

import pytest
import torch

from diffusionforce.pipeline.shortage import shortage_of

ON_CARD = (
    "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 1 has a total capacity of 15.57 GiB of which 812.00 MiB "
    "is free."
)


@pytest.mark.parametrize(
    ("error", "device", "wanted_bytes"),
    [
        (torch.OutOfMemoryError(ON_CARD), torch.device("cuda", 1), 3 << 29),
        (torch.OutOfMemoryError("CUDA out of memory."), None, None),
        (torch.OutOfMemoryError("Tried to allocate 512 bytes. GPU 0 has"), torch.device("cuda", 0), 512),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), None, None),
        (RuntimeError("DefaultCPUAllocator: not enough memory"), torch.device("cpu"), None),
        (MemoryError(), torch.device("cpu"), None),
    ],
)
def test_a_failed_allocation(error: Exception, device: torch.device | None, wanted_bytes: int | None):
    shortage = shortage_of(error)
    assert shortage is not None
    assert (shortage.device, shortage.wanted_bytes) == (device, wanted_bytes)


@pytest.mark.parametrize("error", [RuntimeError("shape mismatch"), ValueError("out of memory?"), KeyboardInterrupt()])
def test_other_failures_are_none(error: BaseException):
    assert shortage_of(error) is None
