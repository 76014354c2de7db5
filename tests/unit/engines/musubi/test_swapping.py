"""What the engine's option for block swap has to be on one card."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.engine import needs_engine

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.engines.musubi.subjects import TRACED
from diffusionforce.engines.musubi.swapping import blocks_to_swap, swapped_blocks
from diffusionforce.engines.musubi.training import chain_of
from diffusionforce.errors import DeviceError

TWO_LISTS = {
    "flux2-dev": ("musubi_tuner.flux_2.flux2_models", "Flux2"),
    "flux2-klein-base-9b": ("musubi_tuner.flux_2.flux2_models", "Flux2"),
    "flux2-klein-base-4b": ("musubi_tuner.flux_2.flux2_models", "Flux2"),
    "flux1-kontext": ("musubi_tuner.flux.flux_models", "Flux"),
    "hunyuan-video": ("musubi_tuner.hunyuan_model.models", "HYVideoDiffusionTransformer"),
}


def test_blocks_of_one_list_are_counted() -> None:
    assert blocks_to_swap(FAMILIES["wan2.1-t2v-14b"], paged=range(21)) == 21
    assert blocks_to_swap(FAMILIES["qwen-image"], paged=()) == 0


def test_as_much_stays_in_ram_as_was_planned_and_hardly_more() -> None:
    # Symptom: the number of paged blocks was handed on, of which this model makes blocks of two sizes.
    kontext = FAMILIES["flux1-kontext"]
    doubles, singles = chain_of(kontext)
    paged = [*range(5), *range(doubles.count, doubles.count + 20)]
    wanted = 5 * doubles.million_parameters + 20 * singles.million_parameters
    option = blocks_to_swap(kontext, paged=paged)
    assert option != len(paged)
    swapped = [
        sum(n * one.million_parameters for n, one in zip(swapped_blocks(kontext, o), (doubles, singles), strict=True))
        for o in (option - 1, option)
    ]
    assert swapped[0] < wanted <= swapped[1]


def test_more_than_the_engine_swaps_is_refused() -> None:
    with pytest.raises(DeviceError, match="30 of 30 blocks of Z-Image"):
        blocks_to_swap(FAMILIES["z-image"], paged=range(30))


@pytest.mark.parametrize("name", TRACED)
def test_models_with_two_lists_are_split_into_two(name: str) -> None:
    assert len(swapped_blocks(FAMILIES[name], 4)) == len(chain_of(FAMILIES[name]))


@needs_engine
@pytest.mark.parametrize("name", TWO_LISTS)
def test_the_split_is_the_engines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("einops", reason="the engine needs einops")
    family, (module_name, class_name) = FAMILIES[name], TWO_LISTS[name]
    source: Path = open_engine()
    module: Any = import_light(module_name, source=source)
    swapped: dict[str, int] = {}

    def create_offloader(kind: str, blocks: Any, num_blocks: int, num_swapped: int, config: Any) -> None:
        swapped[kind] = num_swapped

    monkeypatch.setattr(module, "create_offloader", create_offloader)
    doubles, singles = (blocks.count for blocks in chain_of(family))
    model = SimpleNamespace(
        num_double_blocks=doubles,
        num_single_blocks=singles,
        double_blocks=range(doubles),
        single_blocks=range(singles),
    )
    for option in range(1, family.blocks_to_swap_max + 1):
        getattr(module, class_name).enable_block_swap(model, option, SimpleNamespace(device="cuda"))
        assert swapped_blocks(family, option) == (swapped["double"], swapped["single"]), option
