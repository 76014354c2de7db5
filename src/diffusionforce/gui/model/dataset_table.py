"""What the Datasets page shows of a checked dataset: its files as rows, its findings as lines, its counts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from diffusionforce.datasets.findings import GROUPS, KINDS, ORDER
from diffusionforce.datasets.framing import ShapeCount, count_shapes, shape
from diffusionforce.datasets.records import FileFacts, FileFinding
from diffusionforce.gui.model.dataset_row import TONES, FindingLine, Row, facts_by_name, with_caption
from diffusionforce.gui.model.dataset_words import used_words

__all__ = ["SORTS", "TONES", "DatasetTable", "Filter", "FindingLine", "Row", "Sort"]

Filter = Literal["all", "left_out", "fix", "note"]
Sort = Literal["findings", "name", "size", "caption"]
SORTS: tuple[tuple[Sort, str], ...] = (
    ("findings", "By findings"),
    ("name", "By name"),
    ("size", "By size"),
    ("caption", "By caption"),
)


class DatasetTable:
    """Rows of one dataset with their findings."""

    def __init__(self, rows: Sequence[Row] = (), *, is_checked: bool = True) -> None:
        self.rows = tuple(rows)
        self.is_checked = is_checked
        self._places = {row.path: index for index, row in enumerate(self.rows)}
        self._picked: dict[tuple[Filter, Sort, str, str], list[Row]] = {}

    @classmethod
    def listed(cls, paths: Iterable[Path]) -> "DatasetTable":
        """Return a table of files of which only the names are known."""
        rows = [Row(path=path, folder=path.parent, facts=facts_by_name(path), is_checked=False) for path in paths]
        return cls(rows, is_checked=False)

    @classmethod
    def checked(cls, folders: Iterable[tuple[Path, Sequence[FileFacts], Sequence[FileFinding]]]) -> "DatasetTable":
        """Return the table of folders that were checked: each with its files and findings."""
        rows: list[Row] = []
        for folder, facts, findings in folders:
            by_name: defaultdict[str, list[FileFinding]] = defaultdict(list)
            for finding in findings:
                by_name[finding.name].append(finding)
            for file in facts:
                found = sorted(by_name.get(file.name, ()), key=lambda finding: ORDER[finding.what])
                rows.append(Row(path=folder / file.name, folder=folder, facts=file, findings=tuple(found)))
        return cls(rows)

    def with_captions(self, texts: Mapping[Path, str]) -> "DatasetTable":
        """Return the table after captions were written, without another check."""
        return DatasetTable([with_caption(row, texts) for row in self.rows], is_checked=self.is_checked)

    def row_of(self, path: Path) -> Row | None:
        """Return the row of a file."""
        place = self._places.get(path)
        return self.rows[place] if place is not None else None

    def prepare(self) -> "DatasetTable":
        """Work out what takes long for thousands of files; call it on a thread. Returns itself."""
        _ = self._counts, self._lines, self.used, self.has_controls, self.captioned, self._by_shape
        self.picked("all")
        return self

    def counts(self) -> dict[Filter, int]:
        """Return how many files each filter lets through.

        `all` are the pictures and clips of the dataset, trained on or not; every other place that says how many there
        are has the number from here. Captions of nothing and control pictures are not among them.
        """
        return self._counts

    @cached_property
    def _counts(self) -> dict[Filter, int]:
        groups = Counter(
            group for row in self.rows for group in {KINDS[finding.what].group for finding in row.findings}
        )
        return {"all": len(self.counted), "left_out": groups["left_out"], "fix": groups["fix"], "note": groups["note"]}

    def picked(self, filter_: Filter, *, sort: Sort = "findings", what: str = "", search: str = "") -> list[Row]:
        """Return the rows that a filter lets through, in order.

        Args:
            filter_: Which group.
            sort: Which order.
            what: Only files with a finding of this kind, each behind the files that it is about; empty for all.
            search: Only files with this in name or caption; small letters stand for capitals.
        """
        if what:
            return self._of_kind(what)
        asked = (filter_, sort, what, search.casefold().strip())
        if asked not in self._picked:
            rows = [row for row in self.rows if _passes(row, filter_, asked[3])]
            self._picked[asked] = sorted(rows, key=_SORT_KEYS[sort])
        return self._picked[asked]

    def _of_kind(self, what: str) -> list[Row]:
        line = next((line for line in self.lines() if line.kind.key == what), None)
        if line is None:
            return []
        found: dict[Path, Row] = {}
        for row, finding in sorted(zip(line.rows, line.findings, strict=True), key=lambda pair: pair[1].related):
            others = (self.row_of(row.folder / name) for name in finding.related)
            found |= {each.path: each for each in (*others, row) if each is not None}
        return list(found.values())

    def lines(self) -> list[FindingLine]:
        """Return the findings by kind, the worst first."""
        return self._lines

    @cached_property
    def _lines(self) -> list[FindingLine]:
        found: defaultdict[str, list[tuple[Row, FileFinding]]] = defaultdict(list)
        for row in self.rows:
            for finding in row.findings:
                found[finding.what].append((row, finding))
        return [
            FindingLine(
                kind=KINDS[what],
                rows=tuple(row for row, _ in found[what]),
                findings=tuple(finding for _, finding in found[what]),
            )
            for what in sorted(found, key=lambda key: ORDER[key])
        ]

    @cached_property
    def counted(self) -> list[Row]:
        """Pictures and clips, trained on or not."""
        return [row for row in self.rows if row.facts.is_counted]

    @property
    def num_clips(self) -> int:
        """How many of them are clips."""
        return sum(row.facts.media == "clip" for row in self.counted)

    @cached_property
    def has_controls(self) -> bool:
        """Whether some of them have something that they are made from."""
        return any(row.facts.controls for row in self.rows)

    @cached_property
    def used(self) -> list[Row]:
        """Rows that are trained on."""
        return [row for row in self.rows if row.facts.is_used]

    @cached_property
    def captioned(self) -> list[Path]:
        """Pictures and clips whose captions are looked at: all that can be read and trained on, captioned or not."""
        return [row.path for row in self.rows if row.is_captioned]

    def captions(self) -> dict[Path, str]:
        """Return the captions by picture."""
        return {row.path: row.facts.caption for row in self.rows if row.facts.media in {"picture", "clip"}}

    def shapes(self, size_of: Callable[[Row], tuple[int, int]]) -> list[ShapeCount]:
        """Return how many pictures that are trained on have which shape.

        Args:
            size_of: Gives the size that a picture is trained at.
        """
        return count_shapes(framing for row in self.used if (framing := row.framing(size_of(row))) is not None)

    def same_shape(self, row: Row, *, most: int) -> tuple[int, list[Row]]:
        """Return how many other pictures have the same shape, and some of them.

        Args:
            row: A picture that is trained on.
            most: How many are returned at most.
        """
        if not row.facts.width:
            return 0, []
        alike = self._by_shape.get(shape(row.facts.width, row.facts.height), [])
        others = [other for other in alike[: most + 1] if other is not row and other.path != row.path]
        return len(alike) - 1, others[:most]

    @cached_property
    def _by_shape(self) -> dict[tuple[int, int], list[Row]]:
        found: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in self.used:
            found[shape(row.facts.width, row.facts.height)].append(row)
        return dict(found)

    def summary(self) -> str:
        """Return what the dataset is, in a few words: `46 of 48 pictures trained on`."""
        num = len(self.counted)
        return used_words(len(self.used) if self.is_checked else num, num, num_clips=self.num_clips)


def _passes(row: Row, filter_: Filter, search: str) -> bool:
    if filter_ == "all" and not row.facts.is_counted:
        return False
    if filter_ != "all" and all(KINDS[finding.what].group != filter_ for finding in row.findings):
        return False
    return not search or search in row.path.name.casefold() or search in row.facts.caption.casefold()


def _rank(row: Row) -> tuple[int, str]:
    return GROUPS.index(row.group) if row.group is not None else len(GROUPS), row.path.name


_SORT_KEYS: dict[Sort, Callable[[Row], tuple[int, str]]] = {
    "findings": _rank,
    "name": lambda row: (0, row.path.name),
    "size": lambda row: (row.facts.width * row.facts.height, row.path.name),
    "caption": lambda row: (len(row.facts.caption), row.path.name),
}
