"""What a run leaves for a bug report: its state, settings, telemetry and log, without what tells whose they are.

The files are collected in memory, so that they can be shown before anything is written, and what is written is what
was shown. Pictures, captions and weights are never part of it.
"""

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import tomli_w

from diffusionforce.errors import RunFolderError, UserError
from diffusionforce.job import Job, builtin_profiles, data_dir, parsed_toml, read_job, write_whole
from diffusionforce.runs.cleaning import Cleaner
from diffusionforce.runs.folder import RunFolder
from diffusionforce.runs.storage import storage_error

FIRST_BYTES, LAST_BYTES = 256 << 10, 1 << 20
"""Of a long file the begin and the end are taken."""
_LEFT_OUT = "..."
_MAX_LISTED = 2000
_MAX_NAMES = 5000
_SECRET_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY")


@dataclass(frozen=True, kw_only=True)
class ReportFile:
    """One file of a report."""

    name: str
    what: str
    """What it is, in words."""
    content: bytes


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A report that has been collected and not written yet."""

    files: tuple[ReportFile, ...]
    replaced: tuple[tuple[str, int], ...]
    """What was replaced, and how often."""

    @property
    def size_bytes(self) -> int:
        """Of all files together, not packed."""
        return sum(len(file.content) for file in self.files)


def collect_report(folder: RunFolder, *, machine: str) -> RunReport:
    """Collect the files of a report, of a run whose state cannot be read, too.

    Args:
        folder: The run.
        machine: Version and computer in words, already without names.
    """
    cleaner = Cleaner(_known(folder))
    files = [
        ReportFile(name="about.txt", what="versions and the computer", content=f"{machine}\n".encode()),
        *_written(folder, cleaner),
        ReportFile(name="files.txt", what="names and sizes of what the run made", content=_listing(folder, cleaner)),
    ]
    replaced = tuple((kind, count) for kind, count in sorted(cleaner.num_replaced.items()) if count)
    return RunReport(files=tuple(files), replaced=replaced)


def report_name(now: datetime | None = None) -> str:
    """Return a name for a report that tells nothing but when it was made."""
    return f"diffusionforce-report-{now or datetime.now():%Y-%m-%d-%H%M%S}.zip"


def write_report(report: RunReport, path: Path) -> None:
    """Write a report as a zip file.

    Raises:
        RunFolderError: There is such a file already, or the folder may not be written to.
        DiskError: The disk is full.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in report.files:
            archive.writestr(file.name, file.content)
    try:
        if path.exists():
            raise RunFolderError(f"{path} is there already.", hint="Name another file, or remove it.")
        write_whole(path, content.getvalue())
    except OSError as error:
        raise storage_error(error, path) from error


def _written(folder: RunFolder, cleaner: Cleaner) -> Iterator[ReportFile]:
    texts = (
        (folder.state_path, "how the run ended", _clean_json),
        (folder.job_path, "its settings, without prompts", _clean_toml),
        (folder.telemetry_path, "what it told, step by step", _clean_lines),
        *((path, "what it printed", _clean_text) for path in _found(folder.root, "log*.txt")),
    )
    for path, what, clean in texts:
        text = _text(path)
        if text:
            yield ReportFile(name=path.name, what=what, content=clean(text, cleaner).encode(errors="replace"))


def _clean_text(text: str, cleaner: Cleaner) -> str:
    return cleaner.clean(text)


def _clean_json(text: str, cleaner: Cleaner) -> str:
    try:
        return json.dumps(cleaner.cleaned(json.loads(text)), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return cleaner.clean(text)


def _clean_lines(text: str, cleaner: Cleaner) -> str:
    return "".join(f"{_clean_line(line, cleaner)}\n" for line in text.splitlines())


def _clean_line(line: str, cleaner: Cleaner) -> str:
    try:
        record: dict[str, Any] = dict(json.loads(line))
        if "prompt" in record:  # It may be another than the job's.
            record["prompt"] = f"<prompt, {len(str(record['prompt']))} characters>"
        return json.dumps(cleaner.cleaned(record), ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        # Torn, it may hold half a prompt, which nobody would know for one.
        return line if line.startswith(_LEFT_OUT) else f"<no record, {len(line)} characters>"


def _clean_toml(text: str, cleaner: Cleaner) -> str:
    try:
        table = parsed_toml(text)
    except ValueError:
        return cleaner.clean(text)
    return tomli_w.dumps(cleaner.cleaned(table))


def _text(path: Path) -> str:
    """The text of a file, of a long one its begin and its end; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(FIRST_BYTES)
            size = os.fstat(file.fileno()).st_size
            file.seek(max(len(start), size - LAST_BYTES))
            left_out = file.tell() - len(start)
            rest = file.read(LAST_BYTES)
    except OSError:
        return ""
    note = f"\n{_LEFT_OUT} {left_out} bytes are left out here\n" if left_out else ""
    return start.decode(errors="replace") + note + rest.decode(errors="replace")


def _listing(folder: RunFolder, cleaner: Cleaner) -> bytes:
    lines: list[str] = []
    for path in chain(*(_found(place, "**/*") for place in (folder.samples_dir, folder.checkpoints_dir))):
        with contextlib.suppress(OSError):  # A report is wanted most where a disk fails.
            if path.is_file():
                lines.append(f"{path.stat().st_size:>14,}  {path.relative_to(folder.root).as_posix()}")
    more = [f"and {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    return "".join(f"{cleaner.clean(line)}\n" for line in [*lines[:_MAX_LISTED], *more]).encode(errors="replace")


def _found(folder: Path, pattern: str) -> list[Path]:
    """What fits a pattern, in order; nothing where the folder cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _known(folder: RunFolder) -> dict[str, str]:
    """What is private of a run beside what shows by itself."""
    known = {os.environ.get(name, ""): "<secret>" for name in _SECRET_VARIABLES}
    known |= {str(folder.root): "<run>", str(folder.root.absolute()): "<run>", folder.root.name: "<run>"}
    known |= {str(data_dir()): "<data>", str(Path.home()): "<home>"}
    try:
        job = read_job(folder.job_path)
    except UserError:
        return known
    return known | dict(_of_job(job))


def _of_job(job: Job) -> Iterator[tuple[str, str]]:
    profile = job.profile
    for path in filter(None, (job.dataset_dir, job.held_out_dir)):
        yield str(path), "<dataset>"
        yield from ((name, "<file>") for name in _spaced_names(path))
    yield from ((path, "<weights>") for path in (profile.model.weights, *profile.model.files.values()) if path)
    for number, prompt in enumerate(profile.samples.prompts, 1):
        yield prompt, f"<prompt {number}, {len(prompt)} characters>"
    yield profile.dataset.trigger, "<trigger>"
    if job.profile_name not in builtin_profiles():
        yield from ((text, "<profile>") for text in (job.profile_name, profile.title, profile.description))


def _spaced_names(folder: Path) -> Iterable[str]:
    """Names of files with spaces in them, of which only the last word shows by itself that it is one."""
    try:
        names = [entry.name for entry, _ in zip(os.scandir(folder), range(_MAX_NAMES), strict=False)]
    except OSError:
        return []
    stems = (name.rpartition(".")[0] for name in names)
    return [name for name in (*names, *stems) if " " in name.strip()]
