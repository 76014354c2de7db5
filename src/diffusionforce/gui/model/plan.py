"""A run that has not started: what is chosen, and the job that it makes. What is in the way `plan_checks` says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from diffusionforce.errors import UserError
from diffusionforce.gui.model.forecast_desk import ForecastStatus
from diffusionforce.gui.model.readiness import ReadinessView
from diffusionforce.job import Job, Profile, changed, dataset_folder
from diffusionforce.runs import new_run_dir

if TYPE_CHECKING:
    from diffusionforce.datasets import Dataset

# Engines that come with the app; for the others it is looked whether all that they need is here.
READY_ENGINES = frozenset({"pocket"})


@dataclass(kw_only=True)
class Plan:
    """What is chosen for the next run.

    Attributes:
        profile_name: Name or path of the profile; empty when none is chosen.
        profile: The profile, with the changes made for this run.
        profile_dir: Folder in which its relative paths begin; None for the built-in ones.
        dataset_choice: `demo:NAME` or a path; empty takes the one that the profile names.
        dataset: What the folder holds; None until it has been read.
        dataset_problem: Why the folder cannot be used.
        trigger_choice: The word that the user wants to call the subject by; empty takes the one that is found.
        way: Words of the way to train that the user has picked; empty takes the fastest that fits.
        cut: The same with where the model is cut, if the user says that, too; empty leaves it to the planner.
        output: The run folder; None makes a new one among the others.
        memory: What is known of the memory that the run will need.
        readiness: Whether engine and files of a real model are here.
        pace_before_s: Seconds a step of the last runs of the profile with all that came along; None without any.
        needs_environment: Whether nothing can be trained before the training environment is set up.
        has_no_card: Whether it was looked for NVIDIA cards, and there is none.
    """

    profile_name: str = ""
    profile: Profile | None = None
    profile_dir: Path | None = None
    profile_problem: UserError | None = None
    dataset_choice: str = ""
    dataset: "Dataset | None" = None
    dataset_problem: UserError | None = None
    trigger_choice: str = ""
    way: str = ""
    cut: str = ""
    output: Path | None = None
    memory: ForecastStatus = field(default_factory=ForecastStatus)
    readiness: ReadinessView = field(default_factory=ReadinessView)
    pace_before_s: float | None = None
    needs_environment: bool = False
    has_no_card: bool = False
    _suggested: Path | None = field(default=None, repr=False)

    def choose_profile(self, name: str, profile: Profile, *, profile_dir: Path | None = None) -> None:
        """Choose a profile; a dataset that only the last profile named is forgotten."""
        self.profile_name, self.profile, self.profile_problem = name, profile, None
        self.profile_dir = profile_dir
        self.way = self.cut = ""
        self.pace_before_s = None
        self._suggested = None
        self._forget_dataset()

    def choose_dataset(self, folder: str) -> None:
        """Choose a dataset folder."""
        self.dataset_choice = folder
        self._forget_dataset()

    def pick_way(self, name: str) -> None:
        """Pick a way to train by its name, cut where the planner would; empty takes the fastest."""
        self.way, self.cut = name, ""

    def set_steps(self, steps: int) -> None:
        """Change the number of steps of this run alone."""
        if self.profile is not None and steps != self.profile.training.steps:
            warmup = min(self.profile.training.warmup_steps, steps)
            edits = {"training.steps": steps, "training.warmup_steps": warmup}
            self.profile = changed(self.profile, edits, origin="Steps")

    def change_settings(self, settings: Mapping[str, bool | int | float | str]) -> None:
        """Change settings of this run alone; those that the profile does not take stay as they are."""
        if self.profile is None:
            return
        try:
            self.profile = changed(self.profile, settings, origin="What would help")
        except UserError as problem:
            self.profile_problem = problem

    def choose_trigger(self, word: str) -> None:
        """Choose the word that calls the subject of this dataset; empty takes the one that is found."""
        word = word.strip()
        self.trigger_choice = "" if word == self.found_trigger else word

    def _forget_dataset(self) -> None:
        self.dataset, self.dataset_problem, self.trigger_choice = None, None, ""

    @property
    def fitted_profile(self) -> Profile | None:
        """The profile as the run will have it: its trigger word and its prompts fitted to the dataset."""
        return self._fitted(self.trigger_choice)

    @property
    def trigger(self) -> str:
        """The word that calls the subject of the run, empty when there is none."""
        fitted = self.fitted_profile
        return fitted.dataset.trigger if fitted is not None else ""

    @property
    def found_trigger(self) -> str:
        """The trigger word without a choice of the user's."""
        fitted = self._fitted("")
        return fitted.dataset.trigger if fitted is not None else ""

    def _fitted(self, trigger: str) -> Profile | None:
        if self.profile is None or self.dataset is None:
            return self.profile
        # Whoever read the dataset has loaded this package, which the start of the window does without.
        from diffusionforce.datasets import adapted  # noqa: PLC0415

        return adapted(self.profile, self.dataset, trigger=trigger, profile_dir=self.profile_dir)

    @property
    def job_profile_name(self) -> str:
        """What runs call the profile: its name, also where it was chosen by its path."""
        return Path(self.profile_name).stem if os.sep in self.profile_name else self.profile_name

    @property
    def dataset_name(self) -> str:
        """The dataset in the user's words: the choice, or the profile's own; empty when there is none."""
        if self.dataset_choice:
            return self.dataset_choice
        return self.profile.dataset.folder if self.profile else ""

    @property
    def dataset_dir(self) -> Path | None:
        """Folder of the dataset, None when none is chosen.

        Raises:
            ProfileError: A demo dataset that does not exist.
        """
        return dataset_folder(self.dataset_name, base=self.dataset_base) if self.dataset_name else None

    @property
    def dataset_base(self) -> Path | None:
        """Folder in which a relative dataset begins: that of the profile if the profile names the dataset."""
        return None if self.dataset_choice else self.profile_dir

    @property
    def output_dir(self) -> Path:
        """Where the run will lie."""
        if self.output is not None:
            return self.output
        if self._suggested is None or self._suggested.exists():
            self._suggested = new_run_dir(Path(self.profile_name).stem or "run")
        return self._suggested

    @property
    def output_words(self) -> tuple[str, str]:
        """Name of the run folder and where it lies; a new one gets its name, the time, when the run starts."""
        return ("A new folder" if self.output is None else self.output_dir.name), str(self.output_dir.parent)

    @property
    def held_out_dir(self) -> Path | None:
        """Folder with the held-out pictures: the profile's own belong to the profile's own dataset only."""
        fitted = self.fitted_profile
        is_known = self.dataset is not None or not self.dataset_choice
        if fitted is None or not is_known or not fitted.dataset.held_out_folder:
            return None
        return dataset_folder(fitted.dataset.held_out_folder, base=self.profile_dir)

    def refusal(self) -> UserError | None:
        """Return why the profile cannot be run here, whatever the dataset; None when it can, or is not known yet."""
        if self.profile_problem is not None:
            return self.profile_problem
        return self.readiness.problem if self.needs_engine else None

    @property
    def needs_engine(self) -> bool:
        """Whether the profile is for an engine that has to be brought, with files of its own."""
        return self.profile is not None and self.profile.model.engine not in READY_ENGINES

    def readiness_job(self) -> Job | None:
        """Return the job to look for engine and files with; None where nothing has to be looked for."""
        profile = self.fitted_profile
        if not self.needs_engine or profile is None or self.profile_problem is not None or self.needs_environment:
            return None
        # Only some models look at the pictures for it; where none are chosen, there are none to look at.
        folder = self.dataset_dir if self.dataset is not None else None
        return self._job_of(profile, folder=folder or Path(self.output_dir, "no-dataset"))

    @property
    def lacks_card(self) -> bool:
        """Whether the model needs a card, there is none, and what was looked at so far does not say so."""
        return self.needs_engine and self.has_no_card and self.readiness.lack != "card"

    @property
    def is_checking(self) -> bool:
        """Whether the dataset is still being read."""
        return bool(self.dataset_name) and self.dataset is None and self.dataset_problem is None

    @property
    def holds_up_forecast(self) -> bool:
        """Whether something that is told of keeps a forecast from being made, and not that something is not chosen."""
        is_refused = self.profile_problem is not None or self.dataset_problem is not None
        return self.needs_environment or is_refused or (self.needs_engine and self.readiness.lack == "engine")

    def job(self) -> Job:
        """Return the job for the trainer. Call only when nothing is in the way."""
        job = self.forecast_job()
        assert job is not None
        return job

    def forecast_job(self) -> Job | None:
        """Return the job as far as it can be forecast, None until profile and dataset are known to be good."""
        profile, folder = self.fitted_profile, self.dataset_dir if self.dataset is not None else None
        if profile is None or folder is None or self.profile_problem is not None or self.needs_environment:
            return None
        return self._job_of(profile, folder=folder)

    def _job_of(self, profile: Profile, *, folder: Path) -> Job:
        return Job(
            profile_name=self.job_profile_name,
            profile=profile,
            dataset_dir=folder,
            held_out_dir=self.held_out_dir,
            run_dir=self.output_dir,
            way=self.cut or self.way,
        )
