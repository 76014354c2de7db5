"""`diffusionforce selftest`: does by itself what of a release can be checked by a program, and writes a report."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

import diffusionforce
from diffusionforce.cli import selftest_children, selftest_system
from diffusionforce.cli.arguments import user_path
from diffusionforce.cli.selftest_check import Check, Plan, carried_out
from diffusionforce.job import write_whole
from diffusionforce.rig import read_machine
from diffusionforce.runs import data_dir, storage_error, utc_now
from diffusionforce.wire.privacy import without_names

EXIT_OK, EXIT_FAILED = 0, 1
TEXT_NAME, JSON_NAME = "selftest.txt", "selftest.json"
DESCRIPTION = """Try on this computer what the program needs: Python, the window's libraries, files in the data folder
with long and foreign names, clips, the cards, the training environment, child processes, sleep, and a training of two
steps on the processor, and on the cards where there are some. A report is written as text and as JSON, without names
of yours. Exit code: 0 nothing failed, 1 something did, 2 a bug."""
_SIGNS = {"ok": ("ok", "green"), "failed": ("FAILED", "bold red"), "note": ("note", "yellow"), "skipped": ("-", "dim")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `selftest` its arguments."""
    parser.add_argument("--out", metavar="DIR", help="folder for the report, instead of your data folder")
    parser.add_argument("--quick", action="store_true", help="without the training")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(execute=run)


def run(options: argparse.Namespace) -> int:
    """Carry out all checks, tell each, and write the report.

    Raises:
        UserError: The report cannot be written.
    """
    folder = user_path(options.out, option="--out") if options.out is not None else data_dir()
    console = Console(highlight=False, quiet=options.json)
    checks: list[Check] = []
    for plan in plans(quick=options.quick):
        check = carried_out(plan)
        checks.append(check)
        console.print(_line(check), soft_wrap=True)
    content = without_names(json.dumps(report_of(checks), indent=1, ensure_ascii=False))
    _write(folder, JSON_NAME, content)
    _write(folder, TEXT_NAME, without_names("\n".join(_text(checks)) + "\n"))
    if options.json:
        sys.stdout.write(f"{content}\n")
    console.print(Text(f"Report: {folder / TEXT_NAME}"), soft_wrap=True)
    return EXIT_FAILED if any(check.outcome == "failed" for check in checks) else EXIT_OK


def plans(*, quick: bool) -> list[Plan]:
    """Return what is checked, in order."""
    return [*selftest_system.plans(), *selftest_children.plans(quick=quick)]


def report_of(checks: Sequence[Check]) -> dict[str, object]:
    """Return the report as plain values."""
    machine = read_machine(disk_path=data_dir())
    return {
        "kind": "selftest",
        "product": diffusionforce.__version__,
        "at": utc_now(),
        "machine": asdict(machine),
        "num_failed": sum(check.outcome == "failed" for check in checks),
        "checks": [asdict(check) for check in checks],
    }


def _write(folder: Path, name: str, text: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, text.encode())
    except OSError as error:
        raise storage_error(error, folder / name) from error


def _line(check: Check) -> Text:
    sign, style = _SIGNS[check.outcome]
    return Text.assemble((f"{sign:>6}  ", style), (f"{check.name}: ", "bold"), check.said)


def _text(checks: Sequence[Check]) -> list[str]:
    machine = read_machine(disk_path=data_dir())
    return [
        f"DiffusionForce {diffusionforce.__version__}, self-test of {utc_now()}",
        f"{machine.system}, {machine.processor}, Python {machine.python_version}",
        "",
        *(f"{_SIGNS[check.outcome][0]:>6}  {check.name}: {check.said} ({check.seconds:.1f} s)" for check in checks),
        "",
        f"{sum(check.outcome == 'failed' for check in checks)} failed.",
    ]
