"""1: the run is one process, whose first device is named in full."""

from diffusionforce.hooks.environment import EnvironmentHook
from diffusionforce.hooks.musubi.upstream import REVISION


def single_process(home: str) -> EnvironmentHook:
    """The variables that Accelerate reads.

    Args:
        home: The first device, with its number: `cuda` alone is not equal to `cuda:0`, and the trainer compares.
    """
    launched = ("LOCAL_RANK", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return EnvironmentHook(
        number=1,
        name="single-process",
        values={**dict.fromkeys(launched), "ACCELERATE_TORCH_DEVICE": home},
        reason="A trainer that sees several cards was started once for each of them.",
        prevents="Left-over variables of a launcher make Accelerate wait for processes that nobody started, and "
        "Kandinsky 5 moves all blocks to one card at its first sample, because cuda is not cuda:0.",
        upstream_revision=REVISION,
    )


HOOK = single_process("cuda:0")
