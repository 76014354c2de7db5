"""Runs as a trainer would have left them, so that the window can be tested without training."""

import math
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import psutil
from PIL import Image, ImageDraw

from diffusionforce.job import Job, Profile, write_job
from diffusionforce.runs import RunFolder, RunHeldOut, RunState
from diffusionforce.wire import (
    Checkpoint,
    Compared,
    ComparedDevice,
    DevicePlacement,
    DeviceReading,
    Done,
    Failed,
    HeldOut,
    Hello,
    Message,
    Placed,
    Planned,
    PlannedDevice,
    Preparing,
    Sample,
    Span,
    Step,
    Stopped,
    Warn,
    encode,
)

End = Literal["running", "done", "stopped", "failed", "crashed"]
PROMPTS = (
    "LoRAnne, waving, on a beach, smiling",
    "close-up of LoRAnne, in the snow, happy",
    "LoRAnne, cheering, in space, laughing",
    "a girl with long red hair in a green coat, waving, in a meadow, smiling",
)
GIB = 1024**3


def profile(*, steps: int = 300) -> Profile:
    """Return a small profile like that of the demo."""
    return Profile.model_validate(
        {
            "schema_version": 1,
            "title": "Pocket demo",
            "model": {"family": "pocket", "engine": "pocket"},
            "training": {"steps": steps, "batch_size": 2, "seed": 7},
            "dataset": {"folder": "demo:loranne", "width": 256, "height": 256, "trigger": "LoRAnne"},
            "samples": {"prompts": PROMPTS, "every_steps": 100, "width": 256, "height": 256, "seed": 11},
            "checkpoints": {"every_steps": 100},
        }
    )


def job(run_dir: Path, *, steps: int = 300, dataset_dir: Path | None = None) -> Job:
    """Return a job for that profile."""
    return Job(
        profile_name="pocket-demo",
        profile=profile(steps=steps),
        dataset_dir=dataset_dir or run_dir.parent / "loranne",
        run_dir=run_dir,
    )


def with_steps(base: Job, steps: int) -> Job:
    """Return a job with another number of steps."""
    training = base.profile.training.model_copy(update={"steps": steps})
    return base.model_copy(update={"profile": base.profile.model_copy(update={"training": training})})


def picture(path: Path, *, seed: int, share: float) -> None:
    """Draw a picture that gets clearer as `share` goes from 0 to 1."""
    rng = random.Random(seed)
    image = Image.new("RGB", (128, 128), (40 + seed * 30 % 120, 90, 140))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 84, 128, 128), fill=(60, 120, 70))
    hair = (255, int(140 + 60 * (1 - share)), int(60 + 120 * (1 - share)))
    x = 40 + rng.randrange(30)
    draw.ellipse((x, 28, x + 48, 76), fill=hair)
    draw.ellipse((x + 6, 34, x + 42, 74), fill=(250, 220, 190))
    for eye in (16, 28):
        draw.ellipse((x + eye, 50, x + eye + 5, 57), fill=(40, 30, 30))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def messages(root: Path, *, upto: int, steps: int = 300, cards: bool = True, every: int = 100) -> Iterator[Message]:
    """Yield what a trainer says up to a step; samples are drawn into `root` on the way."""
    rng = random.Random(3)
    devices = ("cuda:0", "cuda:1") if cards else ("cpu:0", "cpu:1")
    yield Hello(product="0.1.0", pid=1, engine="pocket", profile_name="pocket-demo", run_dir=str(root), num_steps=steps)
    yield Preparing(stage="model", done=1, total=1)
    yield Preparing(stage="pictures", done=12, total=12)
    if cards:
        yield planned()
    yield Placed(devices=_placement(devices, cards=cards), num_blocks=10, schedule="interleaved")
    yield HeldOut(step=0, loss=0.0605)
    yield from _samples(root, 0, share=0.0)
    for step in range(1, upto + 1):
        loss = 0.025 + 0.036 * math.exp(-step / 70) + rng.gauss(0, 0.004)
        yield Step(
            step=step,
            num_steps=steps,
            loss=loss,
            learning_rate=0.002,
            seconds=0.33,
            eta_s=(steps - step) * 0.33 + 8,
            devices=_readings(devices, rng, cards=cards),
        )
        if cards and step == 2:
            yield compared()
        if step % every == 0:
            yield Checkpoint(step=step, path=f"checkpoints/pocket-demo-{step:06d}.safetensors", size_bytes=1_238_000)
            yield HeldOut(step=step, loss=0.0376 + 0.0229 * math.exp(-step / 80))
            yield from _samples(root, step, share=step / steps)


def planned() -> Planned:
    """Return the plan of the recorded run on two cards."""
    return Planned(
        words="split, bf16 weights, 2 micro-batches",
        mode="A",
        devices=(
            PlannedDevice(
                device="cuda:0",
                label="GPU 0 (RTX 4070 Ti SUPER)",
                total_bytes=16 * GIB,
                planned_bytes=int(14.7 * GIB),
            ),
            PlannedDevice(
                device="cuda:1", label="GPU 1 (RTX 3060)", total_bytes=12 * GIB, planned_bytes=int(7.5 * GIB)
            ),
        ),
        step_s=0.32,
    )


