"""`diffusionforce report`: one zip for a bug report, shown before it is written, without names and paths."""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from diffusionforce.cli.arguments import named_run, user_path
from diffusionforce.errors import RunFolderError
from diffusionforce.rig import examine, text_report
from diffusionforce.runs import data_dir
from diffusionforce.runs.report import RunReport, collect_report, report_name, write_report

EXIT_OK, EXIT_NOT_WRITTEN = 0, 1
DESCRIPTION = """Make a zip file of what a run said of itself, for a bug report. Paths, names of files and people,
prompts, trigger words and tokens are replaced; pictures, captions and weights are never part of it. What goes in is
listed first, and written when you agree. Exit code: 0 written, 1 not written, 2 a bug."""
_KIND_WORDS = {"known": "folders, prompts and words of the run"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `report` its arguments."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or the name of a run in your data folder")
    parser.add_argument("--out", metavar="FILE", help="the zip file to write, instead of one in the current folder")
    parser.add_argument("--yes", action="store_true", help="write it without asking")
    parser.set_defaults(execute=run)


def run(options: argparse.Namespace) -> int:
    """Collect a report, list it, and write it if the user agrees.

    Raises:
        UserError: There is no such run, or the file cannot be written.
    """
    folder = named_run(options.run, option="RUN")
    path = user_path(report_name() if options.out is None else options.out, option="--out")
    _require_place(path)
    report = collect_report(folder, machine=text_report(examine(ask_torch=False, disk_path=data_dir())))
    console = Console(highlight=False)
    for line in _lines(report):
        console.print(line, soft_wrap=True)
    if not options.yes and not _agrees(path):
        console.print("Nothing was written.")
        return EXIT_NOT_WRITTEN
    write_report(report, path)
    console.print(Text(f"Written: {path}. Look into it before you send it."), soft_wrap=True)
    return EXIT_OK


def _require_place(path: Path) -> None:
    """Refuse a place before anything is listed, so that nobody agrees in vain."""
    if path.is_dir():
        raise RunFolderError(f"{path} is a folder.", hint="Name the zip file to write.")
    if path.exists():
        raise RunFolderError(f"{path} is there already.", hint="Name another file, or remove it.")
    if not path.parent.is_dir():
        raise RunFolderError(f"{path} cannot be made: {path.parent} is no folder.", hint="Make that folder first.")


def _lines(report: RunReport) -> list[Text]:
    width = max(len(file.name) for file in report.files)
    lines = [Text("The report holds:", style="bold")]
    for file in report.files:
        lines.append(Text(f"  {file.name:<{width}}  {-(-len(file.content) // 1000):>6,} kB  {file.what}"))
    replaced = ", ".join(f"{_KIND_WORDS.get(kind, kind)} ({count})" for kind, count in report.replaced)
    lines.append(Text(f"Replaced in it: {replaced or 'nothing, there was nothing private'}."))
    return lines


def _agrees(path: Path) -> bool:
    if not sys.stdin.isatty():
        raise RunFolderError("Nobody can be asked whether to write the report.", hint="Add --yes to write it.")
    sys.stdout.write(f"Write {path}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
