"""What a run that goes on does otherwise than the one that it goes on from."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import ValidationError

from diffusionforce.errors import UserError
from diffusionforce.job import Job, Profile, read_job
from diffusionforce.runs.checkpoints import read_manifest
from diffusionforce.runs.folder import RunFolder

_MOST_SHOWN = 60
_SILENT = frozenset({"title", "description", "based_on", "schema_version"})
"""What has no effect on a training."""


def differing_settings(job: Job) -> str:
    """Return a sentence that names the settings that are not those of the checkpoint that a job goes on from.

    Empty where all are the same, and where it is not known what they were.
    """
    if job.resume is None:
        return ""
    try:
        before = _profile_before(job)
    except UserError:  # The folder was copied without its run.
        return ""
    changes = list(_changes(_flat(before), _flat(job.profile)))
    if not changes:
        return ""
    name = job.resume.name
    one = len(changes) == 1
    return (
        f"From checkpoint {name}, {'this setting differs' if one else 'these settings differ'}: {', '.join(changes)}."
    )


def _profile_before(job: Job) -> Profile:
    assert job.resume is not None
    kept = read_manifest(job.resume).profile
    try:
        # Its settings came from JSON, where whole numbers may stand for others. New ones have their defaults.
        return Profile.model_validate(kept, strict=False)
    except ValidationError:
        return read_job(RunFolder(job.resume.parent.parent).job_path).profile


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*after, *before]):
        old, new = before.get(name), after.get(name)
        if old != new and name not in _SILENT:
            yield f"{name} ({_shown(old)} before, {_shown(new)} now)"


def _flat(profile: Profile) -> dict[str, Any]:
    """Settings by their dotted names."""
    found: dict[str, Any] = {}

    def note(table: Mapping[str, Any], prefix: str) -> None:
        for name, value in table.items():
            if isinstance(value, dict):
                note(cast(dict[str, Any], value), f"{prefix}{name}.")
            else:
                found[f"{prefix}{name}"] = value

    note(profile.model_dump(mode="json"), "")
    return found


def _shown(value: Any) -> str:
    if value is None or value in ("", []):
        return "none"
    text = ", ".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)
    return f"{text[:_MOST_SHOWN]}…" if len(text) > _MOST_SHOWN else text
