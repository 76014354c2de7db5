"""What is told of pictures that are held out, wherever somebody meets them first."""

from diffusionforce.gui.model.language import noted

WHAT_FOR = noted("Held-out pictures are never trained on: their loss tells learning from memorising.")


def told(num_pictures: int, *, fewest: int) -> tuple[str, str]:
    """Return what is held out of a dataset, and what that means; empty texts where it is not known.

    Args:
        num_pictures: How many of its pictures are used.
        fewest: Of fewer pictures none is held out; 0 where this is not known.
    """
    if not num_pictures or not fewest:
        return "", ""
    if num_pictures < fewest:
        return (
            "No picture is held out",
            f"With fewer than {fewest} pictures none is held out: there will be no held-out loss.",
        )
    return "A few pictures are held out", WHAT_FOR
