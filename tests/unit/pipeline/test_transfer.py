import torch
from tests.support.virtual_devices import real_of, to_virtual, virtual_device

from diffusionforce.pipeline.transfer import Hop, Transfers

FIRST, SECOND = virtual_device(0), virtual_device(1)


def test_a_copy_carries_values_and_no_history():
    transfers, sent = Transfers(), to_virtual(torch.ones(2), FIRST).requires_grad_()
    received = transfers.receive(transfers.send(sent, SECOND))
    assert received.device == SECOND and not received.requires_grad
    assert torch.equal(real_of(received), torch.ones(2))
    assert transfers.num_copies == 1


def test_what_is_there_already_does_not_travel():
    transfers, tensor = Transfers(), torch.ones(2)
    assert transfers.move(tensor, torch.device("cpu")).data_ptr() == tensor.data_ptr()
    assert transfers.num_copies == 0


def test_a_hop_brings_the_gradient_back():
    transfers, tensor = Transfers(), to_virtual(torch.ones(2), FIRST).requires_grad_()
    (Hop.apply(tensor, SECOND, transfers) * 3).sum().backward()
    assert tensor.grad is not None and tensor.grad.device == FIRST
    assert torch.equal(real_of(tensor.grad), torch.full((2,), 3.0))
    assert transfers.num_copies == 2
