"""Looking at pictures from nearer: what is seen of them."""

import pytest

from diffusionforce.gui.model.zoom import MAX_SCALE, Zoom


def test_what_is_under_the_mouse_stays_there() -> None:
    zoom = Zoom()
    zoom.by(2.0, x=0.75, y=0.25)
    # A place at 0.75 of the whole is at 0.75 of the view as before.
    assert zoom.left + 0.75 * zoom.span == pytest.approx(0.75)
    assert zoom.top + 0.25 * zoom.span == pytest.approx(0.25)
    zoom.by(3.0, x=0.1, y=0.9)
    zoom.by(1 / 3.0, x=0.1, y=0.9)
    assert (zoom.scale, zoom.left, zoom.top) == (pytest.approx(2), pytest.approx(0.375), pytest.approx(0.125))


def test_the_picture_follows_the_mouse_and_ends_at_its_edges() -> None:
    zoom = Zoom()
    zoom.by(4.0)
    left = zoom.left
    zoom.pan(0.5, 0.0)
    assert zoom.left == pytest.approx(left - 0.5 * zoom.span)
    zoom.pan(-99, 99)
    assert (zoom.left, zoom.top) == (pytest.approx(0.75), 0.0)


def test_it_never_shows_more_than_all_nor_single_dots() -> None:
    zoom = Zoom()
    zoom.by(0.5)
    assert (zoom.scale, zoom.left, zoom.top, zoom.is_near) == (1.0, 0.0, 0.0, False)
    zoom.by(1e6)
    assert zoom.scale == MAX_SCALE
    zoom.reset()
    assert not zoom.is_near
