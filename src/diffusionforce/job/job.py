"""A job: one profile put to work on one dataset, with a folder for everything that comes out of it.

The job file is what the window or the command line hands to the trainer process. It carries the whole profile,
not its name, so that a run can be understood and repeated after the profile has been edited.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from diffusionforce.job.profile import Profile, Section

Folder = Annotated[Path, Field(strict=False)]  # TOML has texts, no paths.


class Job(Section):
    """Everything one training run needs to know.

    Attributes:
        schema_version: Version of this file format.
        profile_name: Name under which the profile was found, for example `pocket-demo`.
        profile: The profile, with the changes made for this run already applied.
        dataset_dir: Folder with pictures and captions.
        held_out_dir: Folder with pictures for the held-out loss; None splits some off the dataset.
        run_dir: The run folder, made by the trainer.
        way: The way to train that the user asks for, by its number in the list of the forecast or by the beginning of
            its words, for example `split, fp8 weights`; empty takes the fastest that fits.
        when_alone: What the run does once the program that started it is gone: goes on, or saves and stops.
        resume: Folder of a state that another run saved, from which this one goes on; None begins at step 0.
    """

    schema_version: Literal[1] = 1
    profile_name: str = Field(min_length=1, max_length=200)
    profile: Profile
    dataset_dir: Folder
    held_out_dir: Folder | None = None
    run_dir: Folder
    way: str = Field(default="", max_length=200)
    when_alone: Literal["go_on", "stop"] = "go_on"
    resume: Folder | None = None
