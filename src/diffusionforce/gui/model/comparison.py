"""Several runs side by side: which settings differ, how the losses went, and the samples that can be compared."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from diffusionforce.errors import UserError
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.losses import LossCurve
from diffusionforce.gui.model.run_chain import begun_at, earlier_runs
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.gui.model.run_title import long_title
from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.gui.model.setting_words import SECTIONS, WORDS
from diffusionforce.job import Job, read_job
from diffusionforce.runs import RunFolder, read_telemetry

LETTERS = "ABCD"
MOST = len(LETTERS)
NOT_KNOWN = "not known"
SUBJECT = "\0"
"""Stands for the word by which each run calls its subject: no prompt has that sign."""


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """One of the runs.

    Attributes:
        letter: What it is called on the page.
        title: Its name.
        root: Its folder.
        job: Its job; None where that cannot be read.
        losses: Its losses.
        samples: Its samples.
        num_steps: Its length.
    """

    letter: str
    title: str
    root: Path
    job: Job | None
    losses: LossCurve
    samples: SampleTable
    num_steps: int


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """One setting: its name and its value in each run."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the runs do not agree."""
        return len(set(self.values)) > 1


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """One prompt and its picture in each run, with the step of each; None where a run has none.

    Prompts that differ in nothing but the trigger words of their runs are one prompt, which names all of these.
    """

    prompt: str
    pictures: tuple[tuple[int, Path] | None, ...]


def read_run(root: Path, letter: str) -> ComparedRun:
    """Read a run with everything that is compared.

    Raises:
        RunFolderError: There is no run at that path, or it cannot be read.
    """
    folder = RunFolder.open(root)
    state = folder.read_state()
    try:
        job = read_job(folder.job_path)
    except UserError:
        job = None
    model = RunModel(job, begun_at=begun_at(job))
    model.live = False
    if job is not None:
        model.take_earlier(earlier_runs(job))
    for message in read_telemetry(folder):
        model.feed(message)
    return ComparedRun(
        letter=letter,
        title=long_title(root, job),
        root=root,
        job=job,
        losses=model.losses,
        samples=model.samples,
        num_steps=state.num_steps,
    )


def read_runs(roots: Sequence[Path]) -> list[ComparedRun]:
    """Read several runs; raises what `read_run` does."""
    return [read_run(root, letter) for root, letter in zip(roots, LETTERS, strict=False)]


def setting_rows(runs: Sequence[ComparedRun]) -> list[SettingRow]:
    """Return all settings of the runs, those that differ first."""
    tables = [_settings(run.job) for run in runs]
    names = list(dict.fromkeys(name for table in tables for name in table))
    rows = [SettingRow(name=name, values=tuple(table.get(name, NOT_KNOWN) for table in tables)) for name in names]
    return sorted(rows, key=lambda row: not row.differs)


def common_steps(runs: Sequence[ComparedRun]) -> list[int]:
    """Return the steps at which every run has samples, ascending."""
    steps = [run.samples.drawn_steps for run in runs]
    return sorted(set.intersection(*map(set, steps))) if steps else []


def sample_rows(runs: Sequence[ComparedRun], *, step: int | None) -> list[SampleRow]:
    """Return the prompts of the runs with their pictures.

    Args:
        runs: The runs.
        step: Of which step; None takes the newest picture of each run and prompt.
    """
    prompts = dict.fromkeys(_bare(run, row.prompt) for run in runs for row in run.samples.rows if row.prompt)
    called = " / ".join(dict.fromkeys(filter(None, map(_trigger, runs))))
    rows = [
        SampleRow(prompt=p.replace(SUBJECT, called), pictures=tuple(_picture(run, p, step) for run in runs))
        for p in prompts
    ]
    # What can be compared comes first.
    return sorted(rows, key=lambda row: sum(picture is None for picture in row.pictures))


def trigger_words(runs: Sequence[ComparedRun]) -> str:
    """Return which run calls its subject by which word, where they differ; empty where they do not."""
    found = {run.letter: _trigger(run) for run in runs if run.job is not None}
    if len(set(found.values())) < 2:
        return ""
    listed = ", ".join(f"{letter} {word or tr('none')}" for letter, word in found.items())
    return f"The trigger words differ: {listed}. Prompts that differ in nothing else are side by side."


def _trigger(run: ComparedRun) -> str:
    return run.job.profile.dataset.trigger if run.job is not None else ""


def _bare(run: ComparedRun, prompt: str) -> str:
    """Return a prompt of a run with a sign in place of its trigger word."""
    word = _trigger(run)
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", SUBJECT, prompt) if word else prompt


def _picture(run: ComparedRun, prompt: str, step: int | None) -> tuple[int, Path] | None:
    for index, row in enumerate(run.samples.rows):
        if _bare(run, row.prompt) == prompt and row.paths:
            at = max(row.paths) if step is None else step
            path = run.samples.path(run.root, index, at)
            return (at, path) if path is not None else None
    return None


def _settings(job: Job | None) -> dict[str, str]:
    if job is None:
        return {}
    table = {"Profile": job.profile_name, "Dataset": str(job.dataset_dir)}
    for section, values in job.profile.model_dump(mode="json").items():
        if isinstance(values, dict):
            for name, value in cast(dict[str, Any], values).items():
                if f"{section}.{name}" != "dataset.folder":  # What was trained on stands above.
                    table[_name(section, name)] = _words(value)
    return table


def _name(section: str, name: str) -> str:
    """Return what the form of a profile calls a setting, with its section; a setting of no form keeps its own name."""
    words, title = WORDS.get(f"{section}.{name}"), SECTIONS.get(section, section.replace("_", " ").capitalize())
    label = words.label if words is not None else name.replace("_", " ")
    return f"{tr(title)} · {tr(label)}"


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return " | ".join(str(item) for item in cast(list[object], value)) or "none"
    return f"{value:,}" if isinstance(value, int) and value >= 1000 else str(value) or "none"
