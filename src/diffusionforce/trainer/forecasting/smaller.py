"""Other settings with which a job needs less memory, and which of them were computed to be enough.

Whoever reads that a training does not fit wants to know what to change, and how little. So settings are tried from the
ones that leave the result as it is to the ones that change it most, each with a forecast of its own; of one setting,
the first value that is enough is offered.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from diffusionforce.errors import Change, UserError
from diffusionforce.job import Job, changed

_SIZE_STEP_PX = 16
_SMALLEST_PX = 64
_SMALLER = (0.75, 0.5)
"""Of each side of a picture."""

Value = bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Settings that need less memory, not yet known to be enough."""

    about: str
    """What is changed: of two attempts about the same, the second changes more."""
    words: str
    settings: dict[str, Value]

    def applied(self, job: Job) -> Job | None:
        """The job with these settings; None where they are refused."""
        try:
            profile = changed(job.profile, self.settings, origin="a smaller setting")
        except UserError:
            return None
        return job.model_copy(update={"profile": profile})


def for_training(job: Job) -> Iterator[Attempt]:
    """Settings with which training needs less, the ones that change the result least first."""
    profile = job.profile
    training, dataset, rank = profile.training, profile.dataset, profile.lora.rank
    if not training.gradient_checkpointing:
        settings: dict[str, Value] = {"training.gradient_checkpointing": True}
        yield Attempt(about="recomputing", words="activations recomputed in the backward pass", settings=settings)
    size, count = training.batch_size, training.gradient_accumulation
    while size > 1 and size % 2 == 0:
        size, count = size // 2, count * 2
        pictures = "single pictures" if size == 1 else f"batches of {size}"
        settings = {"training.batch_size": size, "training.gradient_accumulation": count}
        yield Attempt(about="batch", words=f"{pictures}, {count} of them summed up", settings=settings)
    sizes = list(_smaller_sizes(dataset.width, dataset.height))
    for step, share in enumerate((2, 4)):
        if step < len(sizes):
            width, height = sizes[step]
            settings = {"dataset.width": width, "dataset.height": height}
            yield Attempt(about="pictures", words=f"pictures of {width} x {height}", settings=settings)
        if rank // share:
            settings = {"lora.rank": rank // share}
            yield Attempt(about="rank", words=f"rank {rank // share} in place of {rank}", settings=settings)


def for_samples(job: Job) -> Iterator[Attempt]:
    """Settings with which samples need less."""
    samples = job.profile.samples
    frames = samples.num_frames
    while frames > 1:
        frames = frames // 8 * 4 + 1  # Models make a multiple of four, and one more.
        words = f"samples of {frames} frames" if frames > 1 else "samples of a single frame"
        yield Attempt(about="frames", words=words, settings={"samples.num_frames": frames})
    for width, height in _smaller_sizes(samples.width, samples.height):
        settings: dict[str, Value] = {"samples.width": width, "samples.height": height}
        yield Attempt(about="size", words=f"samples of {width} x {height}", settings=settings)


def all_together(attempts: Sequence[Attempt]) -> Attempt | None:
    """The furthest attempts about everything, made at once; None where that is not more than one of them."""
    furthest = {attempt.about: attempt for attempt in attempts}
    if len(furthest) < 2:
        return None
    settings: dict[str, Value] = {}
    for attempt in furthest.values():
        settings |= attempt.settings
    words = [attempt.words for attempt in furthest.values()]
    return Attempt(about="all", words=f"{', '.join(words[:-1])} and {words[-1]}", settings=settings)


def enough(attempts: Iterable[Attempt], job: Job, *, outcome: Callable[[Job], str]) -> tuple[Change, ...]:
    """Those attempts that are enough; of attempts about the same, the first.

    Args:
        attempts: What to try.
        job: The job that needs less.
        outcome: Tries a changed job and says what comes of it, for people; empty where it is not enough.
    """
    found: dict[str, Change] = {}
    for attempt in attempts:
        tried = attempt.applied(job) if attempt.about not in found else None
        words = outcome(tried) if tried is not None else ""
        if words:
            found[attempt.about] = Change(words=f"{attempt.words} ({words})", settings=attempt.settings)
    return tuple(found.values())


def _smaller_sizes(width: int, height: int) -> Iterator[tuple[int, int]]:
    before = width, height
    for share in _SMALLER:
        sizes = _smaller(width, share), _smaller(height, share)
        if sizes != before:
            yield sizes
        before = sizes


def _smaller(size_px: int, share: float) -> int:
    return max(_SMALLEST_PX, int(size_px * share) // _SIZE_STEP_PX * _SIZE_STEP_PX)
