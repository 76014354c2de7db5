"""What of a picture is trained on."""

import pytest

from diffusionforce.datasets.framing import Framing, count_shapes, shape


def framing(width: int, height: int, target: tuple[int, int] = (1024, 1024)) -> Framing:
    return Framing(width=width, height=height, target_width=target[0], target_height=target[1])


def test_a_wide_picture_loses_its_sides():
    seen = framing(2048, 1024)
    assert seen.crop == pytest.approx((0.25, 0, 0.75, 1))
    assert seen.cropped_share == pytest.approx(0.5)
    assert seen.is_cut_at_sides
    assert seen.scale == 1


def test_a_tall_picture_loses_top_and_bottom():
    seen = framing(1000, 2000)
    assert seen.crop == pytest.approx((0, 0.25, 1, 0.75))
    assert not seen.is_cut_at_sides


def test_a_small_picture_is_blown_up_and_said_to_be():
    assert framing(256, 256).scale == 4
    assert framing(256, 256).is_blurry
    assert not framing(900, 900).is_blurry


@pytest.mark.parametrize(
    ("size", "expected"),
    [((1024, 1024), (1, 1)), ((3000, 2000), (3, 2)), ((1080, 1920), (9, 16)), ((4000, 20), (21, 9))],
)
def test_shapes_have_their_usual_names(size: tuple[int, int], expected: tuple[int, int]):
    assert shape(*size) == expected


def test_shapes_are_counted_from_tall_to_wide():
    counts = count_shapes([framing(1080, 1920), framing(3000, 2000), framing(300, 200)])
    assert [(count.shape, count.num, count.num_blurry) for count in counts] == [((9, 16), 1, 0), ((3, 2), 2, 1)]
