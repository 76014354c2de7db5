"""Words for a graphics card that stopped in the middle of a run: lost, reset, overheated, or taken down by a kernel.

CUDA reports these as errors of whatever was asked of the card next, often in another place than where it happened, and
no call of this process works on any card afterwards. So nothing can be saved any more; what was saved before stays.
"""

import re
from dataclasses import dataclass

_GO_ON = "What was saved stays: go on from the newest checkpoint of this run."


@dataclass(frozen=True, kw_only=True)
class _Loss:
    """One kind of failure."""

    pattern: str
    """What the message says."""
    sentence: str
    """What happened to the card."""
    hint: str


_LOSSES = (
    _Loss(
        pattern=r"GPU is lost|cudaErrorDevicesUnavailable|busy or unavailable|no CUDA-capable device",
        sentence="{name} is gone: the system does not see it any more, or another program has it for itself.",
        hint="Restart the computer. If it happens again: check the card's power cables and its seat in the slot, and "
        "take back overclocking.",
    ),
    _Loss(
        pattern=r"launch timed out|cudaErrorLaunchTimeout",
        sentence="{name} took so long over one piece of work that the system reset its driver.",
        hint="The card that the display is plugged into has a time limit: train on the other one, choose smaller "
        "pictures, or raise TdrDelay as the page Rig says.",
    ),
    _Loss(
        pattern=r"uncorrectable (?:ECC|NVLink) error|cudaErrorECCUncorrectable|hardware stack error",
        sentence="{name} found an error in its own memory.",
        hint="Restart the computer. If it happens again, the card or its memory is damaged: test it alone, without "
        "overclocking.",
    ),
    _Loss(
        pattern=r"unspecified launch failure|illegal memory access|misaligned address|illegal instruction"
        r"|cudaErrorLaunchFailure|cudaErrorIllegalAddress|invalid program counter|CUDA error: unknown error",
        sentence="{name} stopped in the middle of its work, and the driver gave up.",
        hint="An unstable card does this most often: take back overclocking and undervolting, look at its temperature, "
        "and install the newest driver. If it happens at the same step each time, please report it, with the detail.",
    ),
    _Loss(
        pattern=r"driver shutting down|cudaErrorCudartUnloading|initialization error|system (?:not yet initialized|has "
        r"unsupported)|driver/library version mismatch|CUDA driver version is insufficient",
        sentence="{name} cannot be used: its driver was updated or stopped while the run went on.",
        hint="Restart the computer, and go on.",
    ),
)


def card_loss(message: str) -> tuple[str, str] | None:
    """Return sentence and hint for an error of a card that is no lack of memory; None for any other error.

    Args:
        message: What PyTorch says.
    """
    if "CUDA" not in message and "cuda" not in message and "NVML" not in message:
        return None
    loss = next((loss for loss in _LOSSES if re.search(loss.pattern, message, re.IGNORECASE)), None)
    if loss is None:
        return None
    card = re.search(r"\bGPU (\d+)|\bdevice[ :=]+(\d+)", message)
    name = f"GPU {card[1] or card[2]}" if card else "A graphics card"
    return loss.sentence.format(name=name), f"{_GO_ON}\n{loss.hint}"
