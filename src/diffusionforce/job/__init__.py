"""Profiles and jobs: the settings a user may write to disk, checked, versioned, and explained when wrong."""

from diffusionforce.job.files import (
    builtin_profiles,
    changed,
    dataset_folder,
    expanded,
    find_profile,
    own_profiles,
    read_job,
    read_profile,
    shipped_dir,
    with_absolute_weights,
    write_job,
    write_profile,
)
from diffusionforce.job.home import data_dir, own_profiles_dir
from diffusionforce.job.job import Job
from diffusionforce.job.kept_files import KeptFile
from diffusionforce.job.profile import SCHEMA_VERSION, Profile
from diffusionforce.job.toml import loaded_toml, parsed_toml
from diffusionforce.job.whole_files import PART_SUFFIX, neighbour_of, write_whole

__all__ = [
    "PART_SUFFIX",
    "SCHEMA_VERSION",
    "Job",
    "KeptFile",
    "Profile",
    "builtin_profiles",
    "changed",
    "data_dir",
    "dataset_folder",
    "expanded",
    "find_profile",
    "loaded_toml",
    "neighbour_of",
    "own_profiles",
    "own_profiles_dir",
    "parsed_toml",
    "read_job",
    "read_profile",
    "shipped_dir",
    "with_absolute_weights",
    "write_job",
    "write_profile",
    "write_whole",
]
