"""Batches that know their files, without the engine."""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffusionforce.engines.musubi.staging import place_of
from diffusionforce.hooks.musubi.batch_names import FILES, NamedBatches
from diffusionforce.hooks.musubi.drawn import rows_of


@dataclass
class Batches:
    """As the engine makes them: buckets of items, of which a batch is some in a row."""

    batch_size: int = 2
    buckets: dict[tuple[int, int], list[Any]] = field(
        default_factory=lambda: {(64, 64): [SimpleNamespace(latent_cache_path=f"/c/{name}") for name in "abc"]}
    )
    bucket_batch_indices: list[tuple[tuple[int, int], int]] = field(
        default_factory=lambda: [((64, 64), 1), ((64, 64), 0)]
    )

    def __len__(self) -> int:
        return len(self.bucket_batch_indices)

    def __getitem__(self, index: int) -> dict[str, Any]:
        size, number = self.bucket_batch_indices[index]
        items = self.buckets[size][number * self.batch_size : (number + 1) * self.batch_size]
        return {"latents": torch.zeros(len(items), 4), "timesteps": None}

    def shuffle(self) -> None:
        self.bucket_batch_indices.reverse()


def test_a_batch_names_the_files_that_it_has_after_they_were_shuffled() -> None:
    batches = NamedBatches(Batches())
    assert len(batches) == 2
    assert [batch[FILES] for batch in (batches[0], batches[1])] == [["/c/c"], ["/c/a", "/c/b"]]
    batches.shuffle()
    assert batches[0][FILES] == ["/c/a", "/c/b"] and list(batches[0]) == ["latents", "timesteps", FILES]


def test_names_are_cut_with_the_batch() -> None:
    batch = NamedBatches(Batches())[1]
    assert rows_of(batch[FILES], slice(1, 2), len(batch["latents"])) == ["/c/b"]


def test_it_goes_to_other_processes_and_has_no_names_that_the_original_has_not() -> None:
    again = copy.deepcopy(NamedBatches(Batches()))  # As pickle makes it anew.
    assert again[0][FILES] == ["/c/c"]
    with pytest.raises(AttributeError):
        again.nothing_like_it  # noqa: B018


@pytest.mark.parametrize("name", ["00003_0064x0064_wan.safetensors", "00003_00000-005_0064x0064_wan.safetensors"])
def test_a_prepared_file_tells_the_place_of_its_picture_or_clip(tmp_path: Path, name: str) -> None:
    assert place_of(str(tmp_path / "0" / "cache" / name)) == str(tmp_path / "0" / "00003")
