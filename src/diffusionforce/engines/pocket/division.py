"""How many: chunks of blocks and pieces of a batch when several devices share the work, pictures that are drawn.

Without torch, because a forecast asks too.
"""

import math

from diffusionforce.job import Profile

_MOST_DRAWN = 128
_CHUNKS_PER_STAGE = 2
"""Each of several devices gets two runs of blocks, in turn: the devices then wait half as long for each other."""
_PIECES_PER_STAGE = 2
"""Pieces that a pipeline wants for each of its stages; with fewer, cards wait for each other most of the time."""


def chunks_per_stage(*, num_stages: int, num_blocks: int) -> int:
    """Chunks of each device.

    Args:
        num_stages: Devices that share the model.
        num_blocks: Blocks of the model.
    """
    has_room = _CHUNKS_PER_STAGE * num_stages <= num_blocks
    return _CHUNKS_PER_STAGE if num_stages > 1 and has_room else 1


def pieces_of_batch(batch_size: int, *, num_stages: int, num_batches: int) -> int:
    """Pieces of each batch: enough to keep all devices busy, as far as the batch has pictures.

    Args:
        batch_size: Pictures of a batch.
        num_stages: Devices that share the model.
        num_batches: Batches of a step.
    """
    if num_stages == 1:
        return 1
    return min(batch_size, -(-_PIECES_PER_STAGE * num_stages // num_batches))


def num_drawn(profile: Profile) -> int:
    """Regularisation pictures of a run: as many as it will use, up to a limit after which they come again."""
    training = profile.training
    num_dealt = training.steps * training.batch_size * training.gradient_accumulation
    return min(math.ceil(num_dealt * profile.dataset.regularisation_share), _MOST_DRAWN)
