"""Which file holds what the training process of a run printed by itself."""

from pathlib import Path

from diffusionforce.runs import RunFolder
from diffusionforce.runs.log import full_log, size_of


def log_with_words(root: Path) -> Path | None:
    """Return the log of a run that says something: the one at hand, else the last full one; None where none does."""
    log = RunFolder(root).log_path
    return next((path for path in (log, full_log(log, 1)) if size_of(path)), None)
