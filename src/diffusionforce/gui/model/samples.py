"""The samples of a run as a table: a row for each prompt, a column for each step."""

from dataclasses import dataclass, field
from pathlib import Path

from diffusionforce.wire import Sample


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
        rows: One a prompt, in the order of the profile.
        trigger: Word that calls the trained subject, empty when the profile names none.
    """

    def __init__(self) -> None:
        self.rows: list[SampleRow] = []
        self.trigger = ""
        self._pending_step: int | None = None
        self._due: tuple[int, ...] = ()

    def expect(self, prompts: tuple[str, ...], *, trigger: str, due: tuple[int, ...] = ()) -> None:
        """Name prompts and steps before the first sample, so that the table has its places at once."""
        self.trigger, self._due = trigger, due if prompts else ()
        for i, prompt in enumerate(prompts):
            self._row(i).prompt = prompt

    def add(self, sample: Sample) -> None:
        """Take one sample."""
        row = self._row(sample.prompt_index)
        row.prompt, row.seed = sample.prompt, sample.seed
        row.paths[sample.step] = sample.path
        for index in range(sample.num_prompts):
            self._row(index)
        complete = sum(sample.step in r.paths for r in self.rows) >= sample.num_prompts
        self._pending_step = None if complete else sample.step

    def start_column(self, step: int) -> None:
        """Note that samples of a step are being made."""
        if step not in self.done_steps:
            self._pending_step = step

    def pass_by(self, step: int) -> None:
        """Note that the training goes on at a later step, so that nothing of an earlier one is being made."""
        if self._pending_step is not None and step > self._pending_step:
            self._pending_step = None

    def finish(self) -> None:
        """Note that no more samples come."""
        self._pending_step, self._due = None, ()

    @property
    def steps(self) -> list[int]:
        """Steps that have a column, ascending: those with samples, the one being made, and those that are due."""
        pending = set() if self._pending_step is None else {self._pending_step}
        return sorted(self.drawn_steps | pending | set(self._due))

    @property
    def drawn_steps(self) -> set[int]:
        """Steps with at least one sample."""
        return {step for row in self.rows for step in row.paths}

    @property
    def done_steps(self) -> list[int]:
        """Steps of which every prompt has its sample."""
        return sorted(step for step in self.drawn_steps if all(step in row.paths for row in self.rows))

    @property
    def pending_step(self) -> int | None:
        """The step whose samples are being made, None when none are."""
        return self._pending_step

    @property
    def num_samples(self) -> int:
        """How many samples there are."""
        return sum(len(row.paths) for row in self.rows)

    def latest(self) -> tuple[int, list[tuple[SampleRow, str]]]:
        """Return the newest step that has samples, and those: rows with their paths."""
        if not self.drawn_steps:
            return 0, []
        step = max(self.drawn_steps)
        return step, [(row, row.paths[step]) for row in self.rows if step in row.paths]

    def lacks_trigger(self, row: SampleRow) -> bool:
        """Tell whether a prompt leaves the trigger word out, so that its pictures show what leaks."""
        return bool(self.trigger) and self.trigger.lower() not in row.prompt.lower()

    def path(self, root: Path, row: int, step: int) -> Path | None:
        """Return the file of one sample, None when there is none. A path that leaves the run folder is refused."""
        if not 0 <= row < len(self.rows):
            return None
        relative = self.rows[row].paths.get(step)
        if not relative:
            return None
        path = (root / relative).resolve()
        return path if path.is_relative_to(root.resolve()) else None

    def _row(self, index: int) -> SampleRow:
        while len(self.rows) <= index:
            self.rows.append(SampleRow(prompt=""))
        return self.rows[index]
