"""Exceptions in words."""

import errno
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from diffusionforce.errors import WeightsError
from diffusionforce.trainer.endings import failure

CUDA_WORDS = (
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 15.70 GiB of which 1.2 GiB is free."
)


@pytest.mark.parametrize(
    ("error", "sentence", "code"),
    [
        (WeightsError("No weights.", hint="Get them."), "No weights.", 1),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk with here is full.", 1),
        # What libraries say of a full disk was taken for a bug.
        (SafetensorError("I/O error: No space left on device (os error 28)"), "The disk with here is full.", 1),
        (OSError("4000000 requested and 2096896 written"), "The disk with here is full.", 1),
        (RuntimeError("PytorchStreamWriter failed writing file data/0"), "The disk with here is full.", 1),
        (RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534"), "The disk with", 1),
        (PermissionError(errno.EACCES, "Permission denied", "here/samples/a.png"), "here is not writable.", 1),
        (FileNotFoundError(errno.ENOENT, "No such file", "here/a"), "here cannot be written: its folder was moved", 1),
        (
            OSError(errno.EIO, "Input/output error", "a/picture.png"),
            "a/picture.png cannot be used: Input/output error.",
            1,
        ),
        (PermissionError(errno.EACCES, "Permission denied", "x.png"), "x.png cannot be used: Permission denied.", 1),
        (FileNotFoundError(errno.ENOENT, "No such file", "elsewhere"), "This is a bug in DiffusionForce (FileNot", 2),
        (
            FileNotFoundError(errno.ENOENT, "No such file", "no/drive/a.png"),
            "no/drive/a.png cannot be used: No",
            1,
        ),
        (RuntimeError("CUDA error: unspecified launch failure"), "A graphics card stopped in the middle of its", 1),
        (RuntimeError("CUDA error: the launch timed out and was terminated"), "A graphics card took so long over", 1),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "A graphics card stopped in the", 1),
        (RuntimeError("CUDA error: uncorrectable ECC error encountered"), "A graphics card found an error in its", 1),
        (RuntimeError("NVML: GPU is lost (device 1)"), "GPU 1 is gone: the system does not see it any more", 1),
        (RuntimeError("CUDA error: no CUDA-capable device is detected"), "A graphics card is gone", 1),
        (RuntimeError("CUDA error: driver shutting down"), "A graphics card cannot be used: its driver was", 1),
        (RuntimeError("CUDA error: invalid argument"), "This is a bug in DiffusionForce (RuntimeError: CUDA", 2),
        (RuntimeError("unknown error"), "This is a bug in DiffusionForce (RuntimeError: unknown error).", 2),
        (MemoryError(), "The computer ran out of memory.", 1),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory"),
            "The computer ran out of memory.",
            1,
        ),
        (torch.OutOfMemoryError(CUDA_WORDS), "GPU 1 ran out of memory: 2.50 GiB more did not fit.", 1),
        (torch.OutOfMemoryError("gone"), "The graphics card ran out of memory.", 1),
        (ValueError("bad\nworse"), "This is a bug in DiffusionForce (ValueError: bad).", 2),
        (ValueError(), "This is a bug in DiffusionForce (ValueError: no message).", 2),
        (OSError(errno.EIO, "Input/output error"), "This is a bug in DiffusionForce (OSError: [Errno 5]", 2),
        (SystemExit(3), "This is a bug in DiffusionForce (SystemExit: 3).", 2),
    ],
)
def test_each_error_has_its_words_and_exit_code(error: BaseException, sentence: str, code: int):
    failed, found_code = failure(error, place=Path("here"), step=5)
    assert failed.sentence.startswith(sentence)
    assert (found_code, failed.step) == (code, 5)
    assert failed.hint or failed.sentence.startswith("here")


def test_a_bug_keeps_its_traceback():
    try:
        raise ValueError("deep down")
    except ValueError as error:
        failed, _ = failure(error, place=Path("here"), step=None)
    assert "Traceback" in failed.detail and "test_a_bug_keeps_its_traceback" in failed.detail
