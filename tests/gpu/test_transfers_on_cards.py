"""Copies between cards whose tensors are not made yet when they are sent, and are dropped before they have left."""

import pytest
import torch

from diffusionforce.pipeline.transfer import Transfers

NUM_ENTRIES = 1 << 24
SLEEP_CYCLES = 50_000_000
"""Some 25 ms on a card: longer than the host takes for all that follows."""

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]


@pytest.mark.parametrize("direction", [(0, 1), (1, 0), (0, 0)])
def test_the_receiver_waits_for_what_the_sender_has_not_made_yet(direction):
    source, destination = (torch.device("cuda", index) for index in direction)
    transfers = Transfers()
    receiving = torch.cuda.Stream(destination)
    for number in range(1, 6):  # The first round waits for the driver anyway.
        made = torch.zeros(NUM_ENTRIES, device=source)
        with torch.cuda.device(source):
            torch.cuda._sleep(SLEEP_CYCLES)
        made += number
        parcel = transfers.send(made, destination)
        del made
        torch.full((NUM_ENTRIES,), -1.0, device=source)
        with torch.cuda.stream(receiving):
            twice = transfers.receive(parcel) * 2
        receiving.synchronize()
        assert twice.eq(2 * number).all(), f"round {number}"
