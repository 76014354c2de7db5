"""`python -m diffusionforce.trainer.speed_test`: how fast the devices of this machine compute and are reached.

A data sheet knows neither the slot that a card is in nor what else the machine does. So matrix products are timed on
every card, and copies of the size that cross between the parts of a model, in both directions. Without cards the
processor is timed. What was found is kept for the window.

Exit codes: 0 measured, 1 it could not be.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import torch

from diffusionforce.errors import DeviceError, UserError
from diffusionforce.rig.speeds import keep_speed_test
from diffusionforce.runs import data_dir, storage_error, utc_now
from diffusionforce.trainer.forecasting.measuring import measure_rig
from diffusionforce.trainer.forecasting.rigs import rig_here
from diffusionforce.wire import Failed, let_interrupts_through, to_json
from diffusionforce.wire.messages import Record
from diffusionforce.wire.speed import DeviceSpeed, SpeedProgress, SpeedTest

COPY_BYTES = 256 << 20
CPU_COPY_BYTES = 64 << 20
MATRIX_SIZE, CPU_MATRIX_SIZE = 6144, 1024
MEASURE_S = 0.6


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, say what was found, and return the exit code."""
    parser = argparse.ArgumentParser(prog="diffusionforce bench", description="Measure cards and links.")
    parser.add_argument("what", nargs="?", default="rig")
    parser.add_argument("--json", action="store_true", help="print records, one JSON object a line")
    options, unknown = parser.parse_known_args(arguments)
    say: Callable[[Record], None] = _send if options.json else _tell
    try:
        let_interrupts_through()
        if unknown:
            raise UserError(
                f"Unrecognized arguments: {' '.join(unknown)}.", hint="Try: diffusionforce bench rig --help"
            )
        result = measure(lambda progress: say(progress))
        _keep(result)
        _measure_for_forecasts(say)
    except UserError as error:
        say(Failed(sentence=error.sentence, hint=error.hint, detail=error.detail))
        return 1
    except KeyboardInterrupt:
        return 130
    say(result)
    return 0


def _measure_for_forecasts(say: Callable[[Record], None]) -> None:
    """Time a block of a large model's kind on each card, too, from which forecasts know the speed of this rig.

    The test is made without it: a card may have no room for the block.
    """
    rig = rig_here()
    if not rig.on_cards:
        return
    say(SpeedProgress(done=9, total=10, what="Blocks of a large model, for forecasts"))
    try:
        measure_rig(rig)
    except (UserError, OSError) as error:
        sys.stderr.write(f"Forecasts do not know the speed of these cards: {error}\n")


def _keep(result: SpeedTest) -> None:
    try:
        keep_speed_test(result)
    except OSError as error:
        raise storage_error(error, data_dir()) from error


def measure(progress: Callable[[SpeedProgress], None]) -> SpeedTest:
    """Measure every card, or the processor where there is none.

    Raises:
        DeviceError: A card has no room for the test.
    """
    start_s = time.perf_counter()
    cards = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    try:
        devices = _cards(cards, progress) if cards else _processor(progress)
    except torch.OutOfMemoryError as error:
        raise DeviceError(
            "A card has no room for the speed test.",
            hint="Close other programs that use the cards, and test again.",
            detail=str(error),
        ) from error
    return SpeedTest(
        measured_at=utc_now(), seconds=time.perf_counter() - start_s, torch=torch.__version__, devices=devices
    )


def _cards(cards: list[torch.device], progress: Callable[[SpeedProgress], None]) -> tuple[DeviceSpeed, ...]:
    measured: list[DeviceSpeed] = []
    total = 3 * len(cards)
    for index, card in enumerate(cards):
        others = [other for other in cards if other != card]
        facts = torch.cuda.get_device_properties(card)
        progress(SpeedProgress(done=3 * index, total=total, what=f"GPU {index}: matrix maths"))
        flops = _matrix_flops(card, MATRIX_SIZE, torch.bfloat16)
        progress(SpeedProgress(done=3 * index + 1, total=total, what=f"GPU {index}: RAM to card and back"))
        to_card, from_card = _link(card)
        progress(SpeedProgress(done=3 * index + 2, total=total, what=f"GPU {index}: card to card"))
        across = min((_copy_rate(card, other) for other in others), default=None)
        measured.append(
            DeviceSpeed(
                device=str(card),
                name=facts.name,
                uuid=f"GPU-{facts.uuid}",
                flops=flops,
                number_format="bf16",
                to_device=to_card,
                from_device=from_card,
                across=across,
                memory=_memory_rate(card, COPY_BYTES),
            )
        )
        torch.cuda.empty_cache()
    return tuple(measured)


