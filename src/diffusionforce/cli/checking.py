"""`diffusionforce check`: what is wrong with a dataset folder, before a night is spent on it."""

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from diffusionforce.cli.output import write_answer
from diffusionforce.datasets.findings import GROUPS, KINDS
from diffusionforce.datasets.intake import PICTURES, Intake
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.datasets.listing import require_utf8
from diffusionforce.datasets.records import Checking, FileFinding
from diffusionforce.datasets.sets import MAX_FRAMES, SetFolder, is_set, read_set
from diffusionforce.errors import UserError
from diffusionforce.job import dataset_folder, find_profile, read_profile
from diffusionforce.runs import data_dir
from diffusionforce.wire import to_json

if TYPE_CHECKING:
    from diffusionforce.datasets.check import Report

EXIT_OK, EXIT_LEFT_OUT = 0, 1
DESCRIPTION = """Look at every file of a dataset folder and say what is left out of training, what is worth fixing and
what is good to know. Nothing is written. Exit code: 0 every picture is used, 1 some are left out, there are
none, or a problem, 2 a bug."""
MAX_NAMES = 6
_TITLES = {"left_out": "Left out of training", "fix": "Worth fixing", "note": "Good to know"}
_STYLES = {"left_out": "red", "fix": "yellow", "note": "cyan"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `check` its arguments."""
    parser.add_argument("folder", metavar="DIR", help="folder of pictures with a .txt caption beside each")
    parser.add_argument("--all", action="store_true", help="name every file, not only the first few of each kind")
    parser.add_argument(
        "--profile", metavar="NAME", help="check for the model of this profile: whether it takes clips, for example"
    )
    parser.add_argument("--frames", metavar="N", default="0", help="frames of a clip that are trained on")
    parser.add_argument("--controls", metavar="DIR", default="", help="folder with what the pictures are made from")
    parser.add_argument(
        "--size", metavar="WxH", default="", help="size in pixels that is trained at, if not that of the profile"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON record a line: progress, files, findings, and the end"
    )
    parser.set_defaults(execute=run)


def run(options: argparse.Namespace) -> int:
    """Check a folder, show what was found, and return the exit code.

    Raises:
        UserError: The folder is not there or cannot be read, or there is no such profile.
    """
    root = dataset_folder(options.folder)
    profile = read_profile(find_profile(options.profile)) if options.profile else None
    intake = intake_of(profile) if profile is not None else PICTURES
    size = _size(options.size) or ((profile.dataset.width, profile.dataset.height) if profile is not None else None)
    folders = read_set(root).folders if is_set(root) else (_folder(root, options),)
    reports = [_checked(folder, intake, size, options) for folder in folders]
    is_left_out = any(KINDS[finding.what].group == "left_out" for report in reports for finding in report.findings)
    return EXIT_LEFT_OUT if is_left_out or not all(report.num_media for report in reports) else EXIT_OK


def _folder(root: Path, options: argparse.Namespace) -> SetFolder:
    frames: str = options.frames
    if not (frames.isdecimal() and int(frames) <= MAX_FRAMES):
        raise UserError(f"--frames is {frames}; it has to be a whole number from 0 to {MAX_FRAMES}.")
    require_utf8(root)
    return SetFolder(path=str(root), frames=int(frames), controls=options.controls)


def _size(text: str) -> tuple[int, int] | None:
    """Return the width and height in `1024x768`; None for an empty text."""
    if not text:
        return None
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise UserError(f"--size is {text}; it has to be width and height in pixels, like 1024x768.")
    return int(width), int(height)


def _checked(folder: SetFolder, intake: Intake, size: tuple[int, int] | None, options: argparse.Namespace) -> "Report":
    """Check one folder, and show what was found."""
    # Not above: the other commands start without Pillow and NumPy.
    from diffusionforce.datasets.check import check_folder  # noqa: PLC0415

    root, kept = Path(folder.path), data_dir() / "checks"
    if options.json:
        report = check_folder(root, folder=folder, intake=intake, size=size, progress=_write_progress, kept=kept)
        assert report is not None
        for record in (*report.files, *report.findings, report.summary()):
            sys.stdout.buffer.write(to_json(record) + b"\n")
        sys.stdout.buffer.flush()
        return report
    console = Console(highlight=False)
    with Progress(
        TextColumn("Checking"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("", total=None)

        def show(at: Checking) -> None:
            bar.update(task, completed=at.done, total=at.total)

        report = check_folder(root, folder=folder, intake=intake, size=size, progress=show, kept=kept)
    assert report is not None
    for line in _lines(report, num_names=sys.maxsize if options.all else MAX_NAMES):
        console.print(line, soft_wrap=True)
    if 0 < report.num_used < intake.fewest_to_split:
        few = f"With fewer than {intake.fewest_to_split} pictures none is held out: there will be no held-out loss."
        console.print(Text(few, style="cyan"), soft_wrap=True)
    return report


def _write_progress(at: Checking) -> None:
    write_answer(to_json(at) + b"\n")


def _lines(report: "Report", *, num_names: int) -> list[Text]:
    lines = [Text(f"{report.root}: {report.num_used:,} of {report.num_media:,} pictures and clips are trained on.")]
    if not report.num_media:
        lines = [Text(f"{report.root}: there are no pictures or clips in this folder.", style="red")]
    for group in GROUPS:
        findings = [finding for finding in report.findings if KINDS[finding.what].group == group]
        if findings:
            lines += [Text(""), Text(_TITLES[group], style=f"bold {_STYLES[group]}")]
            for what, alike in groupby(findings, key=lambda finding: finding.what):
                lines += _kind_lines(what, list(alike), num_names)
    if report.num_media and not report.findings:
        lines.append(Text("Nothing to fix.", style="green"))
    return lines


def _kind_lines(what: str, findings: Sequence[FileFinding], num_names: int) -> list[Text]:
    kind = KINDS[what]
    lines = [Text(f"  {kind.heading(len(findings))}"), Text(f"    {kind.meaning}", style="dim")]
    for finding in findings[:num_names]:
        note = f": {finding.note}" if finding.related and finding.note else ""
        lines.append(Text(f"    {_on_one_line(finding.name + note)}"))
    if len(findings) > num_names:
        lines.append(Text(f"    and {len(findings) - num_names:,} more; name all with --all", style="dim"))
    return lines


def _on_one_line(words: str) -> str:
    """Words without what would break the line or steer the terminal; names of files may hold anything."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in words)
