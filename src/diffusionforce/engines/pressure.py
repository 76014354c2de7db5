"""Memory that another program takes in the middle of a run: a game is started, and a step that fitted no longer does.

That is no reason to end the run. The step is taken again, at once and after moments, since much of what programs take
they give back; then the run waits, holding what it has, until there is room or somebody says to try again.

Memory that the run itself wants beyond its budget is another matter: no waiting helps, and it ends with an autopsy.
"""

import gc
import time
from collections.abc import Callable

import psutil
import torch

from diffusionforce.engines.contract import Controls, Lack, Report
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.pipeline.aside import drop_locals
from diffusionforce.pipeline.shortage import Shortage, shortage_of
from diffusionforce.rig import in_gb
from diffusionforce.wire import Warn

TRIES_AFTER_S = (0.0, 2.0, 8.0)
"""How long after each failure a step is tried once more, before the run waits."""
_LEAST_WANTED_BYTES = 256 << 20
"""Looked for before the run goes on by itself, where the failure named less: the piece that failed is not the last."""


class Pressure:
    """Decides whether a step that ran out of memory is taken again.

    Args:
        plan: The run's plan, if it has one.
        controls: Lets the run wait.
        report: Takes the records.
        sleep: Waits for seconds; for tests.
    """

    def __init__(
        self,
        *,
        plan: RunPlan | None,
        controls: Controls,
        report: Report,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._plan, self._controls, self._report, self._sleep = plan, controls, report, sleep
        self._fitted = False
        self._failures = 0

    def note_step(self, step: int) -> None:
        """Take in that a step was taken."""
        if self._failures:
            self._report(
                Warn(
                    sentence=f"Step {step} did not fit at first, because another program took memory; it was tried "
                    f"{self._failures + 1} times.",
                    hint="Nothing is lost or different by it. Close the other program to be rid of the delay.",
                    step=step,
                )
            )
        self._fitted, self._failures = True, 0

    def makes_room(self, error: BaseException, *, step: int) -> bool:
        """Let go what the failed step held, and wait for room; tells whether the step is to be taken again.

        Whoever was told to take it again asks first whether the run is to stop.

        Args:
            error: What the step raised.
            step: Its number.
        """
        shortage = shortage_of(error)
        if shortage is None or not self._is_foreign(shortage):
            return False
        drop_locals(error)
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        self._failures += 1
        if self._failures <= len(TRIES_AFTER_S):
            self._sleep(TRIES_AFTER_S[self._failures - 1])
        else:
            self._controls.wait_while(lambda: self._lack(shortage, step=step))
        return True

    def _is_foreign(self, shortage: Shortage) -> bool:
        """Whether it fitted before, or would within the budget, so that somebody else must have taken the memory."""
        planned = self._planned(shortage)
        if planned is None or planned.budget_bytes is None or shortage.wanted_bytes is None:
            return self._fitted
        return planned.would_hold(held_bytes=_held_bytes(shortage.device), wanted_bytes=shortage.wanted_bytes)

    def _planned(self, shortage: Shortage) -> DevicePlan | None:
        if self._plan is None or shortage.device is None:
            return None
        return self._plan.of_device(str(shortage.device))

    def _lack(self, shortage: Shortage, *, step: int) -> Lack | None:
        """What is lacking for the step, now; None once there is room."""
        wanted_bytes = max(shortage.wanted_bytes or 0, _LEAST_WANTED_BYTES)
        free_bytes = _free_bytes(shortage.device)
        if free_bytes is None or free_bytes >= wanted_bytes:
            return None
        planned = self._planned(shortage)
        where = planned.label if planned is not None else _name(shortage.device)
        return Lack(
            sentence=f"Another program took memory of {where}: {in_gb(free_bytes)} are free, and step {step} needs "
            f"{in_gb(wanted_bytes)} more than this run holds.",
            hint="Close the other program: the run goes on by itself then. Resume tries at once; Stop ends it with "
            "what it has.",
        )


def moved_to_ram(moved_bytes: int, *, step: int) -> Lack:
    """What a run waits for whose card memory the system moves to RAM.

    Args:
        moved_bytes: How much it moved.
        step: The step that has just been taken.
    """
    return Lack(
        sentence=f"Windows moved {in_gb(moved_bytes)} of the graphics cards' memory to RAM by step {step}, because "
        "another program wants the cards: every step would be many times slower.",
        hint="Close the other program: the run goes on by itself once the cards have room. Resume goes on at once and "
        "slowly; Stop ends it with what it has. Keep more memory back under memory.reserve_gb next time.",
    )


def free_card_bytes() -> int:
    """Free memory of all cards that this process uses."""
    if not torch.cuda.is_initialized():
        return 0
    return sum(torch.cuda.mem_get_info(index)[0] for index in range(torch.cuda.device_count()))


def _held_bytes(device: torch.device | None) -> int | None:
    return torch.cuda.max_memory_reserved(device) if device is not None and device.type == "cuda" else None


def _free_bytes(device: torch.device | None) -> int | None:
    """Free memory of a card, or of the computer; None where nobody can say, and the next try will tell."""
    if device is None:
        return None
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available


def _name(device: torch.device | None) -> str:
    return f"GPU {device.index}" if device is not None and device.type == "cuda" else "the computer"
