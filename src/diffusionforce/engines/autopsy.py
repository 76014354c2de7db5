"""What is said when memory runs out in the middle of a training: where, at what, and how that differs from the plan."""

import traceback
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Literal

import torch

from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.errors import CardMemoryError
from diffusionforce.pipeline.shortage import Shortage
from diffusionforce.rig import in_gb
from diffusionforce.wire import Warn

_LESS_MEMORY = (
    "Close other programs, choose smaller pictures or a smaller training.batch_size, or switch "
    "training.gradient_checkpointing on."
)
"""Where nothing was forecast, nothing better can be said."""

Phase = Literal["forward", "backward", "optimizer"]
_WORDS: dict[Phase, str] = {
    "forward": "in the forward pass",
    "backward": "in the backward pass",
    "optimizer": "in the optimiser's step",
}


def phase_of(error: BaseException) -> Phase:
    """In which part of a training step an exception was raised, told by the calls that it went through."""
    names = [(code.co_filename.replace("\\", "/"), code.co_name) for code in _codes(error.__traceback__)]
    if any("torch/optim/" in file for file, _ in names):
        return "optimizer"
    return "backward" if any(name == "backward" for _, name in names) else "forward"


def out_of_memory(
    error: BaseException, shortage: Shortage, *, doing: str, kept: str, plan: RunPlan | None, bucket: str
) -> CardMemoryError:
    """The end of a run that ran out of memory, in words and numbers.

    Args:
        error: What was raised.
        shortage: What was lacking.
        doing: When it was: `in the backward pass of step 3`.
        kept: What of the run is saved, in a sentence.
        plan: The run's plan, if it has one.
        bucket: What was being trained on, for example `1024 x 1024, 4 at a time`.
    """
    device = shortage.device
    planned = plan.of_device(str(device)) if plan is not None and device is not None else None
    more = f": {in_gb(shortage.wanted_bytes)} more did not fit" if shortage.wanted_bytes else ""
    sentence = f"{_name(device, planned)} ran out of memory {doing}{f' ({bucket})' if bucket else ''}{more}."
    comparison = _planned_and_seen(device, planned)
    return CardMemoryError(
        " ".join(filter(None, [sentence, comparison])),
        hint=kept if plan is not None else f"{kept} {_LESS_MEMORY}",
        detail="\n".join([*_numbers(shortage, planned), "".join(traceback.format_exception(error))]),
        device=str(device) if device is not None else "",
        wanted_bytes=shortage.wanted_bytes,
        held_bytes=torch.cuda.max_memory_reserved(device) if device is not None and device.type == "cuda" else None,
    )


def kept_words(saved_step: int, *, num_done: int, goes_on: bool = False) -> str:
    """What of a run is saved that ends within a step.

    Args:
        saved_step: Of its last LoRA file; 0 where it has written none.
        num_done: Steps that were taken.
        goes_on: Whether it began with a checkpoint.
    """
    if saved_step:
        return f"The LoRA of step {saved_step} is saved."
    if goes_on:
        return "Nothing new was saved: the checkpoint that the run began with is still there."
    if num_done:
        return "The LoRA was being changed at that moment, so there is none to save."
    return "Nothing had been trained yet."


def step_words(error: BaseException, *, step: int) -> str:
    """When it was, for an exception in a training step."""
    return f"{_WORDS[phase_of(error)]} of step {step}"


def skipped_samples(shortage: Shortage, *, step: int, plan: RunPlan | None, tries_again: bool) -> Warn:
    """The warning that samples were left out.

    Args:
        shortage: What was lacking.
        step: Step after which they were to be made.
        plan: The run's plan, if it has one.
        tries_again: Whether more blocks step aside next time.
    """
    planned = plan.of_device(str(shortage.device)) if plan is not None and shortage.device is not None else None
    more = f": {in_gb(shortage.wanted_bytes)} more did not fit" if shortage.wanted_bytes else ""
    again = "For the next ones more blocks step aside. " if tries_again else ""
    name = _name(shortage.device, planned)
    return Warn(
        sentence=f"The samples of step {step} were left out: {name} ran out of memory{more}.",
        hint=f"The training goes on as if nothing had been. {again}Smaller samples need less: lower samples.width and "
        "samples.height, or samples.num_frames.",
        step=step,
    )


def _name(device: torch.device | None, planned: DevicePlan | None) -> str:
    if planned is not None:
        return planned.label
    if device is None:
        return "The graphics card"
    return f"GPU {device.index}" if device.type == "cuda" else "The computer"


def _planned_and_seen(device: torch.device | None, planned: DevicePlan | None) -> str:
    if planned is None or planned.planned_bytes is None or device is None:
        return ""
    seen = f", it held up to {in_gb(_peak_bytes(device))}" if device.type == "cuda" else ""
    limit = f" of {in_gb(planned.budget_bytes)}" if planned.budget_bytes is not None else ""
    return f"Planned were {in_gb(planned.planned_bytes)}{limit}{seen}."


def _numbers(shortage: Shortage, planned: DevicePlan | None) -> Iterator[str]:
    if planned is not None:
        yield (
            f"planned: training {planned.planned_bytes}, sampling {planned.planned_sampling_bytes}, "
            f"budget {planned.budget_bytes}, total {planned.total_bytes} bytes"
        )
    device = shortage.device
    if device is not None and device.type == "cuda":
        yield (
            f"seen: allocated at most {_peak_bytes(device)}, reserved at most "
            f"{torch.cuda.max_memory_reserved(device)} bytes"
        )
    yield f"wanted: {shortage.wanted_bytes} bytes more"


def _peak_bytes(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device)


def _codes(trace: TracebackType | None) -> Iterator[CodeType]:
    while trace is not None:
        yield trace.tb_frame.f_code
        trace = trace.tb_next
