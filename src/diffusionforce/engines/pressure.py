"""Memory that another program takes in the middle of a run: a game is started, and a step that fitted no longer does.

That is no reason to end the run. The step is taken again: at once, since what was kept for later is let go first; in
smaller pieces, down to one picture at a time; and after moments, since much of what programs take they give back. Then
the run waits, holding what it has, until there is room or somebody says to try again. Smaller pieces take longer, so
after some steps the whole is tried again, ever more seldom where it still does not fit.

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
from diffusionforce.pipeline.portions import Portions
from diffusionforce.pipeline.shortage import Shortage, shortage_of
from diffusionforce.rig import in_gb
from diffusionforce.wire import Warn

TRIES_AFTER_S = (0.0, 2.0, 8.0)
"""How long after each failure a step is tried once more, before the run waits; those in smaller pieces do not count."""
WHOLE_AGAIN_STEPS = 20
"""After so many steps in smaller pieces the whole is tried again, after twice as many where that failed."""
_SELDOM_STEPS = 640
_PROVEN_STEPS = 2
"""What Windows moved to RAM is seen only after a step."""
MOST_IN_VAIN = 5
"""So often a step is taken again that fails although there is room for it."""
_LEAST_WANTED_BYTES = 256 << 20
"""Looked for before the run goes on by itself, where the failure named less: the piece that failed is not the last."""


class Pressure:
    """Decides whether a step that ran out of memory is taken again, and in which pieces.

    Args:
        plan: The run's plan, if it has one.
        controls: Lets the run wait.
        report: Takes the records.
        portions: How much of a step is on the devices at once; changed in place.
        sleep: Waits for seconds; for tests.
    """

    def __init__(
        self,
        *,
        plan: RunPlan | None,
        controls: Controls,
        report: Report,
        portions: Portions,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._plan, self._controls, self._report, self._sleep = plan, controls, report, sleep
        self._portions = portions
        self._fitted = False
        self._failures = self._num_waits = self._in_vain = 0
        """Of this step."""
        self._cuts = 0
        """How often pieces were made smaller; they may be whole again for a try."""
        self._is_news = False
        """Whether they were made smaller for this step and nobody knows."""
        self._small_steps = self._whole_steps = 0
        self._small_for = WHOLE_AGAIN_STEPS

    def note_step(self, step: int) -> None:
        """Take in that a step was taken."""
        if self._is_news:
            self._report(_cut_smaller(step, self._portions))
        elif self._num_waits:
            self._report(
                Warn(
                    sentence=f"Step {step} did not fit at first, because another program took memory; it was tried "
                    f"{self._failures + 1} times.",
                    hint="Nothing is lost or different by it. Close the other program to be rid of the delay.",
                    step=step,
                )
            )
        self._look_whether_whole(step)
        self._fitted, self._is_news = True, False
        self._failures = self._num_waits = self._in_vain = 0

    def takes_less(self, step: int) -> bool:
        """Put less of a step on the devices, where the system has moved their memory; tells whether it was possible.

        Args:
            step: The last that was taken.
        """
        if not self._cut():
            return False
        _let_go()
        if self._is_news:
            self._report(_cut_smaller(step + 1, self._portions))
        self._is_news = False
        return True

    def makes_room(self, error: BaseException, *, step: int) -> bool:
        """Let go what the failed step held, and see to room; tells whether the step is to be taken again.

        Whoever was told to take it again asks first whether the run is to stop.

        Args:
            error: What the step raised.
            step: Its number.
        """
        shortage = shortage_of(error)
        if shortage is None or not self._is_foreign(shortage):
            return False
        drop_locals(error)
        _let_go()
        self._failures += 1
        if (self._failures > 1 or self._is_trial) and self._cut():
            return True
        self._num_waits += 1
        if self._num_waits <= len(TRIES_AFTER_S):
            self._sleep(TRIES_AFTER_S[self._num_waits - 1])
            return True
        if self._lack(shortage, step=step) is not None:
            self._controls.wait_while(lambda: self._lack(shortage, step=step))
            return True
        # There is room, and it fails all the same: memory in crumbs, or a library's own limit.
        self._in_vain += 1
        self._sleep(TRIES_AFTER_S[-1])
        return self._in_vain < MOST_IN_VAIN

    @property
    def _is_trial(self) -> bool:
        """Whether the whole is being tried again."""
        return self._cuts > 0 and not self._portions.is_smaller

    def _cut(self) -> bool:
        """Make pieces smaller, after a try of the whole as small as they were; tells whether they could be."""
        self._small_steps = self._whole_steps = 0
        if self._is_trial:
            self._small_for = min(2 * self._small_for, _SELDOM_STEPS)
            has_cut = [self._portions.take_less() for _ in range(self._cuts)]
            return any(has_cut)
        if not self._portions.take_less():
            return False
        self._cuts += 1
        self._is_news = True
        return True

    def _look_whether_whole(self, step: int) -> None:
        """Count steps, try the whole when it is time, and tell when two steps of it have fitted."""
        if self._portions.is_smaller:
            self._small_steps += 1
            if self._small_steps >= self._small_for:
                self._portions.take_as_planned()
        elif self._cuts:
            self._whole_steps += 1
            if self._whole_steps == _PROVEN_STEPS:
                self._cuts, self._small_for = 0, WHOLE_AGAIN_STEPS
                self._report(
                    Warn(sentence=f"Whole batches fit again since step {step + 1 - _PROVEN_STEPS}.", step=step)
                )

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
            f"{in_gb(wanted_bytes)} more than this run holds, even with {self._portions.words}.",
            hint="Close the other program: the run goes on by itself then. Resume tries at once; Stop ends it with "
            "what it has.",
        )


def _let_go() -> None:
    """Hand back what nobody uses: the allocator keeps it for later."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _cut_smaller(step: int, portions: Portions) -> Warn:
    return Warn(
        sentence=f"From step {step} on the model sees {portions.words}, because another program took memory.",
        hint="Batches and learning stay the same, and nothing is lost; it only takes longer. Close the other program: "
        "whole batches are tried again by themselves.",
        step=step,
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
    """Free memory of a card, of the fullest where the message names none, or of the computer; None: nobody can say."""
    if device is None:
        if not torch.cuda.is_initialized():
            return None
        return min(torch.cuda.mem_get_info(index)[0] for index in range(torch.cuda.device_count()))
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available


def _name(device: torch.device | None) -> str:
    return f"GPU {device.index}" if device is not None and device.type == "cuda" else "the computer"
