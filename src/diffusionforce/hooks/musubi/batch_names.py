"""26: a batch says which files it was made of.

The trainer gets tensors. A batch whose numbers break a training, or whose loss leaps, cannot be told from any other.
And what was read last is not what is trained on: the loader reads ahead, maybe in processes of its own. So the names
travel in the batch, where nothing looks for them, cut and moved with everything else in it.
"""

from typing import Any

from diffusionforce.hooks.hook import Target
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam

FILES = "diffusionforce_files"
"""In a batch: the prepared file of each picture, in order."""


class BatchNames(EngineTrainer):
    """Lets every dataset name the files of its batches."""

    def _build_dataset(self, args: Any) -> Any:
        """Build it, and look over the shoulder of what makes its batches."""
        built = super()._build_dataset(args)
        for dataset in built[0].datasets:
            dataset.batch_manager = NamedBatches(dataset.batch_manager)
        return built


class NamedBatches:
    """The batches of one dataset, each with the names of its files; goes to processes of a loader like the original.

    Args:
        inner: The engine's.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, index: int) -> dict[str, Any]:
        kind, number = self._inner.bucket_batch_indices[index]
        first = number * self._inner.batch_size
        items = self._inner.buckets[kind][first : first + self._inner.batch_size]
        return {**self._inner[index], FILES: [str(item.latent_cache_path) for item in items]}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":  # Asked for before there is an original, when it is unpickled.
            raise AttributeError(name)
        return getattr(self._inner, name)


HOOK = Seam(
    number=26,
    name="batch-names",
    overrides=(
        method("_build_dataset", "ba3efd1ca0463ad379a1d3236467bc05e4519606a3a109aa5657290f7b591499"),
        (
            Target(module="musubi_tuner.dataset.bucket", attribute="BucketBatchManager.__getitem__"),
            "a8ad698472951640b9d1f918b3178847c9800ac53c949497f69476ad6b8ed1fe",
        ),
    ),
    reason="Nobody asks which pictures a batch was made of.",
    prevents="A training that a damaged picture breaks says that it broke, and not by which of a thousand pictures.",
    upstream_revision=REVISION,
    mixin=BatchNames,
)
