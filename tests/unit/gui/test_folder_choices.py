"""What can be said of a folder, read as people write it."""

import pytest
from pydantic import ValidationError

from diffusionforce.datasets.sets import SetFolder
from diffusionforce.gui.model.folder_choices import SIZES, read_size, with_changes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("768 × 512", (768, 512)),
        (" 768x512 ", (768, 512)),
        ("768*512", (768, 512)),
        ("70 × 512", None),
        ("32 × 512", None),
        ("768", None),
        ("9216 × 512", None),
        ("0 × 0", None),
        ("large", None),
    ],
)
def test_sizes_are_read_and_others_refused(text: str, size: tuple[int, int] | None) -> None:
    assert read_size(text) == size


def test_every_size_that_is_offered_can_be_trained_at() -> None:
    for width, height in SIZES:
        assert SetFolder(path="a", width=width, height=height).size((64, 64)) == (width, height)


def test_a_change_is_checked() -> None:
    assert with_changes(SetFolder(path="a"), repeats=3).repeats == 3
    with pytest.raises(ValidationError):
        with_changes(SetFolder(path="a"), width=100)
