"""What goes over the links of the cards of a run."""

from tests.support import rigs

from diffusionforce.gui.model.devices import DeviceView
from diffusionforce.gui.model.link_traffic import HISTORY, LinkTraffic
from diffusionforce.rig import Traffic

VIEWS = tuple(DeviceView(index=index, device=f"cuda:{index}", label=f"GPU {index}") for index in (0, 1))


def test_a_link_is_told_against_what_it_carries():
    traffic = LinkTraffic()
    assert traffic.lines(VIEWS) == ()
    traffic.take_cards(rigs.report().cards)
    for rate in (0.2e9, 0.4e9):
        traffic.read([Traffic(index=0, bytes_per_s=rate), Traffic(index=1, bytes_per_s=None)])
    (line,) = traffic.lines(VIEWS)
    assert (line.index, line.label) == (0, "GPU 0")
    assert line.slot.startswith("4.0 × ") and line.rate.startswith("0.4 of ") and line.rate.endswith(" GB/s")
    assert line.shares[1] == 2 * line.shares[0] < 0.1
    traffic.forget()
    assert traffic.lines(VIEWS) == ()


def test_a_link_that_the_driver_does_not_describe_is_told_without_a_limit():
    traffic = LinkTraffic()
    for _ in range(2 * HISTORY):
        traffic.read([Traffic(index=1, bytes_per_s=3e9)])
    (line,) = traffic.lines(VIEWS)
    assert (line.slot, line.rate, len(line.shares)) == ("", "3.0 GB/s", HISTORY)
    assert traffic.lines([DeviceView(index=0, device="cpu", label="CPU")]) == ()