def _processor(progress: Callable[[SpeedProgress], None]) -> tuple[DeviceSpeed, ...]:
    cpu = torch.device("cpu")
    progress(SpeedProgress(done=0, total=2, what="Processor: matrix maths"))
    flops = _matrix_flops(cpu, CPU_MATRIX_SIZE, torch.float32)
    progress(SpeedProgress(done=1, total=2, what="Processor: memory"))
    memory = _memory_rate(cpu, CPU_COPY_BYTES)
    return (DeviceSpeed(device="cpu", name="Processor", flops=flops, number_format="fp32", memory=memory),)


def _matrix_flops(device: torch.device, size: int, dtype: torch.dtype) -> float:
    a = torch.randn(size, size, device=device, dtype=torch.float32).to(dtype)
    b = torch.randn(size, size, device=device, dtype=torch.float32).to(dtype)
    out = torch.empty(size, size, device=device, dtype=dtype)
    return 2 * size**3 / _seconds(lambda: torch.mm(a, b, out=out), device)


def _link(card: torch.device) -> tuple[float, float]:
    ram = torch.empty(COPY_BYTES, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(COPY_BYTES, dtype=torch.uint8, device=card)
    to_card = COPY_BYTES / _seconds(lambda: there.copy_(ram, non_blocking=True), card)
    from_card = COPY_BYTES / _seconds(lambda: ram.copy_(there, non_blocking=True), card)
    return to_card, from_card


def _copy_rate(source: torch.device, target: torch.device) -> float:
    here = torch.empty(COPY_BYTES // 4, dtype=torch.uint8, device=source)
    there = torch.empty(COPY_BYTES // 4, dtype=torch.uint8, device=target)

    def copy() -> None:
        there.copy_(here, non_blocking=True)

    return here.numel() / _seconds(copy, source, target)


def _memory_rate(device: torch.device, num_bytes: int) -> float:
    source = torch.empty(num_bytes, dtype=torch.uint8, device=device).fill_(1)
    target = torch.empty_like(source)
    return 2 * num_bytes / _seconds(lambda: target.copy_(source), device)


def _seconds(work: Callable[[], object], *devices: torch.device) -> float:
    """Return how long a piece of work takes, from as many repetitions as fit into the time for it."""

    def wait() -> None:
        for device in devices:
            if device.type == "cuda":
                torch.cuda.synchronize(device)

    work()
    wait()
    count, start_s = 0, time.perf_counter()
    while count < 3 or time.perf_counter() - start_s < MEASURE_S:
        for _ in range(4):
            work()
        wait()
        count += 4
    return (time.perf_counter() - start_s) / count


def _send(record: Record) -> None:
    sys.stdout.buffer.write(to_json(record) + b"\n")
    sys.stdout.buffer.flush()


def _tell(record: Record) -> None:
    lines: list[str] = []
    match record:
        case SpeedProgress():
            sys.stderr.write(f"{record.what}\n")
        case Failed():
            sys.stderr.write(f"{record.sentence}\n{record.hint}\n")
        case SpeedTest():
            for one in record.devices:
                rates = (("RAM to card", one.to_device), ("card to RAM", one.from_device), ("card to card", one.across))
                known = [f"{name} {rate / 1e9:.1f} GB/s" for name, rate in (*rates, ("memory", one.memory)) if rate]
                compute = f"{one.flops / 1e12:.2f} TFLOPS {one.number_format}"
                lines.append(f"{one.device} {one.name}: {', '.join([compute, *known])}")
        case _:
            pass
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    sys.exit(main())
