"""Profiles and jobs: the settings a user may write to disk, checked, versioned, and explained when wrong."""

from diffusionforce.job.files import (
    builtin_profiles,
    changed,
    dataset_folder,
    find_profile,
    read_job,
    read_profile,
    shipped_dir,
    write_job,
    write_profile,
)
from diffusionforce.job.job import Job
from diffusionforce.job.profile import SCHEMA_VERSION, Profile

__all__ = [
    "SCHEMA_VERSION",
    "Job",
    "Profile",
    "builtin_profiles",
    "changed",
    "dataset_folder",
    "find_profile",
    "read_job",
    "read_profile",
    "shipped_dir",
    "write_job",
    "write_profile",
]
