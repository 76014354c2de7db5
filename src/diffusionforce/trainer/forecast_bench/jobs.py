"""The jobs of the table: what is trained or sampled, on how many cards, in which way."""

from dataclasses import dataclass
from typing import Literal

from diffusionforce.errors import UserError
from diffusionforce.rig import GIB

Recompute = Literal["pipeline", "model", "graphs", "none"]
"""Who recomputes the activations of a block: the pipeline around it, the model inside it, captured graphs, nobody."""


@dataclass(frozen=True, kw_only=True)
class BenchJob:
    """One row."""

    name: str
    model: str
    """Name out of `models.bench_models`."""
    num_tokens: int
    """Picture tokens of a micro-batch, or of a sample."""
    num_microbatches: int = 1
    is_sample: bool = False
    """A forward pass without gradients beside a training that waits, in place of a training step."""
    num_cards: int = 2
    chunks_each: int = 5
    recompute: Recompute = "pipeline"
    budget_bytes: int = 0
    """What each card may use: the planner pages what does not fit, and the allocator enforces it. 0: all there is."""
    paged_share: float = 0.0
    """Of each card's blocks, where the planner is not asked."""
    num_steps: int = 3
    num_warm_up_steps: int = 2


def bench_jobs(*, is_small: bool) -> tuple[BenchJob, ...]:
    """All jobs, those of one model side by side.

    Args:
        is_small: For tiny models, in a dry run without cards.
    """
    jobs = (
        BenchJob(name="pocket", model="pocket", num_tokens=1024, num_microbatches=4, chunks_each=2, recompute="none"),
        *(_wan(num_tokens, num) for num_tokens in (1024, 4096, 16384) for num in (2, 4)),
        _wan(4096, 4, name="wan 4096 x 4, graphs", recompute="graphs"),
        _wan(4096, 4, name="wan 4096 x 4, mode B in 16 GiB", budget_bytes=16 * GIB),
        _wan(4096, 4, name="wan 4096 x 4, mode B in 12 GiB", budget_bytes=12 * GIB),
        _wan(12288, 1, name="wan sample 12288, mode A", is_sample=True),
        _wan(12288, 1, name="wan sample 12288, mode C in 15 GiB", is_sample=True, budget_bytes=15 * GIB),
        _wan(4096, 2, name="wan 4096 x 2, one card", num_cards=1, chunks_each=1, recompute="model"),
        _wan(
            4096,
            2,
            name="wan 4096 x 2, one card, paged",
            num_cards=1,
            chunks_each=1,
            recompute="model",
            paged_share=0.5,
        ),
        BenchJob(name="wan fp8 4096 x 2", model="wan fp8", num_tokens=4096, num_microbatches=2),
        BenchJob(name="wan fp8 4096 x 4", model="wan fp8", num_tokens=4096, num_microbatches=4),
        BenchJob(name="klein 4096 x 2", model="klein", num_tokens=4096, num_microbatches=2, chunks_each=4),
        BenchJob(name="klein 4096 x 4", model="klein", num_tokens=4096, num_microbatches=4, chunks_each=4),
    )
    return tuple(map(_small, jobs)) if is_small else jobs


def chosen(jobs: tuple[BenchJob, ...], names: str) -> tuple[BenchJob, ...]:
    """The jobs that a list names: whole names, or what several names begin with.

    Args:
        jobs: All jobs.
        names: Entries with semicolons between them (names hold commas); empty: all jobs.

    Raises:
        UserError: An entry fits no job.
    """
    if not names:
        return jobs
    found: set[str] = set()
    for wanted in filter(None, map(str.strip, names.split(";"))):
        named = [job.name for job in jobs if job.name == wanted] or [j.name for j in jobs if j.name.startswith(wanted)]
        if not named:
            raise UserError(f'No job is called "{wanted}".', hint="--list shows them all; put ; between several.")
        found.update(named)
    return tuple(job for job in jobs if job.name in found)


def _wan(num_tokens: int, num_microbatches: int, *, name: str = "", **rest: object) -> BenchJob:
    steps = (2, 1) if num_tokens > 8192 else (3, 2)
    return BenchJob(
        name=name or f"wan {num_tokens} x {num_microbatches}",
        model="wan",
        num_tokens=num_tokens,
        num_microbatches=num_microbatches,
        num_steps=steps[0],
        num_warm_up_steps=steps[1],
        **rest,  # pyright: ignore[reportArgumentType]
    )


def _small(job: BenchJob) -> BenchJob:
    changes = {"num_tokens": job.num_tokens // 64, "chunks_each": min(job.chunks_each, 2), "budget_bytes": 0}
    return BenchJob(**{**vars(job), **changes})
