"""How the files of a run are called."""

import re

from diffusionforce.job import Job


def lora_name(job: Job) -> str:
    """A file name for the run's LoRA: its trigger word, or else its dataset, in plain letters."""
    name = job.profile.dataset.trigger or job.dataset_dir.name
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "lora"
