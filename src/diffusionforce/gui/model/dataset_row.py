"""One file of a dataset as the page shows it, and the findings of one kind as one line."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from diffusionforce.datasets.findings import KINDS
from diffusionforce.datasets.framing import Framing
from diffusionforce.datasets.kinds import Kind
from diffusionforce.datasets.media_types import CLIP_SUFFIXES
from diffusionforce.datasets.records import FileFacts, FileFinding, Group
from diffusionforce.gui.model import words
from diffusionforce.gui.model.language import tr

TONES: dict[Group, str] = {"left_out": "err", "fix": "warn", "note": "info"}
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
        folder: The folder of the dataset that it belongs to.
        facts: What the check found it to be.
        findings: What was found about it, the worst first.
        is_checked: False while only its name is known.
    """

    path: Path
    folder: Path
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
        size = f"{self.facts.width} × {self.facts.height}"
        return f"{size} · {words.duration(self.facts.duration_s)}" if self.facts.duration_s else size

    @property
    def is_readable(self) -> bool:
        """Whether there is a picture to be shown."""
        return self.facts.media in {"picture", "clip"} and (bool(self.facts.width) or not self.is_checked)

    @property
    def is_captioned(self) -> bool:
        """Whether its caption is looked at."""
        if self.facts.media == "clip":
            return self.is_readable and not any(finding.what == "clip" for finding in self.findings)
        return self.facts.media == "picture" and self.is_readable

    @property
    def controls(self) -> list[Path]:
        """What it is made from."""
        return [self.folder / name for name in self.facts.controls]

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
        listed = ", ".join(names) + tr(f" and {more:,} more") if more else tr(" and ").join(names)
        first = self.findings[0]
        if len(self.findings) == 1 and first.related and first.note:
            note = tr(first.note)
            # Nouns of other languages keep their capital.
            listed = f"{listed}: {note[0].lower()}{note[1:]}" if note == first.note else f"{listed}: {note}"
        return f"{listed}. {tr(self.kind.meaning)}"


def with_caption(row: Row, texts: Mapping[Path, str]) -> Row:
    """Return a file after captions were written, without another check."""
    text = texts.get(row.path)
    if text is None or not row.is_checked:
        return row
    findings = [finding for finding in row.findings if finding.what not in _ABOUT_CAPTIONS]
    is_left_out = any(KINDS[finding.what].group == "left_out" for finding in findings)
    if not text and not is_left_out:
        findings.insert(0, FileFinding(what="empty_caption", name=row.facts.name, note="Caption is empty"))
    facts = row.facts.model_copy(update={"caption": text, "is_used": bool(text) and not is_left_out})
    return replace(row, facts=facts, findings=tuple(findings))


def facts_by_name(path: Path) -> FileFacts:
    """Return what the name of a file says."""
    suffix = path.suffix.lower()
    return FileFacts(name=path.name, media="clip" if suffix in CLIP_SUFFIXES else "picture")
