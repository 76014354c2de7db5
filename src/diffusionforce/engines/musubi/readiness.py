"""Whether a job can run, before anything is loaded: terms, options, prompts and files, all problems at once.

Each of these would stop the engine only after minutes, one at a time. Here all of them are collected, so that a user
fixes them in one go.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.engines.musubi.advanced import checked_advanced, require_libraries, require_loras
from diffusionforce.engines.musubi.arguments import mixed_precision, require_checkpointing
from diffusionforce.engines.musubi.controls import require_controls
from diffusionforce.engines.musubi.families import FAMILIES, Family, Use, find_family
from diffusionforce.engines.musubi.headers import FilePrecision
from diffusionforce.engines.musubi.sample_prompts import sample_prompts
from diffusionforce.engines.musubi.terms import require_accepted
from diffusionforce.engines.musubi.weights import Located, locate, require_files
from diffusionforce.engines.musubi.weights_check import DIT_ROLES
from diffusionforce.errors import ProfileError, UserError, WeightsError
from diffusionforce.job import Job, Profile
from diffusionforce.runs import shortened

_TRAINABLE_ON = frozenset({"pictures", "pictures with control pictures"})
"""What datasets hold."""
_WITHOUT_SAMPLES: frozenset[Use] = frozenset({"training", "pictures", "captions"})
_WITH_SAMPLES: frozenset[Use] = frozenset({"training", "pictures", "captions", "samples"})


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A job that can run.

    Attributes:
        family: Its model.
        files: The model's files by role; those that only samples need are there if the job makes some.
        file_precision: Number format of the transformer's file.
    """

    family: Family
    files: Mapping[str, Path]
    file_precision: FilePrecision


def require_ready(job: Job) -> Ready:
    """Refuse a job that cannot run.

    Raises:
        UserError: The first problem; the others are in the hint.
    """
    family = find_family(job.profile.model.family)
    located = locate(family, profile=job.profile)
    problems = list(_problems(job, family, located))
    if problems:
        raise _together(problems)
    files = require_files(located, family=family, uses=_uses(job.profile), profile_name=job.profile_name)
    return Ready(family=family, files=files, file_precision=_precision(located))


def _problems(job: Job, family: Family, located: tuple[Located, ...]) -> Iterator[UserError]:
    profile = job.profile
    checks: tuple[Callable[[], object], ...] = (
        lambda: require_accepted(family, profile_name=job.profile_name),
        lambda: _require_dataset(family),
        lambda: require_controls(job.dataset_dir, family=family),
        lambda: _require_known_roles(profile, family),
        lambda: checked_advanced(profile, family=family),
        lambda: require_libraries(profile),
        lambda: require_loras(profile, family=family),
        lambda: require_checkpointing(profile, family=family),
        lambda: sample_prompts(profile, family=family, dataset_dir=job.dataset_dir),
        lambda: require_files(located, family=family, uses=_uses(profile), profile_name=job.profile_name),
        lambda: mixed_precision(profile, family=family, file_precision=_precision(located)),
        lambda: _require_one_precision(located, family),
    )
    for check in checks:
        problem = _problem_of(check)
        if problem is not None:
            yield problem


def _problem_of(check: Callable[[], object]) -> UserError | None:
    try:
        check()
    except UserError as error:
        return error
    return None


def _together(problems: list[UserError]) -> UserError:
    """Return one error for all: the first, with the others in its hint."""
    first, *others = problems
    if not others:
        return first
    lines = [first.hint, *(f"{other.sentence} {other.hint}".strip() for other in others)]
    sentence = f"{first.sentence} ({len(others)} more below)"
    return type(first)(sentence, hint="\n".join(filter(None, lines)), detail=first.detail)


def _uses(profile: Profile) -> frozenset[Use]:
    return _WITH_SAMPLES if profile.samples.prompts else _WITHOUT_SAMPLES


def _precision(located: tuple[Located, ...]) -> FilePrecision:
    for one in located:
        if one.file.role == "dit" and one.is_usable:
            return one.precision
    return "unknown"


def _require_one_precision(located: tuple[Located, ...], family: Family) -> None:
    """Refuse two models that change places in memory and are in two formats."""
    models = [one for one in located if one.file.role in DIT_ROLES and one.is_usable]
    first, others = models[:1], models[1:]
    for one, other in ((one, other) for one in first for other in others if other.precision != one.precision):
        raise WeightsError(
            f"{_name(other)} is in {other.precision}, and {_name(one)} is in {one.precision}: {family.title} is "
            "trained with both in one format.",
            hint=f"Take both from {one.file.page}",
        )


def _name(located: Located) -> str:
    return shortened(located.path) if located.path is not None else located.file.name


def _require_dataset(family: Family) -> None:
    if family.trains_on not in _TRAINABLE_ON:
        names = ", ".join(name for name, other in FAMILIES.items() if other.trains_on in _TRAINABLE_ON)
        raise ProfileError(
            f"{family.title} is trained on {family.trains_on}, and datasets hold pictures with captions only.",
            hint=f"Models that are trained on pictures: {names}.",
        )


def _require_known_roles(profile: Profile, family: Family) -> None:
    roles = [file.role for file in family.files]
    for role in profile.model.files:
        if role not in roles:
            raise ProfileError(f"model.files.{role} is no file of {family.title}.", hint=f"It has: {', '.join(roles)}.")
