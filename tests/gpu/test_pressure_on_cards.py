"""A card that another program takes the memory of in the middle of a run, played by the allocator's own limit."""

import threading
from pathlib import Path

import pytest
import torch
from tests.support.pocket_runs import FakeControls, Run, tiny_job

from diffusionforce.engines import pressure
from diffusionforce.job import Job
from diffusionforce.wire import Done, Message, Step, Warn

pytestmark = pytest.mark.gpu
CARD = torch.device("cuda", 0)


def limit(share: float) -> None:
    torch.cuda.set_per_process_memory_fraction(share, CARD)


def job(folder: Path) -> Job:
    # Of one picture a batch: larger ones would be cut first.
    return tiny_job(folder, steps=6, devices__use=["cuda:0"], lora__dropout=0.2, training__batch_size=1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card")
@pytest.mark.parametrize("waits", [False, True])
def test_a_step_whose_memory_is_taken_is_taken_again_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    undisturbed = Run(job(tmp_path / "undisturbed"))
    timers: list[threading.Timer] = []

    def take_memory(message: Message, _controls: FakeControls) -> None:
        if isinstance(message, Step) and message.step == 3:
            torch.cuda.empty_cache()  # What is cached would serve the next step.
            limit(torch.cuda.memory_reserved(CARD) / torch.cuda.get_device_properties(CARD).total_memory)
            if not waits:
                timers.append(threading.Timer(1.0, limit, (1.0,)))
                timers[-1].start()

    def give_back(self: FakeControls, find_lack) -> None:
        self.lacks.append(find_lack())
        limit(1.0)

    monkeypatch.setattr(pressure, "TRIES_AFTER_S", (0.0,) if waits else (0.0, 2.0, 8.0))
    monkeypatch.setattr(FakeControls, "wait_while", give_back)
    if waits:  # The limit is the allocator's: the card itself has room.
        monkeypatch.setattr(pressure, "_free_bytes", lambda device: 0)
    try:
        run = Run(job(tmp_path / "disturbed"), take_memory)
    finally:
        limit(1.0)
        for timer in timers:
            timer.join()
    assert isinstance(run.end, Done) and len(run.losses) == 6
    assert run.losses == undisturbed.losses
    assert len(run.controls.lacks) == (1 if waits else 0)
    (warning,) = [one for one in run.of_kind(Warn) if "did not fit at first" in one.sentence]
    assert warning.step == 4
