"""The last speed test of this machine, and what follows from it in words."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from diffusionforce.job import data_dir, write_whole
from diffusionforce.rig.cards import Card
from diffusionforce.rig.findings import Finding, label
from diffusionforce.wire import to_json
from diffusionforce.wire.speed import DeviceSpeed, SpeedTest, read_speed_record

FILE_NAME = "speed-test.json"
LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.97e9, 5: 3.94e9, 6: 7.56e9}
"""What one lane of a PCIe generation carries one way."""
_REACHED_SHARE = 0.6
"""A link that is well delivers more than this share of what its lanes carry."""
_CROSSING_BYTES = 42e6
"""What crosses for a picture of 1024 x 1024 in a model of 14 billion parameters."""
_SLOW_SHARE = 0.7
_SLOW_LINK = 6e9


def keep_speed_test(test: SpeedTest, path: Path | None = None) -> None:
    """Keep a result for the next start of the window.

    Args:
        test: The result.
        path: The file. None: in the data folder.

    Raises:
        OSError: The disk refuses.
    """
    path = path or data_dir() / FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, to_json(test))


def last_speed_test(path: Path | None = None) -> SpeedTest | None:
    """Return the last result, None where there is none that can be read."""
    try:
        record = read_speed_record((path or data_dir() / FILE_NAME).read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, SpeedTest) else None


def speed_of(card: Card, test: SpeedTest | None) -> DeviceSpeed | None:
    """Return what a card was measured to deliver, None where it was not."""
    if test is None:
        return None
    return next((speed for speed in test.devices if speed.uuid and speed.uuid == card.uuid), None)


def link_bytes_per_s(card: Card) -> float | None:
    """Return what the link of a card carries one way at its best, None where the driver does not tell."""
    lane = LANE_BYTES_PER_S.get(card.pcie_generation_max or 0)
    return lane * card.pcie_width if lane is not None and card.pcie_width else None


def advise(test: SpeedTest, *, cards: Sequence[Card]) -> tuple[Finding, ...]:
    """Return what follows from a speed test, what to do first."""
    if not cards:
        return tuple(_about_processor(test))
    found = [finding for card in cards for finding in _about_link(card, speed_of(card, test))]
    found += _about_pair(test, cards)
    order = ("problem", "warning", "note", "good")
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def _about_processor(test: SpeedTest) -> Iterator[Finding]:
    speed = test.devices[0] if test.devices else None
    if speed is not None:
        yield Finding(
            severity="note",
            sentence=f"The processor reaches {speed.flops / 1e9:,.0f} GFLOPS. That suits the pocket demo.",
            hint="Large models need cards, which reach a thousand times as much.",
        )


def _about_link(card: Card, speed: DeviceSpeed | None) -> Iterator[Finding]:
    if speed is None or speed.to_device is None:
        return
    rate, best = speed.to_device, link_bytes_per_s(card)
    per_gb_ms = 1e12 / rate
    if best is not None and rate < _REACHED_SHARE * best:
        yield Finding(
            severity="warning",
            sentence=f"{label(card)} gets {rate / 1e9:.1f} GB/s from RAM; its slot could carry {best / 1e9:.0f} GB/s.",
            hint="Look whether another device shares its lanes, at a riser cable, and at the slot in the firmware.",
        )
    elif rate < _SLOW_LINK:
        yield Finding(
            severity="note",
            sentence=f"{label(card)} gets {rate / 1e9:.1f} GB/s from RAM, which is what its slot carries.",
            hint=f"Splitting suits it. Swapping moves a gigabyte in {per_gb_ms:.0f} ms; prefer it on a faster card.",
        )
    else:
        yield Finding(
            severity="good",
            sentence=f"{label(card)} gets {rate / 1e9:.1f} GB/s from RAM: swapping moves a gigabyte in "
            f"{per_gb_ms:.0f} ms.",
        )


def _about_pair(test: SpeedTest, cards: Sequence[Card]) -> Iterator[Finding]:
    known = [(card, speed) for card in cards if (speed := speed_of(card, test)) is not None]
    if len(known) < 2:
        return
    across = min((speed.across for _, speed in known if speed.across), default=None)
    if across is not None:
        yield Finding(
            severity="good",
            sentence=f"Between the cards go {across / 1e9:.1f} GB/s: a crossing of a large picture takes "
            f"{1000 * _CROSSING_BYTES / across:.0f} ms of a step of seconds.",
        )
    fast = max(known, key=lambda one: one[1].flops)
    for card, speed in known:
        share = speed.flops / fast[1].flops
        if share < _SLOW_SHARE:
            yield Finding(
                severity="note",
                sentence=f"{label(card)} computes at {share:.0%} of {label(fast[0])}.".replace("%", " %"),
                hint="Let the app choose the split: it gives the faster card more of the model.",
            )
