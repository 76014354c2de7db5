"""The world must go on drawing what the shipped base weights were trained on."""

import hashlib
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from diffusionforce.engines.pocket.world import caption_of, cast_figure, draw_page, picture_of
from diffusionforce.engines.pocket.world.heroes import HEROES, LORANNE, ROLWAYNE, draw_dataset
from diffusionforce.engines.pocket.world.scenes import SCENES

GOLDEN_CAPTIONS = [
    "a black dog wearing a white hoodie and a pink scarf, standing, under the sea, with closed eyes",
    "fevaslun with black ponytail, with a brown shirt, cheering, under the night sky, very happy",
]
GOLDEN_CAPTIONS_SHA256 = "5c1100c1dd4ca5b83e201e3ec7512f16e0ba5102fce9ae6855c3bd34c211974b"
# fmt: off
GOLDEN_MEANS = {
    0: [[[83.92, 161.41, 194.09], [85.15, 168.26, 201.98]], [[155.82, 166.13, 158.68], [151.4, 169.65, 168.31]]],
    1: [[[66.65, 63.63, 101.12], [53.41, 53.63, 99.47]], [[81.13, 75.31, 95.07], [57.33, 66.12, 102.43]]],
    2: [[[181.93, 192.83, 186.41], [181.96, 183.28, 163.76]], [[184.97, 178.52, 176.04], [178.28, 167.44, 164.56]]],
    3: [[[248.96, 215.23, 160.75], [240.36, 209.75, 158.11]], [[236.27, 198.86, 147.2], [177.86, 159.83, 122.5]]],
    4: [[[77.78, 68.59, 110.02], [61.54, 64.42, 111.55]], [[71.79, 80.95, 119.53], [56.15, 67.1, 109.5]]],
    5: [[[66.71, 79.55, 96.99], [66.24, 75.73, 103.71]], [[100.31, 91.09, 95.64], [66.65, 71.33, 105.02]]],
}
# fmt: on


def quarter_means(picture: Image.Image) -> NDArray[np.float64]:
    """Mean red, green and blue of the four quarters of a picture."""
    pixels = np.asarray(picture, dtype=np.float64)
    half = len(pixels) // 2
    rows = pixels.reshape(2, half, 2, half, 3)
    return rows.mean(axis=(1, 3)).round(2)


def test_captions_of_known_seeds() -> None:
    captions = "\n".join(draw_page(Random(seed), size_px=16).caption for seed in range(200))
    assert captions.splitlines()[:2] == GOLDEN_CAPTIONS
    assert hashlib.sha256(captions.encode()).hexdigest() == GOLDEN_CAPTIONS_SHA256


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5])
def test_pictures_of_known_seeds(seed: int) -> None:
    # Means and not pixels: another version of Pillow may round an edge differently.
    assert np.abs(quarter_means(draw_page(Random(seed)).picture) - GOLDEN_MEANS[seed]).max() < 0.5


def test_a_figure_is_drawn_the_same_at_any_size() -> None:
    figure = cast_figure(Random(7))
    small = picture_of(figure, Random(8), size_px=128)
    large = picture_of(figure, Random(8), size_px=512).resize((128, 128), Image.Resampling.BOX)
    difference = np.abs(np.asarray(small, dtype=float) - np.asarray(large, dtype=float))
    assert difference.mean() < 4


def test_every_scene_and_species_appears() -> None:
    figures = [cast_figure(Random(seed)) for seed in range(300)]
    assert {figure.scene for figure in figures} == set(SCENES)
    assert len({figure.species for figure in figures}) == 10


def test_some_captions_hold_made_up_names() -> None:
    random = Random(3)
    figures = [cast_figure(random) for _ in range(300)]
    unnamed = sum(figure.species not in caption_of(figure, random) for figure in figures)
    assert 5 <= unnamed <= 60


@pytest.mark.parametrize("hero", HEROES, ids=lambda hero: hero.name)
def test_hero_datasets(hero) -> None:
    training = list(draw_dataset(hero, size_px=64))
    held_out = list(draw_dataset(hero, held_out=True, size_px=64))
    assert (len(training), len(held_out)) == (12, 6)
    assert all(hero.name in page.caption for page in training + held_out)
    captions = {page.caption for page in training}
    assert len(captions) == 12
    assert not captions & {page.caption for page in held_out}


def test_heroes_look_different() -> None:
    first, second = (next(draw_dataset(hero, size_px=64)).picture for hero in (LORANNE, ROLWAYNE))
    assert np.abs(np.asarray(first, dtype=float) - np.asarray(second, dtype=float)).mean() > 5
