"""Trains a tiny Wan through the engine of the product while its memory is taken.

    python -m tests.support.musubi_pressure_runs FOLDER

prints one JSON object.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from tests.support.gradients import with_backward
from tests.support.musubi_engine_runs import (
    NO_MEMORY,
    NUM_STEPS,
    TWO,
    Folders,
    Runs,
    Wishes,
    goes_on,
    kinds,
    lora_equal,
    losses,
    main,
)

from diffusionforce.engines import pressure
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.runs.checkpoints import read_manifest

PLANS = {"two": TWO, "one": None}
ONE = RunPlan(
    devices=(DevicePlan(device="cpu", label="the card"),),
    chunk_sizes=(4,),
    stage_of_chunk=(0,),
    paged=frozenset({1, 3}),
    num_microbatches=1,
)


def run_all(folder: Path) -> dict[str, Any]:
    """Every run, and what is compared of them."""
    runs, whole = Runs(folder), Wishes()
    runs.options |= {"sample_at_first": False, "sample_every_n_steps": 100}
    _, places = runs.train(whole)
    return {
        "stopped_waiting": {name: stopped_waiting(runs, plan, whole, places) for name, plan in PLANS.items()},
        "one_device_again": taken_again_on_one_device(runs, whole, places),
        "uneven": uneven_epochs(runs),
        "paged": paged(runs, whole, places),
    }


def greedy(calls: list[int], *, fails: Callable[[int], bool]) -> Callable[[type[Any]], type[Any]]:
    """The engine's trainer, whose model runs out of memory in some calls, in the forward or the backward pass."""

    def change(trainer: type[Any]) -> type[Any]:
        class Greedy(trainer):
            def compute_loss(self, *args: Any) -> Any:
                loss, metrics = super().compute_loss(*args)
                calls.append(len(calls) + 1)
                return (with_backward(loss, run_out) if fails(calls[-1]) else loss), metrics

        return Greedy

    return change


def run_out(gradient: Any) -> Any:
    """Fails as a backward pass does for which there is no memory."""
    raise torch.OutOfMemoryError(NO_MEMORY)


def stopped_waiting(runs: Runs, plan: RunPlan | None, whole: Wishes, places: Folders) -> dict[str, Any]:
    """A run that waits for memory in its fourth step and is stopped, and one that goes on from there."""
    wishes = Wishes(stops_waiting=True)
    with (
        mock.patch.object(pressure, "TRIES_AFTER_S", (0.0, 0.0)),
        mock.patch.object(torch.cuda, "mem_get_info", return_value=(1 << 30, 24 << 30)),
    ):
        end, stopped = runs.train(wishes, plan=plan, change_trainer=greedy([], fails=lambda call: call > 3))
    rest, name = Wishes(), "tiny.safetensors"
    state = stopped.checkpoints_dir / "tiny-step00000003-state"
    _, later = runs.train(rest, plan=plan, resume=str(state))
    return {
        "end": end.model_dump(),
        "records": kinds(wishes)[-2:],
        "lack": wishes.lack.sentence if wishes.lack is not None else "",
        "goes_on": goes_on(runs.job, state, num_steps=NUM_STEPS),
        "losses_equal": losses(rest) == losses(whole)[3:],
        "lora_equal": lora_equal(later.checkpoints_dir / name, places.checkpoints_dir / name),
    }


def taken_again_on_one_device(runs: Runs, whole: Wishes, places: Folders) -> dict[str, Any]:
    """Steps that run out of memory on a single device: whole again, and in a step of two batches."""
    answer: dict[str, Any] = {}
    with mock.patch.object(pressure, "TRIES_AFTER_S", (0.0, 0.0)):
        again = Wishes()
        _, found = runs.train(again, plan=None, change_trainer=greedy([], fails=lambda call: call == 3))
        name = "tiny.safetensors"
        answer["losses_equal"] = losses(again) == losses(whole)
        answer["lora_equal"] = lora_equal(found.checkpoints_dir / name, places.checkpoints_dir / name)
        answer["warned"] = [record.sentence for record in again.records if record.kind == "warning"]
        common = {"gradient_accumulation_steps": 2, "max_train_steps": 3, "plan": None}
        plain, disturbed = Wishes(), Wishes()
        runs.train(plain, **common)
        # The second batch of the second step, when the first one's gradients are there.
        runs.train(disturbed, change_trainer=greedy([], fails=lambda call: call == 4), **common)
        answer["accumulated_equal"] = losses(disturbed) == losses(plain)
    return answer


def uneven_epochs(runs: Runs) -> dict[str, Any]:
    """Epochs of four batches, three of which make a step: the fourth is a step of its own."""
    common = {"gradient_accumulation_steps": 3, "max_train_steps": 4, "save_state": True}
    whole, rest = Wishes(), Wishes()
    _, places = runs.train(whole, save_every_n_steps=2, **common)
    state = places.checkpoints_dir / "tiny-step00000002-state"
    runs.train(rest, resume=str(state), save_every_n_steps=2, **common)
    return {"step": read_manifest(state).step, "losses_equal": losses(rest) == losses(whole)[2:]}


PAGED_FAILS = {"undisturbed": (), "forward": (16,), "backward": (19,), "again and again": (16, 18, 24)}
"""At which calls of blocks, see `blocks_fail`."""


def paged(runs: Runs, whole: Wishes, places: Folders) -> dict[str, Any]:
    """Runs on one card to which half of the blocks are brought, and that run out of memory in their third step."""
    answer: dict[str, Any] = {}
    for name, calls in PAGED_FAILS.items():
        called, wishes = list[int](), Wishes()
        with mock.patch.object(pressure, "TRIES_AFTER_S", (0.0, 0.0, 0.0)):
            _, found = runs.train(wishes, plan=ONE, change_trainer=blocks_fail(called, calls))
        lora = "tiny.safetensors"
        answer[name] = {
            "losses_equal": losses(wishes) == losses(whole),
            "lora_equal": lora_equal(found.checkpoints_dir / lora, places.checkpoints_dir / lora),
            "warned": [record.sentence for record in wishes.records if record.kind == "warning"],
            "num_calls": len(called),
        }
    return answer


def blocks_fail(called: list[int], calls: Sequence[int]) -> Callable[[type[Any]], type[Any]]:
    """The engine's trainer, in whose model some calls of a block run out of memory: seven are a step of four blocks,
    three of them for the activations that the backward pass makes anew."""

    def failing(block: Any) -> Callable[..., Any]:
        inner = block._forward

        def forward(*args: Any, **named: Any) -> Any:
            called.append(1)
            if len(called) in calls:
                raise torch.OutOfMemoryError(NO_MEMORY)
            return inner(*args, **named)

        return forward

    def change(trainer: type[Any]) -> type[Any]:
        class Failing(trainer):
            def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None:
                super().on_transformer_loaded(args, accelerator, transformer)
                for block in transformer.blocks:
                    block._forward = failing(block)

        return Failing

    return change


if __name__ == "__main__":
    main(run_all)
