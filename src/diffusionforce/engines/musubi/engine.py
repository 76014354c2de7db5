"""Musubi Tuner as an engine: today it refuses, and says what is missing and where to get it.

What lies in the engine's place is verified first, so that a changed file is named before anything else is said.
"""

from typing import NoReturn

from diffusionforce.engines.contract import Controls, Datasets, Output, Report
from diffusionforce.engines.musubi.models import MODELS
from diffusionforce.engines.musubi.pin import engine_dir, read_pin
from diffusionforce.engines.musubi.verification import verify
from diffusionforce.engines.plans import RunPlan
from diffusionforce.errors import EngineError, ProfileError
from diffusionforce.job import Job

TRAINS_TODAY = "To train now, use the profile pocket-demo, with your own pictures if you like."


class MusubiEngine:
    """The engine for the real models."""

    def check(self, job: Job) -> None:
        """Refuse every job, with what is missing for this one.

        Raises:
            ProfileError: The profile names a model family that this engine does not know.
            EngineError: The installed engine was changed, or this version cannot train the model.
        """
        self._refuse(job)

    def train(
        self,
        job: Job,
        *,
        datasets: Datasets,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None = None,
    ) -> NoReturn:
        """Refuse, like `check`.

        Raises:
            ProfileError: The profile names a model family that this engine does not know.
            EngineError: This version cannot train the model.
        """
        self._refuse(job)

    def _refuse(self, job: Job) -> NoReturn:
        family = job.profile.model.family
        model = MODELS.get(family)
        if model is None:
            raise ProfileError(
                f"model.family is {family!r}, which the musubi engine does not know.",
                hint=f"It knows: {', '.join(MODELS)}.",
            )
        pin = read_pin()
        folder = engine_dir(pin)
        engine = f"Musubi Tuner {pin.version}"
        is_here = folder.is_dir()
        if is_here:
            verify(pin)
        state = f"{engine} is in {folder}." if is_here else f"{engine} is not in {folder}."
        source = f"{engine} is {pin.upstream} at commit {pin.commit}."
        files = "\n".join(f"  {file}" for file in model.files)
        raise EngineError(
            f"{model.title} needs the engine {engine}, which this version of DiffusionForce cannot drive yet: it "
            "trains the pocket model only.",
            hint=f"{TRAINS_TODAY} {model.title} comes with a later version; its files can be downloaded from Hugging "
            f"Face already, after accepting their terms there:\n{files}",
            detail=f"{state}\n{source}",
        )
