"""What the Datasets page shows of a checked dataset: its files as rows, its findings as lines, its counts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from diffusionforce.datasets.findings import GROUPS, KINDS, ORDER, Kind
from diffusionforce.datasets.framing import Framing, ShapeCount, count_shapes, shape
from diffusionforce.datasets.records import FileFacts, FileFinding, Group
from diffusionforce.gui.model import words

Filter = Literal["all", "left_out", "fix", "note"]
Sort = Literal["findings", "name", "size", "caption"]
TONES: dict[Group, str] = {"left_out": "err", "fix": "warn", "note": "info"}
SORTS: tuple[tuple[Sort, str], ...] = (
    ("findings", "By findings"),
    ("name", "By name"),
    ("size", "By size"),
    ("caption", "By caption"),
)
_MAX_NAMED = 2
_ABOUT_CAPTIONS = {
    "no_caption",
    "empty_caption",
    "unreadable_caption",
    "caption_name",
    "caption_encoding",
    "caption_characters",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One file.

    Attributes:
        path: The file.
        facts: What the check found it to be.
        findings: What was found about it, the worst first.
        is_checked: False while only its name is known.
    """

    path: Path
    facts: FileFacts
    findings: tuple[FileFinding, ...] = ()
    is_checked: bool = True

    @property
    def group(self) -> Group | None:
        """The worst group of its findings."""
        return KINDS[self.findings[0].what].group if self.findings else None

    @property
    def tone(self) -> str:
        """Tone of its badge, empty for none."""
        return TONES[self.group] if self.group is not None else ""

    @property
    def line(self) -> str:
        """The line under its picture: the worst finding, or its size."""
        if self.findings:
            kind = KINDS[self.findings[0].what]
            return self.findings[0].note or kind.heading(1)
        return self.size_words

    @property
    def size_words(self) -> str:
        """Its size in pixels, and the length of a clip."""
        if not self.facts.width:
            return words.size(self.facts.size_bytes) if self.facts.size_bytes else ""
        size = f"{self.facts.width:,} × {self.facts.height:,}".replace(",", "")
        return f"{size} · {words.duration(self.facts.duration_s)}" if self.facts.duration_s else size

    @property
    def is_readable(self) -> bool:
        """Whether there is a picture to be shown."""
        return self.facts.media in {"picture", "clip"} and (bool(self.facts.width) or not self.is_checked)

    def framing(self, size: tuple[int, int]) -> Framing | None:
        """Return what of it is trained on at a size; None where its own is not known."""
        if not self.facts.width or not self.facts.height:
            return None
        return Framing(width=self.facts.width, height=self.facts.height, target_width=size[0], target_height=size[1])


@dataclass(frozen=True, kw_only=True)
class FindingLine:
    """All findings of one kind, as one line of the panel."""

    kind: Kind
    rows: tuple[Row, ...]
    findings: tuple[FileFinding, ...]

    @property
    def tone(self) -> str:
        """Its tone."""
        return TONES[self.kind.group]

    @property
    def heading(self) -> str:
        """What is found, with the number."""
        return self.kind.heading(len(self.findings))

    @property
    def text(self) -> str:
        """Which files, and what it means."""
        names = [finding.name for finding in self.findings[:_MAX_NAMED]]
        more = len(self.findings) - len(names)
        listed = ", ".join(names) + f" and {more:,} more" if more else " and ".join(names)
        first = self.findings[0]
        if len(self.findings) == 1 and first.related and first.note:
            listed = f"{listed}: {first.note[0].lower()}{first.note[1:]}"
        return f"{listed}. {self.kind.meaning}"


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
        return cls([Row(path=path, facts=_unknown(path), is_checked=False) for path in paths], is_checked=False)

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
                rows.append(Row(path=folder / file.name, facts=file, findings=tuple(found)))
        return cls(rows)

    def with_captions(self, texts: Mapping[Path, str]) -> "DatasetTable":
        """Return the table after captions were written, without another check."""
        return DatasetTable([_with_caption(row, texts) for row in self.rows], is_checked=self.is_checked)

    def row_of(self, path: Path) -> Row | None:
        """Return the row of a file."""
        place = self._places.get(path)
        return self.rows[place] if place is not None else None

    def prepare(self) -> "DatasetTable":
        """Work out what takes long for thousands of files; call it on a thread. Returns itself."""
        _ = self._counts, self._lines, self.used, self.captioned, self._by_shape
        self.picked("all")
        return self

    def counts(self) -> dict[Filter, int]:
        """Return how many files each filter lets through."""
        return self._counts

    @cached_property
    def _counts(self) -> dict[Filter, int]:
        groups = Counter(
            group for row in self.rows for group in {KINDS[finding.what].group for finding in row.findings}
        )
        return {"all": len(self.rows), "left_out": groups["left_out"], "fix": groups["fix"], "note": groups["note"]}

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
            others = (self.row_of(row.path.parent / name) for name in finding.related)
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
    def used(self) -> list[Row]:
        """Rows that are trained on."""
        return [row for row in self.rows if row.facts.is_used]

    @cached_property
    def captioned(self) -> list[Path]:
        """Pictures whose captions are looked at: all that can be read, with or without one."""
        return [row.path for row in self.rows if row.facts.media == "picture" and row.is_readable]

    def captions(self) -> dict[Path, str]:
        """Return the captions by picture."""
        return {row.path: row.facts.caption for row in self.rows if row.facts.media in {"picture", "clip"}}

    def shapes(self, size: tuple[int, int]) -> list[ShapeCount]:
        """Return how many pictures that are trained on have which shape."""
        return count_shapes(framing for row in self.used if (framing := row.framing(size)) is not None)

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
        """Return what the dataset is, in a few words: `46 of 48 pictures are trained on`."""
        pictures = sum(row.facts.media == "picture" for row in self.rows)
        clips = sum(row.facts.media == "clip" for row in self.rows)
        if not self.is_checked:
            return words.count(pictures + clips, "file")
        used = len(self.used)
        parts = [words.count(pictures, "picture")] if used == pictures else [f"{used:,} of {pictures:,} pictures used"]
        return " · ".join([*parts, *([words.count(clips, "clip")] if clips else [])])


def _with_caption(row: Row, texts: Mapping[Path, str]) -> Row:
    text = texts.get(row.path)
    if text is None or not row.is_checked:
        return row
    findings = [finding for finding in row.findings if finding.what not in _ABOUT_CAPTIONS]
    is_left_out = any(KINDS[finding.what].group == "left_out" for finding in findings)
    if not text and not is_left_out:
        findings.insert(0, FileFinding(what="empty_caption", name=row.facts.name, note="Caption is empty"))
    facts = row.facts.model_copy(update={"caption": text, "is_used": bool(text) and not is_left_out})
    return replace(row, facts=facts, findings=tuple(findings))


def _passes(row: Row, filter_: Filter, search: str) -> bool:
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


def _unknown(path: Path) -> FileFacts:
    suffix = path.suffix.lower()
    is_clip = suffix in {".mp4", ".mov", ".webm", ".mkv", ".avi", ".m4v"}
    return FileFacts(name=path.name, media="clip" if is_clip else "picture")
