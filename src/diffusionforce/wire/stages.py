"""What a run does around its steps, in the window's words."""

STAGE_WORDS = {
    "model": "Loading the model",
    "text": "Reading captions",
    "pictures": "Preparing pictures",
    "samples": "Drawing previews",
    "held_out": "Measuring the held-out loss",
}
"""By the stage of a `Preparing`."""
