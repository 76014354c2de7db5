"""The samples of a run as a table: a row for each prompt, a column for each step.

A long run has ten thousand samples, and the window asks for the table with every repaint, so what is asked for often
is counted along and not worked out anew.
"""

import bisect
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath

from diffusionforce.job import Job
from diffusionforce.wire import Sample

NUM_UPCOMING = 4


@dataclass(kw_only=True)
class SampleRow:
    """One prompt and its pictures.

    Attributes:
        prompt: The prompt.
        seed: Seed of all its pictures; None before the first.
        paths: Step to path, relative to the run folder.
    """

    prompt: str
    seed: int | None = None
    paths: dict[int, str] = field(default_factory=dict[int, str])


class SampleTable:
    """Samples by prompt and step; the column that is being made is known before its pictures are there.

    Attributes:
        rows: One a prompt, in the order of the profile; prompts that came later stand behind.
        trigger: Word that calls the trained subject, empty when the profile names none.
        revision: Changes with every change of the table.
    """

    def __init__(self) -> None:
        self.rows: list[SampleRow] = []
        self.trigger = ""
        self.revision = 0
        self._pending_step: int | None = None
        self._due: tuple[int, ...] = ()
        self._drawn: Counter[int] = Counter()
        self._expected: dict[int, int] = {}
        self._roots: dict[int, Path] = {}
        self._steps: list[int] = []
        self._done: list[int] = []
        self._known_revision = -1

    def expect(self, prompts: tuple[str, ...], *, trigger: str, due: tuple[int, ...] = ()) -> None:
        """Name prompts and steps before the first sample, so that the table has its places at once."""
        self.trigger, self._due = trigger, due if prompts else ()
        for i, prompt in enumerate(prompts):
            self._row(i).prompt = prompt
        self.revision += 1

    def add(self, sample: Sample) -> None:
        """Take one sample. A prompt that was changed on the way gets a row of its own."""
        row = self._row_of(sample)
        row.prompt, row.seed = sample.prompt, sample.seed
        if sample.step not in row.paths:
            self._drawn[sample.step] += 1
        row.paths[sample.step] = sample.path
        self._expected[sample.step] = sample.num_prompts
        complete = self._drawn[sample.step] >= sample.num_prompts
        self._pending_step = None if complete else sample.step
        self.revision += 1

    def add_before(self, samples: Iterable[Sample], root: Path) -> None:
        """Take the samples of a run that this one goes on from.

        Args:
            samples: Of steps that this run does not make again.
            root: The folder of that run.
        """
        pending, own = self._pending_step, set(self._drawn)
        for sample in samples:
            if sample.step not in own:
                self._roots[sample.step] = root
                self.add(sample)
        self._pending_step = pending

    def start_column(self, step: int) -> None:
        """Note that samples of a step are being made."""
        if not self._is_done(step) and self._pending_step != step:
            self._pending_step = step
            self.revision += 1

    def pass_by(self, step: int) -> None:
        """Note that the training goes on at a later step, so that nothing of an earlier one is being made."""
        if self._pending_step is not None and step > self._pending_step:
            self._pending_step = None
            self.revision += 1

    def finish(self) -> None:
        """Note that no more samples come."""
        self._pending_step, self._due = None, ()
        self.revision += 1

    @property
    def steps(self) -> list[int]:
        """Steps that have a column, ascending: with samples, the one being made, and the next few that are due."""
        self._look()
        return self._steps

    @property
    def drawn_steps(self) -> set[int]:
        """Steps with at least one sample."""
        return set(self._drawn)

    @property
    def last_drawn_step(self) -> int:
        """The newest step with a sample, 0 while there is none."""
        return max(self._drawn, default=0)

    @property
    def done_steps(self) -> list[int]:
        """Steps of which every prompt has its sample."""
        self._look()
        return self._done

    @property
    def pending_step(self) -> int | None:
        """The step whose samples are being made, None when none are."""
        return self._pending_step

    @property
    def num_samples(self) -> int:
        """How many samples there are."""
        return self._drawn.total()

    def progress(self, step: int) -> tuple[int, int]:
        """Return how many samples of a step there are, and how many there will be."""
        return self._drawn[step], self._expected.get(step, len(self.rows))

    def latest(self, root: Path) -> tuple[int, list[Path | None]]:
        """Return the newest step that has samples, and their files by row; None where one is still to come.

        Args:
            root: The run folder.
        """
        if not self._drawn:
            return 0, []
        step = self.last_drawn_step
        is_growing = self._pending_step == step
        paths = [self.path(root, index, step) for index in range(len(self.rows))]
        return step, [path for path in paths if path is not None or is_growing]

    def lacks_trigger(self, row: SampleRow) -> bool:
        """Tell whether a prompt leaves the trigger word out, so that its pictures show what leaks."""
        return bool(self.trigger) and self.trigger.lower() not in row.prompt.lower()

    def path_in_run(self, row: int, column: int) -> str:
        """Return the place of a sample within the run folder, empty where there is none."""
        steps = self.steps
        if row >= len(self.rows) or column >= len(steps):
            return ""
        return self.rows[row].paths.get(steps[column], "")

    def path(self, root: Path, row: int, step: int) -> Path | None:
        """Return the file of one sample of a run, None when there is none. A path that leaves its folder is refused."""
        if not 0 <= row < len(self.rows):
            return None
        relative = self.rows[row].paths.get(step)
        return _inside(self._roots.get(step, root), relative) if relative else None

    def _is_done(self, step: int) -> bool:
        number, expected = self.progress(step)
        return number > 0 and number >= expected

    def _look(self) -> None:
        if self._known_revision != self.revision:
            self._known_revision = self.revision
            pending = set() if self._pending_step is None else {self._pending_step}
            first = bisect.bisect_right(self._due, self.last_drawn_step) if self._drawn else 0
            upcoming = self._due[first : first + NUM_UPCOMING]
            self._steps = sorted({*self._drawn, *pending, *upcoming})
            self._done = sorted(step for step in self._drawn if self._is_done(step))

    def _row_of(self, sample: Sample) -> SampleRow:
        first = self._row(sample.prompt_index) if sample.prompt_index >= len(self.rows) else None
        usual = first or self.rows[sample.prompt_index]
        if usual.prompt in {"", sample.prompt} and usual.seed in {None, sample.seed}:
            return usual
        for row in self.rows:
            if row.prompt == sample.prompt and row.seed in {None, sample.seed}:
                return row
        self.rows.append(SampleRow(prompt=sample.prompt))
        return self.rows[-1]

    def _row(self, index: int) -> SampleRow:
        while len(self.rows) <= index:
            self.rows.append(SampleRow(prompt=""))
        return self.rows[index]


@lru_cache(maxsize=16384)
def _inside(root: Path, relative: str) -> Path | None:
    """Return a path in a folder, None for one that leads out of it, whichever system wrote it."""
    parts = (*PurePosixPath(relative).parts, *PureWindowsPath(relative).parts)
    leads_out = ".." in parts or PurePosixPath(relative).is_absolute() or PureWindowsPath(relative).anchor
    return None if leads_out else _resolved(root) / relative


@lru_cache(maxsize=64)
def _resolved(root: Path) -> Path:
    return root.resolve()


def facts_words(table: SampleTable, job: Job | None) -> str:
    """Return what all samples of a run share: `Seed 7 · 20 steps · guidance 4`."""
    seeds = sorted({row.seed for row in table.rows if row.seed is not None})
    parts = [f"Seed {seeds[0]}" if len(seeds) == 1 else "One seed a row"] if seeds else []
    if job is not None:
        samples = job.profile.samples
        parts += [f"{samples.num_steps} steps", f"guidance {samples.guidance:g}"]
    return " · ".join(parts)
