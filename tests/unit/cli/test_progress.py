"""What a run looks like in a terminal and in a file."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.jobs import small_job

from diffusionforce.cli.progress import STOPPING, RunView
from diffusionforce.wire import (
    Checkpoint,
    Compared,
    ComparedDevice,
    DevicePlacement,
    DeviceReading,
    HeldOut,
    Hello,
    Message,
    Paused,
    Placed,
    Planned,
    PlannedDevice,
    Preparing,
    Sample,
    Step,
    Warn,
)

GIB = 1024**3
DEVICE = DeviceReading(
    device="cuda:0", memory_bytes=2 * GIB, peak_bytes=3 * GIB, memory_total_bytes=16 * GIB, busy=0.5, temperature_c=61
)


def step(number: int) -> Step:
    return Step(step=number, num_steps=100, loss=0.5, learning_rate=1e-3, seconds=0.5, eta_s=90.0, devices=(DEVICE,))


MESSAGES: list[Message] = [
    Preparing(stage="text", done=3, total=12),
    Placed(
        devices=(DevicePlacement(device="cuda:0", name="RTX [5080]", blocks=(0, 1, 2), weights_bytes=GIB),),
        num_blocks=10,
        schedule="turns",
    ),
    Planned(
        words="split, bf16 weights",
        mode="C",
        devices=(
            PlannedDevice(
                device="cuda:0",
                label="GPU 0",
                total_bytes=16 * GIB,
                budget_bytes=14 * GIB,
                planned_bytes=9 * GIB,
                num_aside=4,
            ),
            PlannedDevice(device="cuda:1", label="GPU 1", total_bytes=8 * GIB),
        ),
    ),
    Compared(
        step=2,
        devices=(ComparedDevice(device="cuda:0", label="GPU 0", planned_bytes=9 * GIB, seen_bytes=12 * GIB),),
        seen_s=2.0,
        causes=("GPU 0 held 3 GB more than planned.",),
        hint="Plan anew.",
    ),
    HeldOut(step=0, loss=0.25),
    Sample(step=0, prompt_index=1, num_prompts=4, prompt="a [red] girl", seed=1, path="samples/a.png", seconds=1),
    *map(step, range(1, 8)),
    Checkpoint(step=7, path="checkpoints/l.safetensors", size_bytes=2 * 1024**2),
    Warn(sentence="It is late.", hint="Go to bed."),
]


def hello(folder: Path) -> Hello:
    run_dir = str(folder / "run")
    return Hello(product="0", pid=1, engine="pocket", profile_name="p", run_dir=run_dir, num_steps=100)


def shown(folder: Path, *, is_terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, force_terminal=is_terminal, width=100, color_system=None)
    with RunView(small_job(folder, steps=100), console=console) as view:
        for message in MESSAGES:
            view.show(message)
        view.tell_stopping(1)
    return output.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_stays_is_printed(tmp_path: Path, is_terminal: bool):
    text = shown(tmp_path, is_terminal=is_terminal)
    for line in [
        "cuda:0 (RTX [5080]): blocks 0-2 of 10, 1.0 GB of weights",
        "Held-out loss at step 0: 0.2500",
        "Sample 2/4 at step 0: samples/a.png (a [red] girl)",
        "LoRA of step 7: checkpoints/l.safetensors (2 MB)",
        "Warning: It is late. Go to bed.",
        "Stopping after this step; Ctrl-C again to break it off.",
    ]:
        assert line in text


def test_a_terminal_shows_progress_time_left_and_memory(tmp_path: Path):
    text = shown(tmp_path, is_terminal=True)
    assert "7/100" in text
    assert "loss 0.5000, held-out 0.2500, 0.5 s a step, 1 min 30 s left" in text
    assert "cuda:0: 2.0 GB of 16.0 GB (peak 3.0 GB), 50 % busy, 61 °C" in text


def test_a_request_to_stop_stays_on_the_screen(tmp_path: Path):
    # Symptom: the next step, or a preparation, wrote "Training" over it.
    view = RunView(small_job(tmp_path), console=Console(file=io.StringIO()))
    for num_requests, words in enumerate(STOPPING, 1):
        view.tell_stopping(num_requests)
        for message in [*MESSAGES, hello(tmp_path)]:
            view.show(message)
            assert view._status == words


def test_where_a_run_goes_is_said_once_it_was_accepted(tmp_path: Path):
    # Symptom: a run that was refused was first said to go into a folder.
    output = io.StringIO()
    with RunView(small_job(tmp_path), console=Console(file=output, width=200)) as view:
        assert output.getvalue() == ""
        view.show(hello(tmp_path))
    assert f", into {tmp_path / 'run'}" in output.getvalue()


def test_a_file_gets_a_twentieth_of_the_steps(tmp_path: Path):
    lines = [line for line in shown(tmp_path, is_terminal=False).splitlines() if line.startswith("Step")]
    assert lines == ["Step 5/100: loss 0.5000, held-out 0.2500, 0.5 s a step, 1 min 30 s left"]


def test_plan_and_comparison_are_told(tmp_path: Path):
    text = shown(tmp_path, is_terminal=False)
    for line in (
        "Trained as split, bf16 weights, mode C.",
        "GPU 0: 9.0 GB planned, at most 14.0 GB; 4 blocks step aside for samples",
        "GPU 1: no limit",
        "Forecast against measured: GPU 0 9.0 GB planned, 12.0 GB held; a step 2 s taken.",
        "GPU 0 held 3 GB more than planned.",
        "Plan anew.",
    ):
        assert f"{line}\n" in text


def test_a_pause_that_a_window_asked_for_is_said(tmp_path: Path):
    # Symptom: paused from a window for eight minutes, the run in the terminal said nothing.
    output = io.StringIO()
    with RunView(small_job(tmp_path), console=Console(file=output, width=200)) as view:
        view.show(Paused(paused=True, step=7))
        view.show(Paused(paused=False, step=7))
        view.show(Paused(paused=True, step=9, sentence="There is no room.", hint="Make some."))
    assert output.getvalue().splitlines() == [
        "Paused after step 7: it was asked to wait, and goes on when it is asked to.",
        "Going on after step 7.",
        "Paused after step 9: There is no room. Make some.",
    ]
