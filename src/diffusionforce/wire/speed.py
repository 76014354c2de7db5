"""What the speed test tells: how fast each device computes and is reached, one JSON object a line."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from diffusionforce.wire.messages import LATER, Failed, Record


class SpeedProgress(Record):
    """How far the test is."""

    kind: Literal["speed_progress"] = "speed_progress"
    done: int
    total: int
    what: str
    """What is being measured, in words."""


class DeviceSpeed(Record):
    """What one device delivers. Rates in bytes a second; None where there is nothing to measure."""

    device: str
    """`cuda:0`, or `cpu`."""
    name: str
    uuid: str = ""
    flops: float
    """Multiplications and additions a second, in matrix products of the format in `number_format`."""
    number_format: str
    to_device: float | None = None
    """From locked RAM to the card."""
    from_device: float | None = None
    """From the card to locked RAM."""
    across: float | None = None
    """To the card that is reached most slowly."""
    memory: float | None = None
    """Within the memory of the device: what a copy reads and writes."""


class SpeedTest(Record):
    """The result."""

    kind: Literal["speed_test"] = "speed_test"
    measured_at: str
    """ISO 8601 in UTC."""
    seconds: float
    torch: str
    devices: tuple[DeviceSpeed, ...]


SpeedRecord = SpeedProgress | SpeedTest | Failed
_adapter: TypeAdapter[SpeedRecord] = TypeAdapter(Annotated[SpeedRecord, Field(discriminator="kind")], config=LATER)


def read_speed_record(line: bytes | str) -> SpeedRecord:
    """Read one line of the test.

    Raises:
        ValueError: It is none of its records.
    """
    return _adapter.validate_json(line)
