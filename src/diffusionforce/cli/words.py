"""Numbers and ends of runs in words."""

import shlex
from pathlib import Path

from diffusionforce.job import Job
from diffusionforce.runs import RunComparison, RunHeldOut, RunState, runs_root
from diffusionforce.wire import Compared

GIB = 1024**3


def duration(seconds: float) -> str:
    """Return a time like `1 h 05 min`, `3 min 20 s` or `4.2 s`."""
    if not seconds < 10 * 365 * 86400:
        return "unknown"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def memory(size_bytes: int) -> str:
    """Return a size in GB, or in MB below one, of which few have a decimal: `1.2 MB`, `424 MB`."""
    if size_bytes >= GIB:
        return f"{size_bytes / GIB:.1f} GB"
    size_mb = size_bytes / 1024**2
    return f"{size_mb:.0f} MB" if size_mb >= 10 else f"{size_mb:.1f} MB".replace(".0 MB", " MB")


def block_ranges(blocks: tuple[int, ...]) -> str:
    """Return block numbers, counted from 0, with neighbours drawn together, like `0-4, 7`."""
    ranges: list[list[int]] = []
    for block in sorted(blocks):
        if ranges and block == ranges[-1][1] + 1:
            ranges[-1][1] = block
        else:
            ranges.append([block, block])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ranges) or "none"


def printable(text: str) -> str:
    """Return text from a file of unknown origin with what a terminal would obey spelt out, like `\\x1b`."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def change(held_out: RunHeldOut | None) -> str:
    """Return how far the held-out loss fell, like `38 % lower`; empty if that is not known."""
    if held_out is None or held_out.fall is None:
        return ""
    return f"{abs(held_out.fall) * 100:.0f} % {'lower' if held_out.fall >= 0 else 'higher'}"


def measured(held_out: RunHeldOut | None) -> str:
    """Return the held-out losses, like `0.2146 before, 0.1331 after, 38 % lower`; empty if there are none."""
    if held_out is None or held_out.before is None:
        return ""
    after = f"{held_out.after:.4f} after" if held_out.after is not None else ""
    return ", ".join(filter(None, [f"{held_out.before:.4f} before", after, change(held_out)]))


def compared(comparison: RunComparison | Compared) -> str:
    """Return forecast and measurement side by side, device by device, and the step."""
    parts = [
        f"{device.label} {memory(device.planned_bytes)} planned, {memory(device.seen_bytes)} held"
        for device in comparison.devices
    ]
    planned = f"{_seconds(comparison.planned_s)} planned, " if comparison.planned_s is not None else ""
    return "; ".join([*parts, f"a step {planned}{_seconds(comparison.seen_s)} taken"])


def _seconds(seconds: float) -> str:
    """A short time to compare with another, to three digits."""
    return f"{seconds:.3g} s" if seconds < 10 else duration(seconds)


def named_run(run_dir: Path) -> str:
    """Return how a command names a run: by its name where it lies with the others, else by its path."""
    return shlex.quote(run_dir.name if run_dir.parent == runs_root() else str(run_dir))


def closing_lines(state: RunState, job: Job) -> list[str]:
    """Return how a run that is over ended and what it left behind, one sentence a line. Problems are told elsewhere."""
    steps = f"all {state.num_steps} steps" if state.num_steps > 1 else "1 step"
    lines = [f"Done: {steps}."] if state.state == "done" else []
    lines += [state.sentence] if state.state == "stopped" else []
    if state.num_samples:
        lines.append(f"Samples ({state.num_samples}): {Path(job.run_dir, 'samples')}")
    if state.lora:
        lines.append(f"LoRA: {Path(job.run_dir, state.lora)}")
    loss = measured(state.held_out_loss)
    if loss:
        lines.append(f"Held-out loss: {loss}.")
    if state.comparison is not None:
        lines.append(f"Forecast against measured: {compared(state.comparison)}.")
        if state.comparison.causes:
            lines.append(f"Planned anew with what was seen: diffusionforce run --again {named_run(job.run_dir)}")
    lines.append(f"Everything about the run: {job.run_dir}")
    return lines
