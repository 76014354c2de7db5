"""Musubi Tuner as an engine of the trainer: what it needs is checked before anything is written, then it trains.

What lies in the engine's place is verified first, so that a changed file is named before anything else is said.
"""

import importlib.util
from collections.abc import Callable

from diffusionforce.engines.contract import Controls, Datasets, Output, Report
from diffusionforce.engines.health import about_learning_rate
from diffusionforce.engines.musubi.families import find_family
from diffusionforce.engines.musubi.families.record import Family
from diffusionforce.engines.musubi.modules import LIBRARIES_HINT
from diffusionforce.engines.musubi.rates import usual_rates
from diffusionforce.engines.musubi.readiness import require_ready
from diffusionforce.engines.musubi.verification import verify
from diffusionforce.engines.plans import RunPlan
from diffusionforce.errors import EngineError, UserError, WeightsError
from diffusionforce.job import Job
from diffusionforce.rig import read_cards
from diffusionforce.runs import require_resumable
from diffusionforce.wire import Done, Stopped, Warn
from diffusionforce.wire.readiness import Lack

_LIBRARIES = (
    "av",
    "cv2",
    "diffusers",
    "easydict",
    "einops",
    "ftfy",
    "toml",
    "torchvision",
    "transformers",
    "voluptuous",
)
"""What the engine imports beside the product's own libraries."""


class MusubiEngine:
    """The engine for the real models."""

    def check(self, job: Job) -> None:
        """Refuse a job that cannot run, before anything is written or loaded.

        Raises:
            ProfileError: The profile names a model family that this engine does not know.
            EngineError: The engine is not installed, was changed, or lacks libraries.
            UserError: The model's files, terms or settings, all that is wrong with them at once.
        """
        found = first_problem(job)
        if found is not None:
            raise found[1]

    def train(
        self,
        job: Job,
        *,
        datasets: Datasets,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None = None,
    ) -> Done | Stopped:
        """Train, and return how it ended.

        Raises:
            CardMemoryError: Memory ran out; what was saved before stays.
            UserError: The run cannot go on; what was saved before stays.
        """
        family = find_family(job.profile.model.family)
        title, rates = family.title, usual_rates(job.profile, family=family)
        about_rate = about_learning_rate(job.profile, rates=rates)
        if about_rate is not None:
            report(about_rate)
        report(
            Warn(
                sentence=_how_it_was_tried(family),
                hint="Look at the first samples before you leave it alone, and keep the files of runs you care about.",
            )
        )
        if plan is None:
            report(
                Warn(
                    sentence=f"What {title} needs cannot be forecast yet: its blocks are spread evenly over the cards, "
                    "and no budget is kept.",
                    hint="If a card runs out of memory, train smaller pictures, or fewer of them at a time.",
                )
            )
        # Not above: whoever only checks a job needs no torch.
        running = importlib.import_module("diffusionforce.engines.musubi.running")
        run = running.MusubiRun(
            job=job, dataset=datasets.training, output=output, report=report, controls=controls, plan=plan
        )
        return run.to_the_end()


def _how_it_was_tried(family: Family) -> str:
    if family.validated == "trained in full size on two cards":
        return (
            f"Training {family.title} is experimental: it was held against the engine with tiny models, and run on two "
            "graphics cards with random weights of full size, but nobody has looked at what it learns."
        )
    return (
        f"Training {family.title} is experimental: it was held against the engine on the processor only, with tiny "
        "models, and has not been run on graphics cards."
    )


def first_problem(job: Job) -> tuple[Lack, UserError] | None:
    """Return what is in the way of a job, the most basic thing first, and what kind of thing it is; None if nothing."""
    checks: tuple[tuple[Lack, Callable[[], object]], ...] = (
        ("settings", lambda: find_family(job.profile.model.family)),
        ("engine", verify),
        ("card", lambda: _require_card(job)),
        ("libraries", require_libraries),
        ("settings", lambda: require_ready(job)),
        ("state", lambda: require_resumable(job)),
    )
    for lack, check in checks:
        try:
            check()
        except UserError as error:
            return _lack_of(error, usual=lack), error
    return None


def _lack_of(error: UserError, *, usual: Lack) -> Lack:
    """What `require_ready` refuses is about terms, files or settings; its first problem has the kind."""
    if usual == "settings" and isinstance(error, WeightsError):
        return "files"
    return "terms" if usual == "settings" and isinstance(error, EngineError) else usual


def _require_card(job: Job) -> None:
    if "cpu" in job.profile.devices.use or not read_cards():
        title = find_family(job.profile.model.family).title
        raise EngineError(
            f"{title} cannot be trained without a graphics card.",
            hint="On the processor, train the profile pocket-demo, with your own pictures if you like.",
        )


def require_libraries() -> None:
    """Refuse to go on without the libraries that the engine imports.

    Raises:
        EngineError: Some are not installed; the sentence names them.
    """
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise EngineError(
            f"The engine needs libraries that are not installed: {', '.join(missing)}.",
            hint=LIBRARIES_HINT,
        )