def compared() -> Compared:
    """Return what the first steps of the recorded run showed: one card holds more than was forecast."""
    return Compared(
        step=2,
        devices=(
            ComparedDevice(
                device="cuda:0",
                label="GPU 0 (RTX 4070 Ti SUPER)",
                planned_bytes=int(14.7 * GIB),
                seen_bytes=int(14.6 * GIB),
            ),
            ComparedDevice(
                device="cuda:1", label="GPU 1 (RTX 3060)", planned_bytes=int(7.5 * GIB), seen_bytes=int(8.4 * GIB)
            ),
        ),
        planned_s=0.32,
        seen_s=0.33,
        causes=("GPU 1 holds 0.9 GB more than forecast: its libraries reserve more than on other cards.",),
    )


def _placement(devices: tuple[str, ...], *, cards: bool) -> tuple[DevicePlacement, ...]:
    names = ("NVIDIA GeForce RTX 4070 Ti SUPER", "NVIDIA GeForce RTX 3060") if cards else ("AMD EPYC 9R14",) * 2
    totals = (16 * GIB, 12 * GIB) if cards else (None, None)
    blocks = ((0, 1, 2, 3, 4, 5), (6, 7, 8, 9))
    return tuple(
        DevicePlacement(
            device=device, name=names[i], blocks=blocks[i], weights_bytes=11_000_000, memory_total_bytes=totals[i]
        )
        for i, device in enumerate(devices)
    )


def _readings(devices: tuple[str, ...], rng: random.Random, *, cards: bool) -> tuple[DeviceReading, ...]:
    readings = []
    for i, device in enumerate(devices):
        used = int(((14.6, 8.4)[i] if cards else 1.31) * GIB)
        timeline = tuple(span for microbatch in range(2) for span in _spans(i, microbatch))
        readings.append(
            DeviceReading(
                device=device,
                memory_bytes=used,
                peak_bytes=int(used * 1.02),
                memory_total_bytes=(16, 12)[i] * GIB if cards else None,
                busy=min(1.0, max(0.0, 0.79 + rng.gauss(0, 0.04))),
                temperature_c=(66.0, 71.0)[i] if cards else None,
                power_w=(221.0, 149.0)[i] if cards else None,
                timeline=timeline,
            )
        )
    return tuple(readings)


def _spans(device: int, microbatch: int) -> tuple[Span, Span]:
    start_s = 0.02 + 0.15 * microbatch + 0.02 * device
    return (
        Span(op="F", chunk=device, microbatch=microbatch, start_s=start_s, end_s=start_s + 0.04),
        Span(op="B", chunk=device, microbatch=microbatch, start_s=start_s + 0.05, end_s=start_s + 0.12),
    )


def _samples(root: Path, step: int, *, share: float) -> Iterator[Message]:
    for i, prompt in enumerate(PROMPTS):
        path = f"samples/step-{step:06d}-{i:02d}.png"
        picture(root / path, seed=i, share=share)
        yield Sample(
            step=step, prompt_index=i, num_prompts=len(PROMPTS), prompt=prompt, seed=11, path=path, seconds=1.6
        )


def run_folder(root: Path, *, end: End = "running", upto: int = 230, steps: int = 300, cards: bool = True) -> RunFolder:
    """Make a run folder with everything that a run leaves, ended in some way."""
    root.mkdir(parents=True)
    (root / "samples").mkdir()
    (root / "checkpoints").mkdir()
    write_job(root / "job.toml", job(root, steps=steps))
    upto = steps if end == "done" else upto
    told = list(messages(root, upto=upto, steps=steps, cards=cards))
    for message in told:
        if isinstance(message, Checkpoint):
            (root / message.path).write_bytes(b"\0" * 1000)
    told += _ending(end, upto)
    (root / "telemetry.jsonl").write_bytes(b"".join(encode(message) for message in told))
    (root / "log.txt").write_text("the engine loaded 10 blocks\n", encoding="utf-8")
    folder = RunFolder(root)
    folder.write_state(_state(end, upto, steps))
    return folder


def _ending(end: End, upto: int) -> list[Message]:
    lora = "checkpoints/pocket-demo-000200.safetensors"
    match end:
        case "done":
            lora = f"checkpoints/pocket-demo-{upto:06d}.safetensors"
            return [Done(step=upto, lora=lora, seconds=124.0, held_out_before=0.0605, held_out_after=0.0381)]
        case "stopped":
            return [Stopped(step=upto, lora=lora)]
        case "failed":
            warning = Warn(sentence="The disk of the run folder is nearly full.", step=upto)
            detail = "OSError: [Errno 28] No space left on device"
            return [
                warning,
                Failed(
                    sentence="The disk is full: 1.2 MB more were needed for the LoRA of step 230.",
                    hint="Free some space and start again; the files from step 200 are good.",
                    detail=detail,
                    step=upto,
                ),
            ]
        case _:
            return []


def _state(end: End, upto: int, steps: int) -> RunState:
    me = psutil.Process()
    alive = end == "running"
    return RunState(
        state="running" if end == "crashed" else end,
        profile_name="pocket-demo",
        title="Pocket demo",
        pid=os.getpid() if alive else 2**22 + 5,
        process_started_s=me.create_time() if alive else 1.0,
        started_at="2026-01-02T10:00:00+00:00",
        ended_at="" if end in {"running", "crashed"} else "2026-01-02T10:02:04+00:00",
        step=upto,
        num_steps=steps,
        held_out_loss=RunHeldOut(before=0.0605, after=0.0381),
        lora="checkpoints/pocket-demo-000200.safetensors",
        num_samples=12,
    )
