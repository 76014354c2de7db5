"""Measurements on this machine. Each is a process of its own, because it loads PyTorch."""

from collections.abc import Sequence

from diffusionforce.desktop import children
from diffusionforce.wire import child_environment, module_command
from diffusionforce.wire.interpreter import is_environment_needed, require_torch

BENCHES = {
    "rig": ("diffusionforce.trainer.speed_test", "how fast each card computes and is reached"),
    "pipeline": ("diffusionforce.pipeline.bench", "schedules side by side on random weights"),
    "forecast": ("diffusionforce.trainer.forecast_bench", "forecasts of memory and time beside what the cards show"),
}


def run(arguments: Sequence[str]) -> int:
    """Run a measurement in a process of its own, and return its exit code.

    Raises:
        SetupError: There is no PyTorch anywhere.
    """
    if is_environment_needed():
        require_torch()
    module, _ = BENCHES[arguments[0]]
    command = module_command(module, *arguments)
    return children.run(command, environment=child_environment(), is_captured=False).returncode
