"""The devices of a run: which ones, what lies on them, how busy they are.

The pocket model would fit any card many times over. It is spread over all of them all the same, because showing
that a model runs spread out is what it is for.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil
import torch

from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.division import chunks_per_stage
from diffusionforce.engines.pocket.microbatches import DeviceWork
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.errors import DeviceError
from diffusionforce.pipeline.placement import Placement, even_placement, place_blocks, verify_placement
from diffusionforce.rig import meters
from diffusionforce.wire import DevicePlacement, DeviceReading


def choose_devices(wanted: Sequence[str], *, num_blocks: int) -> tuple[torch.device, ...]:
    """Turn the devices that a profile names into devices that are there.

    Args:
        wanted: auto (all cards, or the processor where there is none), or devices by name. cpu may be named several
            times: the model is then split into as many parts, all of them on the processor.
        num_blocks: Blocks of the model; auto takes no more cards than that.

    Raises:
        DeviceError: A card is not there, or there are more devices than blocks.
    """
    num_cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if tuple(wanted) == ("auto",):
        cards = tuple(torch.device("cuda", index) for index in range(min(num_cards, num_blocks)))
        return cards or (torch.device("cpu"),)
    devices = tuple(torch.device(name) for name in wanted)
    for device in devices:
        if device.type == "cuda" and (device.index or 0) >= num_cards:
            raise DeviceError(
                f"{device} is asked for, but PyTorch sees {_count(num_cards)} here.",
                hint="Ask for auto or cpu under devices.use; diffusionforce doctor says why a card is not seen.",
            )
    if len(devices) > num_blocks:
        raise DeviceError(
            f"{len(devices)} devices are named, but the pocket model has only {num_blocks} blocks to share out.",
            hint="Name fewer devices under devices.use.",
        )
    return devices


def even_placement_over(devices: Sequence[torch.device], *, num_blocks: int) -> Placement:
    """The blocks evenly over the devices, in as many chunks as suit so many."""
    chunks = chunks_per_stage(num_stages=len(devices), num_blocks=num_blocks)
    return even_placement(num_blocks, devices, chunks_per_stage=chunks)


def planned_placement(plan: RunPlan) -> Placement:
    """The blocks where the plan wants them.

    Raises:
        DeviceError: The plan contradicts itself.
    """
    return Placement(
        devices=tuple(torch.device(one.device) for one in plan.devices),
        chunk_sizes=plan.chunk_sizes,
        stage_of_chunk=plan.stage_of_chunk,
    )


def place(transformer: PocketTransformer, placement: Placement) -> None:
    """Move the transformer: its blocks to their devices, everything else to the first.

    Raises:
        DeviceError: A tensor did not arrive where it was sent.
    """
    place_blocks(transformer.blocks, placement)
    in_blocks = {id(tensor) for tensor in (*transformer.blocks.parameters(), *transformer.blocks.buffers())}
    for tensor in (*transformer.parameters(), *transformer.buffers()):
        if id(tensor) not in in_blocks:
            tensor.data = tensor.data.to(placement.devices[0])
    verify_placement(transformer.blocks, placement)


def place_evenly(transformer: PocketTransformer, devices: Sequence[torch.device]) -> Placement:
    """Move the transformer with its blocks evenly over the devices, and say where they are."""
    placement = even_placement_over(devices, num_blocks=len(transformer.blocks))
    place(transformer, placement)
    return placement


def placed_devices(transformer: PocketTransformer, placement: Placement) -> tuple[DevicePlacement, ...]:
    """What lies on each device, read from the tensors themselves.

    Raises:
        DeviceError: A tensor is not on its block's device.
    """
    verify_placement(transformer.blocks, placement)
    in_blocks = {id(tensor) for block in transformer.blocks for tensor in block.parameters()}
    ends_bytes = sum(_size_bytes(p) for p in transformer.parameters() if id(p) not in in_blocks)
    placed: list[DevicePlacement] = []
    for stage, device in enumerate(placement.devices):
        blocks = placement.blocks_of_stage(stage)
        own_bytes = sum(_size_bytes(p) for index in blocks for p in transformer.blocks[index].parameters())
        placed.append(
            DevicePlacement(
                device=str(device),
                name=_name(device),
                blocks=blocks,
                weights_bytes=own_bytes + (ends_bytes if stage == 0 else 0),
                memory_total_bytes=_total_bytes(device),
            )
        )
    return tuple(placed)


@dataclass
class Meters:
    """Reads the devices of a run once a step."""

    devices: tuple[torch.device, ...]
    """Each device once, even if the model is split into several parts on it."""
    _process: psutil.Process
    _cpu_s: float
    _wall_s: float

    @classmethod
    def of(cls, devices: Sequence[torch.device]) -> "Meters":
        """Begin to measure."""
        process = psutil.Process()
        return cls(tuple(dict.fromkeys(devices)), process, _cpu_seconds(process), time.perf_counter())

    def forget_peaks(self) -> None:
        """From now on the highest memory use of each card is that of what follows."""
        for device in self.devices:
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats(device)

    def read(self, work: Mapping[torch.device, DeviceWork]) -> tuple[DeviceReading, ...]:
        """Memory and load of each device since the last call.

        Args:
            work: What the pipeline noted of the devices, as far as it did.
        """
        readings = self._read()
        return tuple(
            reading.model_copy(update={"busy": work[device].busy, "timeline": work[device].timeline})
            if device in work
            else reading
            for device, reading in zip(self.devices, readings, strict=True)
        )

    def _read(self) -> tuple[DeviceReading, ...]:
        cards = {card.uuid: card for card in meters.read()} if self.devices[0].type == "cuda" else {}
        readings: list[DeviceReading] = []
        for device in self.devices:
            if device.type == "cpu":
                readings.append(self._read_cpu())
                continue
            card = cards.get(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
            readings.append(
                DeviceReading(
                    device=str(device),
                    memory_bytes=torch.cuda.memory_allocated(device),
                    peak_bytes=torch.cuda.max_memory_allocated(device),
                    memory_total_bytes=_total_bytes(device),
                    load=card.load if card else None,
                    temperature_c=card.temperature_c if card else None,
                    power_w=card.power_w if card else None,
                )
            )
        return tuple(readings)

    def _read_cpu(self) -> DeviceReading:
        cpu_s, wall_s = _cpu_seconds(self._process), time.perf_counter()
        spent_s, passed_s = cpu_s - self._cpu_s, wall_s - self._wall_s
        self._cpu_s, self._wall_s = cpu_s, wall_s
        return DeviceReading(
            device="cpu",
            memory_bytes=self._process.memory_info().rss,
            memory_total_bytes=_total_bytes(torch.device("cpu")),
            busy=min(1.0, spent_s / max(passed_s, 1e-6) / torch.get_num_threads()),
        )


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _size_bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"Processor, {torch.get_num_threads()} of {os.cpu_count() or 1} cores"


def _total_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    return psutil.virtual_memory().total


def _count(num_cards: int) -> str:
    return "no card" if num_cards == 0 else "1 card" if num_cards == 1 else f"{num_cards} cards"
